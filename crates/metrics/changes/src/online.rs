//! Online analysis: windows one by one, the retained observations, and the changes reported so far.

use laggard_numeric::Matrix;

use crate::error::is_usable;
use crate::{Change, ChangeKind, Observations, TooLittleDataError};

/// Dimensions of an online analysis.
#[derive(Clone, Debug)]
pub struct OnlineShape {
    /// Length of a window in seconds, > 0.
    pub window_s: f64,
    /// Number of transaction types.
    pub types: usize,
    /// CPU capacity in cores.
    pub cores: f64,
    /// Number of windows retained: older ones are dropped. The published method retains at most
    /// [`CherkasovaSettings::exact_windows_max`](crate::CherkasovaSettings::exact_windows_max).
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
    /// The change; its rows are those of the analysis that reported it last. The published method names transactions by
    /// response times only; [`OnlineCherkasova::analysis`](crate::OnlineCherkasova::analysis) names them by counts, too.
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

/// The last windows of a series, and the changes of the last analysis.
#[derive(Clone, Debug)]
pub(crate) struct OnlineState {
    pub(crate) observations: Observations,
    windows_max: usize,
    reported: Vec<OnlineChange>,
}

impl OnlineState {
    /// No windows yet; retains at most `windows_max`.
    pub(crate) fn new(shape: &OnlineShape, windows_max: usize) -> OnlineState {
        let observations = Observations {
            window_s: shape.window_s,
            windows: Vec::new(),
            counts: Matrix::zeros(0, shape.types),
            utilization: Vec::new(),
            response_s: Matrix::zeros(0, shape.types),
            cores: shape.cores,
        };
        OnlineState { observations, windows_max, reported: Vec::new() }
    }

    /// Number of transaction types.
    pub(crate) fn types(&self) -> usize {
        self.observations.counts.cols()
    }

    /// Appends a window; true if the first window was dropped for it.
    ///
    /// # Errors
    /// [`TooLittleDataError::Unusable`] if the window's numbers are invalid, do not fit the shape, or are out of order.
    pub(crate) fn push(&mut self, window: &OnlineWindow<'_>) -> Result<bool, TooLittleDataError> {
        if !self.accepts(window) {
            return Err(TooLittleDataError::Unusable { row: self.observations.windows.len() });
        }
        let observations = &mut self.observations;
        let is_full = observations.windows.len() == self.windows_max;
        if is_full {
            observations.windows.remove(0);
            observations.counts.drop_first_row();
            observations.utilization.remove(0);
            observations.response_s.drop_first_row();
        }
        observations.windows.push(window.number);
        observations.counts.push_row(window.counts);
        observations.utilization.push(window.utilization);
        let unknown = vec![f64::NAN; window.counts.len()];
        let response_s = if window.response_s.is_empty() { &unknown } else { window.response_s };
        observations.response_s.push_row(response_s);
        Ok(is_full)
    }

    fn accepts(&self, window: &OnlineWindow<'_>) -> bool {
        let types = self.types();
        window.counts.len() == types
            && (window.response_s.is_empty() || window.response_s.len() == types)
            && self.observations.windows.last().is_none_or(|&last| last < window.number)
            && is_usable(window.counts, window.utilization)
    }

    /// Compares `changes` with those of the last analysis; changes of one kind up to `near` windows apart are the same.
    pub(crate) fn update(&mut self, changes: &[Change], near: usize) -> OnlineUpdate {
        let windows = &self.observations.windows;
        let numbered =
            |change: &Change| OnlineChange { window: windows[change.onset.row], change: change.clone() };
        let current: Vec<OnlineChange> = changes.iter().map(numbered).collect();
        let is_new = |change: &&OnlineChange| !change.is_among(&self.reported, near);
        let is_gone =
            |change: &&OnlineChange| change.window > windows[0] + near && !change.is_among(&current, near);
        let appeared = current.iter().filter(is_new).cloned().collect();
        let withdrawn = self.reported.iter().filter(is_gone).cloned().collect();
        self.reported = current;
        OnlineUpdate { appeared, withdrawn }
    }
}

impl OnlineChange {
    /// Whether one of `others` is the same change, up to `near` windows apart.
    fn is_among(&self, others: &[OnlineChange], near: usize) -> bool {
        let is_same_kind = |other: &OnlineChange| match (self.change.kind, other.change.kind) {
            (ChangeKind::Rollback { .. }, ChangeKind::Rollback { .. }) => true,
            (own, other) => own == other,
        };
        others.iter().any(|other| is_same_kind(other) && self.window.abs_diff(other.window) <= near)
    }
}
