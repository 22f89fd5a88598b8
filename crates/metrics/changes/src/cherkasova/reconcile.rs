//! Which segments have one model: the same application under another workload.

use std::ops::Range;

use super::pieces::Piece;
use super::{CherkasovaMode, CherkasovaSettings};
use crate::segmentation::{WindowFit, WindowRegression, error_percent};

/// Robust: one model may have this multiple of the error of two, when that is above ε (specification 4.6).
const ERROR_FACTOR_MAX: f64 = 1.1;
/// Utilization is hardly known better than to this share: smaller errors count as this in ratios.
const ERROR_FLOOR: f64 = 0.001;

/// Segments with one model.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ModelGroup {
    /// Indices of pieces, increasing.
    pub(super) pieces: Vec<usize>,
    pub(super) rows: Vec<Range<usize>>,
    /// The fit to all of them.
    pub(super) fit: WindowFit,
}

/// How a normal piece relates to the group before it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Step {
    pub(super) piece: usize,
    /// The group it is in.
    pub(super) group: usize,
    pub(super) outcome: Outcome,
    /// Error of one model with the group in force over that of two; NaN for the first piece.
    pub(super) ratio: f64,
    /// Relative absolute error of that one model in percent; NaN for the first piece.
    pub(super) joint_error: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The first normal segment of all.
    First,
    /// The model in force still holds.
    Same,
    /// It does not, nor does any before.
    New,
    /// An earlier group's model holds again.
    Earlier,
}

/// Groups in order of first appearance, and how each normal piece came to its own.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Reconciled {
    pub(super) groups: Vec<ModelGroup>,
    pub(super) steps: Vec<Step>,
}

/// Left to right over the normal pieces: each joins the group in force if one model describes both (section 4.3, step
/// 3). Robust: else an earlier group, the best first.
pub(super) fn reconcile(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    pieces: &[Piece],
) -> Reconciled {
    let mut out = Reconciled { groups: Vec::new(), steps: Vec::new() };
    for (at, piece) in pieces.iter().enumerate().filter(|(_, piece)| piece.is_normal()) {
        let step = match out.steps.last().copied() {
            None => {
                Step { piece: at, group: 0, outcome: Outcome::First, ratio: f64::NAN, joint_error: f64::NAN }
            }
            Some(last) => place(regression, settings, &out.groups, last.group, at, piece),
        };
        out.steps.push(step);
        match out.groups.get_mut(step.group) {
            Some(group) => group.extend(regression, at, piece),
            None => out.groups.push(ModelGroup::new(at, piece)),
        }
    }
    out
}

impl ModelGroup {
    fn new(at: usize, piece: &Piece) -> ModelGroup {
        ModelGroup { pieces: vec![at], rows: vec![piece.rows.clone()], fit: piece.fit.clone() }
    }

    fn extend(&mut self, regression: &WindowRegression, at: usize, piece: &Piece) {
        self.pieces.push(at);
        self.rows.push(piece.rows.clone());
        self.fit = regression.fit(&self.rows);
    }
}

/// Where a piece belongs when group `current` is in force.
fn place(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    groups: &[ModelGroup],
    current: usize,
    at: usize,
    piece: &Piece,
) -> Step {
    let now = Joint::new(regression, &groups[current], piece);
    let step = |group, outcome| Step { piece: at, group, outcome, ratio: now.ratio, joint_error: now.error };
    if now.accepted(settings) {
        return step(current, Outcome::Same);
    }
    if settings.mode == CherkasovaMode::Paper {
        return step(groups.len(), Outcome::New);
    }
    let others = (0..groups.len()).filter(|&group| group != current);
    let joint = |group| (group, Joint::new(regression, &groups[group], piece));
    let holding = others.map(joint).filter(|(_, joint)| joint.accepted(settings));
    match holding.min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio)) {
        Some((group, _)) => step(group, Outcome::Earlier),
        None => step(groups.len(), Outcome::New),
    }
}

/// One model for a group and a piece.
struct Joint {
    ratio: f64,
    /// Relative absolute error in percent, of one model …
    error: f64,
    /// … and of two.
    separate_error: f64,
}

impl Joint {
    fn new(regression: &WindowRegression, group: &ModelGroup, piece: &Piece) -> Joint {
        let rows: Vec<Range<usize>> = group.rows.iter().chain([&piece.rows]).cloned().collect();
        let joint = regression.fit(&rows);
        let separate = group.fit.absolute + piece.fit.absolute;
        let floor = ERROR_FLOOR * joint.load;
        let ratio = if joint.absolute > floor { joint.absolute / separate.max(floor) } else { 1.0 };
        Joint {
            ratio,
            error: joint.error_percent(),
            separate_error: error_percent(separate, group.fit.load + piece.fit.load),
        }
    }

    fn accepted(&self, settings: &CherkasovaSettings) -> bool {
        match settings.mode {
            CherkasovaMode::Paper => self.error <= settings.error_max_percent,
            CherkasovaMode::Robust => {
                let allowed = settings.error_max_percent.max(ERROR_FACTOR_MAX * self.separate_error);
                self.ratio <= settings.reconcile_ratio_max && self.error <= allowed
            }
        }
    }
}
