//! The published method, window by window.

use std::num::NonZeroUsize;

use laggard_numeric::Matrix;

use super::{CherkasovaSettings, EvaluatedSegments, budget, evaluate};
use crate::error::is_usable;
use crate::segmentation::{CostTable, SegmentErrors, WindowRegression, search_penalty};
use crate::{Analysis, Change, ChangeKind, Observations, TooLittleDataError};

/// Dimensions of an online analysis.
#[derive(Clone, Debug)]
pub struct OnlineShape {
    /// Length of a window in seconds, > 0.
    pub window_s: f64,
    /// Number of transaction types.
    pub types: usize,
    /// CPU capacity in cores.
    pub cores: f64,
    /// Number of windows retained: older ones are dropped. At most [`CherkasovaSettings::exact_windows_max`].
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

/// A change with the number of its first window, which does not change when rows are dropped.
#[derive(Clone, PartialEq, Debug)]
pub struct OnlineChange {
    /// Number of the first window after it.
    pub window: usize,
    /// The change; its rows are those of the analysis in which it was seen last. Transactions are named by response times
    /// only; [`OnlineCherkasova::analysis`] names by counts, too.
    pub change: Change,
}

/// The effect of a window on the analysis.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OnlineUpdate {
    /// New changes.
    pub appeared: Vec<OnlineChange>,
    /// Earlier changes that later windows refuted (excluding those whose windows were dropped).
    pub withdrawn: Vec<OnlineChange>,
}

/// The published method over the last windows of a series, kept up to date: each pushed window costs a fit to every
/// range that ends in it, `O(T n²)`, and the search among known costs.
///
/// After each push the analysis is that of [`cherkasova`](super::cherkasova) over the retained windows (except for the
/// rounding of sums).
#[derive(Clone, Debug)]
pub struct OnlineCherkasova {
    settings: CherkasovaSettings,
    windows_max: usize,
    retained: Observations,
    regression: WindowRegression,
    table: CostTable,
    errors: SegmentErrors,
    /// Number of pushes until sums are recomputed, so that rounding errors of dropped windows do not accumulate.
    pushes_until_rebuild: usize,
    evaluated: Option<EvaluatedSegments>,
    seen: Vec<OnlineChange>,
}

impl OnlineCherkasova {
    /// No windows yet. `settings` are within their ranges.
    pub fn new(settings: CherkasovaSettings, shape: &OnlineShape) -> OnlineCherkasova {
        let least = settings.windows_min(shape.types);
        let retained = Observations {
            window_s: shape.window_s,
            windows: Vec::new(),
            counts: Matrix::zeros(0, shape.types),
            utilization: Vec::new(),
            response_s: Matrix::zeros(0, shape.types),
            cores: shape.cores,
        };
        let windows_max = shape.windows_max.min(settings.exact_windows_max).max(least);
        let regression = WindowRegression::new(&retained);
        OnlineCherkasova {
            settings,
            windows_max,
            table: CostTable::new(&regression, 1, NonZeroUsize::MIN),
            regression,
            retained,
            errors: SegmentErrors::default(),
            pushes_until_rebuild: windows_max,
            evaluated: None,
            seen: Vec::new(),
        }
    }

    /// Appends a window and returns its effect.
    ///
    /// # Errors
    /// The window is rejected if its numbers are unusable, do not fit the shape, or are out of order
    /// ([`TooLittleDataError::Unusable`]). Otherwise it is accepted, and the error means that there is too little data
    /// so far.
    pub fn push(&mut self, window: &OnlineWindow<'_>) -> Result<OnlineUpdate, TooLittleDataError> {
        if !self.accepts(window) {
            return Err(TooLittleDataError::Unusable { row: self.retained.windows.len() });
        }
        self.append(window);
        let checked =
            TooLittleDataError::check(&self.retained, self.settings.windows_min(self.retained.counts.cols()));
        if let Err(reason) = checked {
            self.evaluated = None;
            return Err(reason);
        }
        let evaluated = self.evaluate();
        let update = self.compare(&evaluated);
        self.evaluated = Some(evaluated);
        Ok(update)
    }

    /// The analysis of the retained windows; `None` while there is too little data. Fits the reported models, `O(T
    /// n²)`.
    pub fn analysis(&self) -> Option<Analysis> {
        Some(self.evaluated.clone()?.analysis(&self.retained, &self.regression))
    }

    /// The retained windows.
    pub fn observations(&self) -> &Observations {
        &self.retained
    }

    fn accepts(&self, window: &OnlineWindow<'_>) -> bool {
        let types = self.retained.counts.cols();
        window.counts.len() == types
            && (window.response_s.is_empty() || window.response_s.len() == types)
            && self.retained.windows.last().is_none_or(|&last| last < window.number)
            && is_usable(window.counts, window.utilization)
    }

    /// Appends a window and drops the first if there are too many.
    fn append(&mut self, window: &OnlineWindow<'_>) {
        if self.retained.windows.len() == self.windows_max {
            self.drop_first();
        }
        self.retained.windows.push(window.number);
        self.retained.counts.push_row(window.counts);
        self.retained.utilization.push(window.utilization);
        let unknown = vec![f64::NAN; window.counts.len()];
        let response = if window.response_s.is_empty() { &unknown } else { window.response_s };
        self.retained.response_s.push_row(response);
        self.pushes_until_rebuild -= 1;
        if self.pushes_until_rebuild > 0 && self.regression.fits_scale(window.counts, window.utilization) {
            self.regression.push(window.counts, window.utilization);
        } else {
            self.regression = WindowRegression::new(&self.retained);
            self.pushes_until_rebuild = self.windows_max;
        }
        self.table.push(&self.regression);
    }

    fn drop_first(&mut self) {
        self.retained.windows.remove(0);
        self.retained.counts.drop_first_row();
        self.retained.utilization.remove(0);
        self.retained.response_s.drop_first_row();
        self.regression.drop_first();
        self.table.drop_first();
        self.errors.drop_first();
    }

    fn evaluate(&mut self) -> EvaluatedSegments {
        let budget = budget(&self.regression, &self.settings);
        let found = search_penalty(&self.regression, &self.table, budget, &mut self.errors);
        evaluate(&self.retained, &self.regression, &self.settings, &found)
    }

    /// Compares the changes with the earlier ones.
    fn compare(&mut self, evaluated: &EvaluatedSegments) -> OnlineUpdate {
        let near = self.settings.windows_min(self.retained.counts.cols());
        let number = |change: &Change| self.retained.windows[change.onset.row];
        let now: Vec<OnlineChange> = evaluated
            .changes
            .iter()
            .map(|change| OnlineChange { window: number(change), change: change.clone() })
            .collect();
        let appeared = now.iter().filter(|change| !change.is_among(&self.seen, near)).cloned().collect();
        let first = self.retained.windows[0];
        let gone = |change: &&OnlineChange| change.window > first + near && !change.is_among(&now, near);
        let withdrawn = self.seen.iter().filter(gone).cloned().collect();
        self.seen = now;
        OnlineUpdate { appeared, withdrawn }
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
