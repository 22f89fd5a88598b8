//! Which segments are anomalous, which only a glitch.

use std::ops::Range;

use super::{CherkasovaMode, CherkasovaSettings};
use crate::segmentation::{WindowFit, WindowRegression, error_percent};
use crate::{ENTRY_LEVEL, Observations, Segment, SegmentKind, TransactionModel, stepwise_model};

/// A short segment is a glitch only if its own windows are within so many ε of its neighbor's model. (Ours: the
/// union alone would swallow ten minutes of anything beside a long segment.)
const GLITCH_ERRORS_MAX: f64 = 3.0;

/// A segment with its fit, and what it is by itself.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Piece {
    pub(super) rows: Range<usize>,
    pub(super) fit: WindowFit,
    pub(super) state: PieceState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PieceState {
    Normal,
    Short,
    LargeConstant,
    Pending,
}

impl PieceState {
    /// Why the paper calls it an anomaly.
    fn reason(self) -> &'static str {
        match self {
            PieceState::LargeConstant => "CPU use that no transaction explains",
            _ => "too short: transactions do not explain the CPU use",
        }
    }
}

impl Piece {
    pub(super) fn is_normal(&self) -> bool {
        self.state == PieceState::Normal
    }

    pub(super) fn is_anomalous(&self) -> bool {
        matches!(self.state, PieceState::Short | PieceState::LargeConstant)
    }

    /// The segment of the answer; `group` where it has one.
    pub(super) fn segment(&self, observations: &Observations, group: Option<usize>) -> Segment {
        let kind = match (self.state, group) {
            (PieceState::Pending, _) => SegmentKind::Pending,
            (PieceState::Normal, Some(group)) => SegmentKind::Normal { group },
            // Without any group there is no model that could hold.
            (PieceState::Normal, None) => SegmentKind::Anomalous { reason: "no stable model" },
            (state, _) => SegmentKind::Anomalous { reason: state.reason() },
        };
        let model = match kind {
            SegmentKind::Normal { .. } => {
                group_model(observations, std::slice::from_ref(&self.rows), &self.fit)
            }
            _ => transaction_model(observations, &self.fit),
        };
        Segment { rows: self.rows.clone(), model, kind }
    }
}

/// The model that is reported: on the types that stepwise selection keeps (section 4.1); the plain fit where there are too
/// few windows for that.
pub(super) fn group_model(
    observations: &Observations,
    rows: &[Range<usize>],
    fit: &WindowFit,
) -> TransactionModel {
    stepwise_model(observations, rows, ENTRY_LEVEL).unwrap_or_else(|_| transaction_model(observations, fit))
}

/// A fit in the units of the answer: percent of the CPU over a window become seconds of all cores.
fn transaction_model(observations: &Observations, fit: &WindowFit) -> TransactionModel {
    let seconds = observations.window_s * observations.cores / 100.0;
    TransactionModel {
        constant_percent: fit.constant_percent,
        demand_s: fit.percent_each.iter().map(|percent| percent * seconds).collect(),
        standard_error_s: vec![f64::NAN; fit.percent_each.len()],
        condition: f64::NAN,
        error: fit.error_percent() / 100.0,
    }
}

/// Fits every segment anew and judges it (section 4.3, step 2).
pub(super) fn judge_pieces(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    segments: impl Iterator<Item = Range<usize>>,
) -> Vec<Piece> {
    let judge = |rows| judge_piece(regression, settings, rows);
    let mut pieces: Vec<Piece> = segments.map(judge).collect();
    if settings.mode == CherkasovaMode::Robust {
        absorb_glitches(regression, settings, &mut pieces);
    }
    if let Some(last) = pieces.last_mut()
        && last.state == PieceState::Short
    {
        last.state = PieceState::Pending;
    }
    pieces
}

fn judge_piece(regression: &WindowRegression, settings: &CherkasovaSettings, rows: Range<usize>) -> Piece {
    let fit = regression.fit(std::slice::from_ref(&rows));
    let state = if rows.len() < settings.windows_min(regression.types()) {
        PieceState::Short
    } else if fit.constant_percent > settings.constant_max_percent {
        PieceState::LargeConstant
    } else {
        PieceState::Normal
    };
    Piece { rows, fit, state }
}

/// Exactly one short segment between two normal ones joins the neighbor that describes it better, if their union
/// is within ε: a window in which a deployment fell, a hiccup.
fn absorb_glitches(regression: &WindowRegression, settings: &CherkasovaSettings, pieces: &mut Vec<Piece>) {
    let mut at = 1;
    while at + 1 < pieces.len() {
        let Some(host) = host(regression, settings, &pieces[at - 1..=at + 1]) else {
            at += 1;
            continue;
        };
        let range = match host {
            Host::Before => at - 1..at + 1,
            Host::After => at..at + 2,
        };
        let rows = pieces[range.start].rows.start..pieces[range.end - 1].rows.end;
        pieces.splice(range, [judge_piece(regression, settings, rows)]);
    }
}

/// The neighbor that a short segment joins.
enum Host {
    Before,
    After,
}

/// Where the middle one of three pieces belongs, if it is a glitch.
fn host(regression: &WindowRegression, settings: &CherkasovaSettings, three: &[Piece]) -> Option<Host> {
    let [before, glitch, after] = three else { return None };
    if glitch.state != PieceState::Short || !before.is_normal() || !after.is_normal() {
        return None;
    }
    let between = between(regression, [before, after], glitch);
    let union = |neighbor: &Piece| union_error(regression, settings, neighbor, glitch, &between);
    match (union(before), union(after)) {
        (Some(left), Some(right)) if left <= right => Some(Host::Before),
        (_, Some(_)) => Some(Host::After),
        (Some(_), None) => Some(Host::Before),
        (None, None) => None,
    }
}

/// Which windows of a short segment lie between what the models before and after it say: a deployment fell into them, or
/// rolled over them.
fn between(regression: &WindowRegression, neighbors: [&Piece; 2], glitch: &Piece) -> Vec<bool> {
    let [old, new] = neighbors.map(|piece| regression.residuals(&piece.fit, glitch.rows.clone()));
    old.iter().zip(&new).map(|(old, new)| old * new < 0.0).collect()
}

/// Relative absolute error in the short segment of one model for it and a neighbor, in percent, if they may be one.
fn union_error(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    neighbor: &Piece,
    glitch: &Piece,
    between: &[bool],
) -> Option<f64> {
    let joint = regression.fit(&[neighbor.rows.clone(), glitch.rows.clone()]);
    let errors = regression.residuals(&joint, glitch.rows.clone());
    let load = regression.load(glitch.rows.clone());
    let sum = |of: &dyn Fn(usize) -> bool| -> f64 {
        errors.iter().enumerate().filter(|(at, _)| of(*at)).map(|(_, error)| error.abs()).sum()
    };
    let foreign = error_percent(sum(&|at| !between[at]), load);
    let allowed = settings.error_max_percent;
    let fits = joint.error_percent() <= allowed
        && foreign <= GLITCH_ERRORS_MAX * allowed
        && joint.constant_percent <= settings.constant_max_percent;
    fits.then(|| error_percent(sum(&|_| true), load))
}
