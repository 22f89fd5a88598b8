//! Fits segments, and classifies them as normal or anomalous.

use std::ops::Range;

use super::CherkasovaSettings;
use crate::segmentation::{WindowFit, WindowRegression};
use crate::{ENTRY_LEVEL, Observations, Segment, SegmentKind, TransactionModel, stepwise_model};

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
    settings.mode.variant().absorb_glitches(regression, settings, &mut segments);
    if let Some(last) = segments.last_mut()
        && last.state == FittedSegmentState::Short
    {
        last.state = FittedSegmentState::Pending;
    }
    segments
}

pub(super) fn fit_segment(
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
