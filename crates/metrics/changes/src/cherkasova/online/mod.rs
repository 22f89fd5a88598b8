//! The published method window by window.

use std::num::NonZeroUsize;

use laggard_numeric::Matrix;

use super::{CherkasovaSettings, Judged, budget, judge};
use crate::error::is_usable;
use crate::segmentation::{CostTable, SegmentErrors, WindowRegression, search_penalty};
use crate::{Analysis, Change, ChangeKind, Observations, TooLittleData};

/// What is analyzed online.
#[derive(Clone, Debug)]
pub struct OnlineShape {
    /// Length of a window in seconds, > 0.
    pub window_s: f64,
    /// Number of transaction types.
    pub types: usize,
    /// CPU capacity in cores.
    pub cores: f64,
    /// Windows kept: those before the last so many are forgotten. At most [`CherkasovaSettings::exact_windows_max`].
    pub windows_max: usize,
}

/// One window, as in [`Observations`].
#[derive(Clone, Copy, Debug)]
pub struct OnlineWindow<'a> {
    /// Its number, larger than that of the window before.
    pub number: usize,
    /// Completed transactions by type.
    pub counts: &'a [f64],
    /// CPU utilization, 0..1.
    pub utilization: f64,
    /// Response times by type in seconds, NaN where unknown; empty when none are known.
    pub response_s: &'a [f64],
}

/// A change by the number of the window it begins at, which stays while rows move.
#[derive(Clone, PartialEq, Debug)]
pub struct OnlineChange {
    /// Number of the first window after it.
    pub window: usize,
    /// The change; its rows are those of the analysis in which it was seen last. Transactions are named by response times
    /// only; [`OnlineCherkasova::analysis`] names by counts, too.
    pub change: Change,
}

/// What a window changed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OnlineNews {
    /// Changes seen now and not before.
    pub appeared: Vec<OnlineChange>,
    /// Changes seen before that later windows refuted. (Those that moved out with the windows are not among them.)
    pub withdrawn: Vec<OnlineChange>,
}

/// The published method over the last windows of a series, kept up to date: each pushed window costs a fit to every
/// stretch that ends in it, `O(T n²)`, and the search among known costs.
///
/// After each push the analysis is that of [`cherkasova`](super::cherkasova) over the windows kept (but for the rounding of sums).
#[derive(Clone, Debug)]
pub struct OnlineCherkasova {
    settings: CherkasovaSettings,
    windows_max: usize,
    kept: Observations,
    regression: WindowRegression,
    table: CostTable,
    errors: SegmentErrors,
    /// Pushes until sums start anew, so that what was forgotten does not round what is kept.
    fresh: usize,
    judged: Option<Judged>,
    seen: Vec<OnlineChange>,
}

impl OnlineCherkasova {
    /// No windows yet. `settings` are within their ranges.
    pub fn new(settings: CherkasovaSettings, shape: &OnlineShape) -> OnlineCherkasova {
        let least = settings.windows_min(shape.types);
        let kept = Observations {
            window_s: shape.window_s,
            windows: Vec::new(),
            counts: Matrix::zeros(0, shape.types),
            utilization: Vec::new(),
            response_s: Matrix::zeros(0, shape.types),
            cores: shape.cores,
        };
        let windows_max = shape.windows_max.min(settings.exact_windows_max).max(least);
        let regression = WindowRegression::new(&kept);
        OnlineCherkasova {
            settings,
            windows_max,
            table: CostTable::new(&regression, 1, NonZeroUsize::MIN),
            regression,
            kept,
            errors: SegmentErrors::default(),
            fresh: windows_max,
            judged: None,
            seen: Vec::new(),
        }
    }

    /// Appends a window and says what it changed.
    ///
    /// # Errors
    /// The window is not taken when its numbers are unusable, do not fit the shape, or come out of order
    /// ([`TooLittleData::Unusable`]). It is taken, and there is no answer yet, while there is too little data otherwise.
    pub fn push(&mut self, window: &OnlineWindow<'_>) -> Result<OnlineNews, TooLittleData> {
        if !self.accepts(window) {
            return Err(TooLittleData::Unusable { row: self.kept.windows.len() });
        }
        self.keep(window);
        let checked = TooLittleData::check(&self.kept, self.settings.windows_min(self.kept.counts.cols()));
        if let Err(reason) = checked {
            self.judged = None;
            return Err(reason);
        }
        let judged = self.judge();
        let news = self.compare(&judged);
        self.judged = Some(judged);
        Ok(news)
    }

    /// The answer over the windows kept; none while there is too little data. Fits the models that are reported, `O(T n²)`.
    pub fn analysis(&self) -> Option<Analysis> {
        Some(self.judged.clone()?.analysis(&self.kept, &self.regression))
    }

    /// The windows kept.
    pub fn observations(&self) -> &Observations {
        &self.kept
    }

    fn accepts(&self, window: &OnlineWindow<'_>) -> bool {
        let types = self.kept.counts.cols();
        window.counts.len() == types
            && (window.response_s.is_empty() || window.response_s.len() == types)
            && self.kept.windows.last().is_none_or(|&last| last < window.number)
            && is_usable(window.counts, window.utilization)
    }

    /// Appends a window to everything kept, and forgets the first where there are too many.
    fn keep(&mut self, window: &OnlineWindow<'_>) {
        if self.kept.windows.len() == self.windows_max {
            self.forget_first();
        }
        self.kept.windows.push(window.number);
        self.kept.counts.push_row(window.counts);
        self.kept.utilization.push(window.utilization);
        let unknown = vec![f64::NAN; window.counts.len()];
        let response = if window.response_s.is_empty() { &unknown } else { window.response_s };
        self.kept.response_s.push_row(response);
        self.fresh -= 1;
        if self.fresh > 0 && self.regression.fits_scale(window.counts, window.utilization) {
            self.regression.push(window.counts, window.utilization);
        } else {
            self.regression = WindowRegression::new(&self.kept);
            self.fresh = self.windows_max;
        }
        self.table.push(&self.regression);
    }

    fn forget_first(&mut self) {
        self.kept.windows.remove(0);
        self.kept.counts.drop_first_row();
        self.kept.utilization.remove(0);
        self.kept.response_s.drop_first_row();
        self.regression.drop_first();
        self.table.drop_first();
        self.errors.drop_first();
    }

    fn judge(&mut self) -> Judged {
        let budget = budget(&self.regression, &self.settings);
        let found = search_penalty(&self.regression, &self.table, budget, &mut self.errors);
        judge(&self.kept, &self.regression, &self.settings, &found)
    }

    /// What is new against what was seen.
    fn compare(&mut self, judged: &Judged) -> OnlineNews {
        let near = self.settings.windows_min(self.kept.counts.cols());
        let number = |change: &Change| self.kept.windows[change.onset.row];
        let now: Vec<OnlineChange> = judged
            .changes
            .iter()
            .map(|change| OnlineChange { window: number(change), change: change.clone() })
            .collect();
        let appeared = now.iter().filter(|change| !change.is_among(&self.seen, near)).cloned().collect();
        let first = self.kept.windows[0];
        let gone = |change: &&OnlineChange| change.window > first + near && !change.is_among(&now, near);
        let withdrawn = self.seen.iter().filter(gone).cloned().collect();
        self.seen = now;
        OnlineNews { appeared, withdrawn }
    }
}

impl OnlineChange {
    /// Whether one of `others` is the same change, found up to `near` windows elsewhere.
    pub(crate) fn is_among(&self, others: &[OnlineChange], near: usize) -> bool {
        let alike = |other: &OnlineChange| match (self.change.kind, other.change.kind) {
            (ChangeKind::Rollback { .. }, ChangeKind::Rollback { .. }) => true,
            (own, other) => own == other,
        };
        others.iter().any(|other| alike(other) && self.window.abs_diff(other.window) <= near)
    }
}

#[cfg(test)]
mod tests;
