//! Fits segments, and classifies them as normal, anomalous, or glitches.

use std::ops::Range;

use super::{CherkasovaMode, CherkasovaSettings};
use crate::segmentation::{WindowFit, WindowRegression, error_percent};
use crate::{ENTRY_LEVEL, Observations, Segment, SegmentKind, TransactionModel, stepwise_model};

/// A short segment is a glitch only if its own windows are within this multiple of ε of its neighbor's model. (Ours:
/// the error of the union alone would accept ten minutes of anything next to a long segment.)
const GLITCH_ERRORS_MAX: f64 = 3.0;

/// A segment with its fit and state.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct FittedSegment {
    pub(super) rows: Range<usize>,
    pub(super) fit: WindowFit,
    pub(super) state: FittedSegmentState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FittedSegmentState {
    Normal,
    Short,
    LargeConstant,
    Pending,
}

impl FittedSegmentState {
    /// The reason for an anomaly, as a phrase.
    fn reason(self) -> &'static str {
        match self {
            FittedSegmentState::LargeConstant => "CPU use that no transaction explains",
            _ => "too short: transactions do not explain the CPU use",
        }
    }
}

impl FittedSegment {
    pub(super) fn is_normal(&self) -> bool {
        self.state == FittedSegmentState::Normal
    }

    pub(super) fn is_anomalous(&self) -> bool {
        matches!(self.state, FittedSegmentState::Short | FittedSegmentState::LargeConstant)
    }

    /// The segment of the result, with its group if it has one.
    pub(super) fn to_segment(&self, observations: &Observations, group: Option<usize>) -> Segment {
        let kind = match (self.state, group) {
            (FittedSegmentState::Pending, _) => SegmentKind::Pending,
            (FittedSegmentState::Normal, Some(group)) => SegmentKind::Normal { group },
            // Without any group no model can hold.
            (FittedSegmentState::Normal, None) => SegmentKind::Anomalous { reason: "no stable model" },
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

/// The reported model: on the types that stepwise selection accepts (section 4.1); the plain fit if there are too
/// few windows for that.
pub(super) fn group_model(
    observations: &Observations,
    rows: &[Range<usize>],
    fit: &WindowFit,
) -> TransactionModel {
    stepwise_model(observations, rows, ENTRY_LEVEL).unwrap_or_else(|_| transaction_model(observations, fit))
}

/// A fit in the units of the result: percent of the CPU over a window become seconds of all cores.
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

/// Fits every segment and classifies it (section 4.3, step 2).
pub(super) fn fit_segments(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    segments: impl Iterator<Item = Range<usize>>,
) -> Vec<FittedSegment> {
    let evaluate = |rows| fit_segment(regression, settings, rows);
    let mut segments: Vec<FittedSegment> = segments.map(evaluate).collect();
    if settings.mode == CherkasovaMode::Robust {
        absorb_glitches(regression, settings, &mut segments);
    }
    if let Some(last) = segments.last_mut()
        && last.state == FittedSegmentState::Short
    {
        last.state = FittedSegmentState::Pending;
    }
    segments
}

fn fit_segment(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    rows: Range<usize>,
) -> FittedSegment {
    let fit = regression.fit(std::slice::from_ref(&rows));
    let state = if rows.len() < settings.windows_min(regression.types()) {
        FittedSegmentState::Short
    } else if fit.constant_percent > settings.constant_max_percent {
        FittedSegmentState::LargeConstant
    } else {
        FittedSegmentState::Normal
    };
    FittedSegment { rows, fit, state }
}

/// A single short segment between two normal ones joins the neighbor that describes it better, if their union
/// is within ε: a window with a deployment in it, or an outlier.
fn absorb_glitches(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    segments: &mut Vec<FittedSegment>,
) {
    let mut index = 1;
    while index + 1 < segments.len() {
        let Some(host) = host(regression, settings, &segments[index - 1..=index + 1]) else {
            index += 1;
            continue;
        };
        let range = match host {
            GlitchHost::Before => index - 1..index + 1,
            GlitchHost::After => index..index + 2,
        };
        let rows = segments[range.start].rows.start..segments[range.end - 1].rows.end;
        segments.splice(range, [fit_segment(regression, settings, rows)]);
    }
}

/// The neighbor that a short segment joins.
enum GlitchHost {
    Before,
    After,
}

/// The neighbor that the middle one of three segments joins, if it is a glitch.
fn host(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    three: &[FittedSegment],
) -> Option<GlitchHost> {
    let [before, glitch, after] = three else { return None };
    if glitch.state != FittedSegmentState::Short || !before.is_normal() || !after.is_normal() {
        return None;
    }
    let between = between(regression, [before, after], glitch);
    let union = |neighbor: &FittedSegment| union_error(regression, settings, neighbor, glitch, &between);
    match (union(before), union(after)) {
        (Some(left), Some(right)) if left <= right => Some(GlitchHost::Before),
        (_, Some(_)) => Some(GlitchHost::After),
        (Some(_), None) => Some(GlitchHost::Before),
        (None, None) => None,
    }
}

/// The windows of a short segment that lie between the predictions of the models before and after: a deployment
/// happened during them.
fn between(
    regression: &WindowRegression,
    neighbors: [&FittedSegment; 2],
    glitch: &FittedSegment,
) -> Vec<bool> {
    let [old, new] = neighbors.map(|to_segment| regression.residuals(&to_segment.fit, glitch.rows.clone()));
    old.iter().zip(&new).map(|(old, new)| old * new < 0.0).collect()
}

/// Relative absolute error in the short segment of one model for it and a neighbor, in percent, if they may be one.
fn union_error(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    neighbor: &FittedSegment,
    glitch: &FittedSegment,
    between: &[bool],
) -> Option<f64> {
    let joint = regression.fit(&[neighbor.rows.clone(), glitch.rows.clone()]);
    let errors = regression.residuals(&joint, glitch.rows.clone());
    let load = regression.load(glitch.rows.clone());
    let sum = |is_included: &dyn Fn(usize) -> bool| -> f64 {
        errors.iter().enumerate().filter(|(index, _)| is_included(*index)).map(|(_, error)| error.abs()).sum()
    };
    let foreign = error_percent(sum(&|index| !between[index]), load);
    let allowed = settings.error_max_percent;
    let fits = joint.error_percent() <= allowed
        && foreign <= GLITCH_ERRORS_MAX * allowed
        && joint.constant_percent <= settings.constant_max_percent;
    fits.then(|| error_percent(sum(&|_| true), load))
}
