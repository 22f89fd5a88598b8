//! The published method (Cherkasova et al. 2009), complete.
//!
//! ```text
//! segmentation ──► pieces ──► glitches absorbed ──► groups of one model ──► verdicts at the cuts
//!  within ε         anomalous, pending, normal        reconciliation
//! ```

mod cautions;
mod online;
mod pieces;
mod reconcile;
mod settings;
mod verdicts;

use std::num::NonZeroUsize;

pub use online::{OnlineChange, OnlineCherkasova, OnlineNews, OnlineShape, OnlineWindow};
use pieces::judge_pieces;
use reconcile::reconcile;
pub use settings::{CherkasovaMode, CherkasovaSettings, CherkasovaSettingsError};

use crate::segmentation::{
    CostTable, ErrorBudget, SegmentErrors, Segmentation, WindowRegression, refine_cuts, search_penalty,
};
use crate::{Analysis, Observations, TooLittleData};

/// The paper's analysis of one server: segments within an error of ε, anomalous regions, groups of segments that one
/// model describes, and the verdict at every cut.
///
/// `settings` are within their ranges ([`CherkasovaSettings::check`]). Threads change no bit of the answer. Up
/// to [`CherkasovaSettings::exact_windows_max`] windows every cut is considered, `O(T² n²)` in time and `2 T²` bytes;
/// beyond, cuts on a grid, refined.
///
/// # Errors
/// When the observations cannot carry an answer.
pub fn cherkasova(
    observations: &Observations,
    settings: &CherkasovaSettings,
    threads: NonZeroUsize,
) -> Result<Analysis, TooLittleData> {
    TooLittleData::check(observations, settings.windows_min(observations.counts.cols()))?;
    let regression = WindowRegression::new(observations);
    let segmentation = segment(&regression, settings, threads);
    Ok(judge(observations, &regression, settings, &segmentation))
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
    let found = search_penalty(regression, &table, budget, &mut SegmentErrors::default());
    if step == 1 { found } else { refine_cuts(regression, found, step, budget) }
}

/// The error that segments may have.
fn budget(regression: &WindowRegression, settings: &CherkasovaSettings) -> ErrorBudget {
    let robust = settings.mode == CherkasovaMode::Robust;
    ErrorBudget {
        percent: settings.error_max_percent,
        segment_windows_min: robust.then(|| settings.windows_min(regression.types())),
    }
}

fn grid_step(windows: usize, settings: &CherkasovaSettings) -> usize {
    if windows <= settings.exact_windows_max {
        return 1;
    }
    settings.grid_step.max(windows.div_ceil(settings.grid_points_max.max(1)))
}

/// What the cuts mean.
fn judge(
    observations: &Observations,
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    segmentation: &Segmentation,
) -> Analysis {
    let pieces = judge_pieces(regression, settings, segmentation.segments());
    let stable: usize = pieces.iter().filter(|piece| piece.is_normal()).map(|piece| piece.rows.len()).sum();
    let mut cautions = cautions::of_error(settings, regression, segmentation, &pieces);
    if stable < settings.windows_min(regression.types()) {
        cautions.push(cautions::no_stable_model(stable));
        let segments = pieces.iter().map(|piece| piece.segment(observations, None)).collect();
        return Analysis { segments, groups: Vec::new(), changes: Vec::new(), cautions };
    }
    let reconciled = reconcile(regression, settings, &pieces);
    let changes = verdicts::changes(observations, regression, &pieces, &reconciled);
    cautions.extend(cautions::of_changes(observations, &changes));
    Analysis {
        segments: verdicts::segments(observations, &pieces, &reconciled),
        groups: verdicts::groups(observations, &reconciled),
        changes,
        cautions,
    }
}

#[cfg(test)]
mod tests;
