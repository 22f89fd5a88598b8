//! The closest reading of the paper that works (Cherkasova et al. 2009, section 4.3).

use super::CherkasovaSettings;
use super::fitted_segments::FittedSegment;
use super::reconcile::JointModel;
use super::variant::Variant;
use crate::ChangeKind;
use crate::segmentation::WindowRegression;

/// The published variant.
pub(super) struct Paper;

impl Variant for Paper {
    fn budget_windows_min(&self, _: usize) -> Option<usize> {
        None
    }

    /// Every short segment is anomalous (step 2).
    fn absorb_glitches(&self, _: &WindowRegression, _: &CherkasovaSettings, _: &mut Vec<FittedSegment>) {}

    /// The error of the joint model is within ε (step 3).
    fn accepts(&self, joint: &JointModel, settings: &CherkasovaSettings) -> bool {
        joint.error <= settings.error_max_percent
    }

    fn allows_rollback(&self) -> bool {
        false
    }

    fn without_evidence(&self, kind: ChangeKind) -> ChangeKind {
        kind
    }
}
