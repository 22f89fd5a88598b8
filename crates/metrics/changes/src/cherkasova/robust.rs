//! The default: changed where a step of the paper fails on plausible data.

use super::CherkasovaSettings;
use super::fitted_segments::{FittedSegment, FittedSegmentState, fit_segment};
use super::reconcile::JointModel;
use super::variant::Variant;
use crate::ChangeKind;
use crate::segmentation::{WindowRegression, error_percent};

/// One model may have this multiple of the error of two, when that is above ε (specification 4.6).
const ERROR_FACTOR_MAX: f64 = 1.1;
/// A short segment is a glitch only if its own windows are within this multiple of ε of its neighbor's model. (Ours:
/// the error of the union alone would accept ten minutes of anything next to a long segment.)
const GLITCH_ERRORS_MAX: f64 = 3.0;

/// The default variant.
pub(super) struct Robust;

impl Variant for Robust {
    fn budget_windows_min(&self, windows_min: usize) -> Option<usize> {
        Some(windows_min)
    }

    /// A single short segment between two normal ones joins the neighbor that describes it better, if their union
    /// is within ε: a window with a deployment in it, or an outlier.
    fn absorb_glitches(
        &self,
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

    fn accepts(&self, joint: &JointModel, settings: &CherkasovaSettings) -> bool {
        let allowed = settings.error_max_percent.max(ERROR_FACTOR_MAX * joint.separate_error);
        joint.ratio <= settings.reconcile_ratio_max && joint.error <= allowed
    }

    fn allows_rollback(&self) -> bool {
        true
    }

    fn without_evidence(&self, _: ChangeKind) -> ChangeKind {
        ChangeKind::Unexplained
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
    let own_error = error_percent(sum(&|index| !between[index]), load);
    let allowed = settings.error_max_percent;
    let fits = joint.error_percent() <= allowed
        && own_error <= GLITCH_ERRORS_MAX * allowed
        && joint.constant_percent <= settings.constant_max_percent;
    fits.then(|| error_percent(sum(&|_| true), load))
}
