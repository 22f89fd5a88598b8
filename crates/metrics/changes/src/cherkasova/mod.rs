//! The published method (Cherkasova et al. 2009), complete.
//!
//! ```text
//! segmentation ──► pieces ──► glitches absorbed ──► groups of one model ──► verdicts at the cuts
//!  within ε         anomalous, pending, normal        reconciliation
//! ```

mod cautions;
mod online;
mod onsets;
mod pieces;
mod reconcile;
mod settings;
mod transactions;
mod verdicts;

use std::num::NonZeroUsize;

pub use online::{OnlineChange, OnlineCherkasova, OnlineNews, OnlineShape, OnlineWindow};
use pieces::{Piece, judge_pieces};
use reconcile::{Reconciled, reconcile};
pub use settings::{CherkasovaMode, CherkasovaSettings, CherkasovaSettingsError};

use crate::segmentation::{
    CostTable, ErrorBudget, SegmentErrors, Segmentation, WindowRegression, refine_cuts, search_penalty,
};
use crate::{Analysis, Change, Observations, TooLittleData};

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
    Ok(judge(observations, &regression, settings, &segmentation).analysis(observations, &regression))
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

/// What the cuts mean, before models are fitted for the report.
#[derive(Clone, Debug)]
struct Judged {
    pieces: Vec<Piece>,
    reconciled: Reconciled,
    changes: Vec<Change>,
    cautions: Vec<String>,
}

fn judge(
    observations: &Observations,
    regression: &WindowRegression,
    settings: &CherkasovaSettings,
    segmentation: &Segmentation,
) -> Judged {
    let pieces = judge_pieces(regression, settings, segmentation.segments());
    let stable: usize = pieces.iter().filter(|piece| piece.is_normal()).map(|piece| piece.rows.len()).sum();
    let mut cautions = cautions::of_error(settings, regression, segmentation, &pieces);
    if stable < settings.windows_min(regression.types()) {
        cautions.push(cautions::no_stable_model(stable));
        return Judged { pieces, reconciled: Reconciled::default(), changes: Vec::new(), cautions };
    }
    let reconciled = reconcile(regression, settings, &pieces);
    let changes = verdicts::changes(observations, regression, settings, &pieces, &reconciled);
    Judged { pieces, reconciled, changes, cautions }
}

impl Judged {
    fn analysis(mut self, observations: &Observations, regression: &WindowRegression) -> Analysis {
        let (pieces, reconciled) = (&self.pieces, &self.reconciled);
        verdicts::name_by_counts(observations, regression, pieces, reconciled, &mut self.changes);
        self.cautions.extend(cautions::of_changes(observations, &self.changes));
        Analysis {
            segments: verdicts::segments(observations, &self.pieces, &self.reconciled),
            groups: verdicts::groups(observations, &self.reconciled),
            changes: self.changes,
            cautions: self.cautions,
        }
    }
}

#[cfg(test)]
mod tests;
