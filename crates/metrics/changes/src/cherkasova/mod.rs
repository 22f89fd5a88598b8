//! The published method (Cherkasova et al. 2009), complete.
//!
//! ```text
//! segmentation ──► segments ──► glitches absorbed ──► groups of one model ──► verdicts at the cuts
//!  within ε          anomalous, pending, normal        reconciliation
//! ```
//!
//! Steps in which the default differs from the paper are those of [`variant::Variant`]: `robust` is the default, `paper`
//! the published one.

mod cautions;
mod fitted_segments;
mod online;
mod onsets;
mod paper;
mod reconcile;
mod robust;
mod settings;
mod transactions;
mod variant;
mod verdicts;

use std::num::NonZeroUsize;

use fitted_segments::{FittedSegment, fit_segments};
pub use online::OnlineCherkasova;
use reconcile::{Reconciled, reconcile};
pub use settings::{CherkasovaMode, CherkasovaSettings};

use crate::segmentation::{
    CostTable, ErrorBudget, SegmentErrors, Segmentation, WindowRegression, refine_cuts, search_penalty,
};
use crate::{Analysis, Change, Observations, TooLittleDataError};

/// The paper's analysis of one server: segments within an error of ε, anomalous regions, groups of segments that one
/// model describes, and the verdict at every cut.
///
/// `settings` are within their ranges ([`laggard_settings::Settings::check`]). The result does not depend on the number of
/// threads. Up to [`CherkasovaSettings::exact_windows_max`] windows every cut is considered, `O(T² n²)` in time and `2
/// T²` bytes; beyond, cuts on a grid, refined.
///
/// # Errors
/// If there are too few observations.
pub fn cherkasova(
    observations: &Observations,
    settings: &CherkasovaSettings,
    threads: NonZeroUsize,
) -> Result<Analysis, TooLittleDataError> {
    TooLittleDataError::check(observations, settings.windows_min(observations.counts.cols()))?;
    let regression = WindowRegression::new(observations);
    let segmentation = segment(&regression, settings, threads);
    Ok(evaluate(observations, &regression, settings, &segmentation).analysis(observations, &regression))
}

/// Cuts within the allowed error.
fn segment(
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    threads: NonZeroUsize,
) -> Segmentation {
    let step = grid_step(regression.windows(), settings);
    let table = CostTable::new(regression, step, threads);
    let budget = budget(regression, settings);
    let coarse = search_penalty(regression, &table, budget, &mut SegmentErrors::default());
    if step == 1 { coarse } else { refine_cuts(regression, coarse, step, budget) }
}

/// The allowed error of segments.
fn budget(regression: &WindowRegression, settings: &CherkasovaSettings) -> ErrorBudget {
    let windows_min = settings.windows_min(regression.types());
    ErrorBudget {
        percent: settings.error_max_percent,
        segment_windows_min: settings.mode.variant().budget_windows_min(windows_min),
    }
}

fn grid_step(windows: usize, settings: &CherkasovaSettings) -> usize {
    if windows <= settings.exact_windows_max {
        return 1;
    }
    settings.grid_step.max(windows.div_ceil(settings.grid_points_max.max(1)))
}

/// The interpretation of the cuts, before the reported models are fitted.
#[derive(Clone, Debug)]
struct EvaluatedSegments {
    segments: Vec<FittedSegment>,
    reconciled: Reconciled,
    changes: Vec<Change>,
    cautions: Vec<String>,
}

fn evaluate(
    observations: &Observations,
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    segmentation: &Segmentation,
) -> EvaluatedSegments {
    let segments = fit_segments(regression, settings, segmentation.segments());
    let stable: usize =
        segments.iter().filter(|segment| segment.is_normal()).map(|segment| segment.rows.len()).sum();
    let mut cautions = cautions::error_cautions(settings, regression, segmentation, &segments);
    if stable < settings.windows_min(regression.types()) {
        cautions.push(cautions::no_stable_model(stable));
        return EvaluatedSegments {
            segments,
            reconciled: Reconciled::default(),
            changes: Vec::new(),
            cautions,
        };
    }
    let reconciled = reconcile(regression, settings, &segments);
    let changes = verdicts::changes(observations, regression, settings, &segments, &reconciled);
    EvaluatedSegments { segments, reconciled, changes, cautions }
}

impl EvaluatedSegments {
    fn analysis(mut self, observations: &Observations, regression: &WindowRegression) -> Analysis {
        let (segments, reconciled) = (&self.segments, &self.reconciled);
        verdicts::name_by_counts(observations, regression, segments, reconciled, &mut self.changes);
        self.cautions.extend(cautions::change_cautions(observations, &self.changes));
        Analysis {
            segments: verdicts::segments(observations, &self.segments, &self.reconciled),
            groups: verdicts::groups(observations, &self.reconciled),
            changes: self.changes,
            cautions: self.cautions,
        }
    }
}

#[cfg(test)]
mod tests;
