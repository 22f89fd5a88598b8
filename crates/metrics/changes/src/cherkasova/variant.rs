//! The steps in which the default and the published method differ; all others are shared.

use super::fitted_segments::FittedSegment;
use super::reconcile::JointModel;
use super::{CherkasovaMode, CherkasovaSettings, paper, robust};
use crate::ChangeKind;
use crate::segmentation::WindowRegression;

/// One variant of the method.
pub(super) trait Variant: Sync {
    /// From this many windows on, the allowed error holds for each segment too; `None`: only for all windows together.
    /// `windows_min` is the smallest segment that is classified.
    fn budget_windows_min(&self, windows_min: usize) -> Option<usize>;

    /// Merges segments that are not worth a state of their own with a neighbor.
    fn absorb_glitches(
        &self,
        regression: &WindowRegression,
        settings: &CherkasovaSettings,
        segments: &mut Vec<FittedSegment>,
    );

    /// Whether one model is good enough for a group and a segment.
    fn accepts(&self, joint: &JointModel, settings: &CherkasovaSettings) -> bool;

    /// Whether a segment may return to the model of a group before the current one.
    fn allows_rollback(&self) -> bool;

    /// The change at a cut of kind `kind` if the response times are known and no transaction takes longer or less.
    fn without_evidence(&self, kind: ChangeKind) -> ChangeKind;
}

impl CherkasovaMode {
    pub(super) fn variant(self) -> &'static dyn Variant {
        match self {
            CherkasovaMode::Robust => &robust::Robust,
            CherkasovaMode::Paper => &paper::Paper,
        }
    }
}
