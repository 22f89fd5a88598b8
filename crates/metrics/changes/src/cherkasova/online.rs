//! The published method, window by window.

use std::num::NonZeroUsize;

use super::{CherkasovaSettings, EvaluatedSegments, budget, evaluate};
use crate::online::{OnlineShape, OnlineState, OnlineUpdate, OnlineWindow};
use crate::segmentation::{CostTable, SegmentErrors, WindowRegression, search_penalty};
use crate::{Analysis, Observations, TooLittleDataError};

/// The published method over the last windows of a series, kept up to date: each pushed window costs a fit to every
/// range that ends in it, `O(T n²)`, and the search among known costs.
///
/// After each push the analysis is that of [`cherkasova`](super::cherkasova) over the retained windows (except for the
/// rounding of sums).
#[derive(Clone, Debug)]
pub struct OnlineCherkasova {
    settings: CherkasovaSettings,
    windows_max: usize,
    state: OnlineState,
    regression: WindowRegression,
    table: CostTable,
    errors: SegmentErrors,
    /// Number of pushes until sums are recomputed, so that rounding errors of dropped windows do not accumulate.
    pushes_until_rebuild: usize,
    evaluated: Option<EvaluatedSegments>,
}

impl OnlineCherkasova {
    /// No windows yet. `settings` are within their ranges.
    pub fn new(settings: CherkasovaSettings, shape: &OnlineShape) -> OnlineCherkasova {
        let windows_max =
            shape.windows_max.min(settings.exact_windows_max).max(settings.windows_min(shape.types));
        let state = OnlineState::new(shape, windows_max);
        let regression = WindowRegression::new(&state.observations);
        OnlineCherkasova {
            settings,
            windows_max,
            table: CostTable::new(&regression, 1, NonZeroUsize::MIN),
            regression,
            state,
            errors: SegmentErrors::default(),
            pushes_until_rebuild: windows_max,
            evaluated: None,
        }
    }

    /// Appends a window and returns its effect.
    ///
    /// # Errors
    /// The window is rejected if its numbers are unusable, do not fit the shape, or are out of order
    /// ([`TooLittleDataError::Unusable`]). Otherwise it is accepted, and the error means that there is too little data
    /// so far.
    pub fn push(&mut self, window: &OnlineWindow<'_>) -> Result<OnlineUpdate, TooLittleDataError> {
        if self.state.push(window)? {
            self.regression.drop_first();
            self.table.drop_first();
            self.errors.drop_first();
        }
        self.append(window);
        self.evaluated = None;
        let windows_min = self.settings.windows_min(self.state.types());
        let observations = &self.state.observations;
        TooLittleDataError::check(observations, windows_min)?;
        let budget = budget(&self.regression, &self.settings);
        let segmentation = search_penalty(&self.regression, &self.table, budget, &mut self.errors);
        let evaluated = evaluate(observations, &self.regression, &self.settings, &segmentation);
        let update = self.state.update(&evaluated.changes, windows_min);
        self.evaluated = Some(evaluated);
        Ok(update)
    }

    /// The analysis of the retained windows; `None` while there is too little data. Fits the reported models, `O(T
    /// n²)`.
    pub fn analysis(&self) -> Option<Analysis> {
        Some(self.evaluated.clone()?.analysis(&self.state.observations, &self.regression))
    }

    /// The retained windows.
    pub fn observations(&self) -> &Observations {
        &self.state.observations
    }

    /// Adds a window to the sums and the table of costs.
    fn append(&mut self, window: &OnlineWindow<'_>) {
        self.pushes_until_rebuild -= 1;
        if self.pushes_until_rebuild > 0 && self.regression.fits_scale(window.counts, window.utilization) {
            self.regression.push(window.counts, window.utilization);
        } else {
            self.regression = WindowRegression::new(&self.state.observations);
            self.pushes_until_rebuild = self.windows_max;
        }
        self.table.push(&self.regression);
    }
}
