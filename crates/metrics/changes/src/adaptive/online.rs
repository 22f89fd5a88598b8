//! The default method window by window: a cheap monitor of the current model, and the complete analysis when it
//! deviates.

use std::num::NonZeroUsize;

use super::monitor::ModelMonitor;
use super::pipeline::{changes, windows_needed};
use super::settings::ChangeSettings;
use crate::online::{OnlineShape, OnlineState, OnlineUpdate, OnlineWindow};
use crate::{Analysis, Observations, TooLittleDataError};

/// The analysis is repeated after this number of windows even without deviation.
const REFRESH_AFTER: usize = 30;
/// Minimum number of windows between analyses caused by deviations; doubled after each.
const PAUSE_MIN: usize = 3;

/// The default method over the last windows of a series. A window costs `O(n)` while the current model explains it; the
/// complete analysis runs when successive windows deviate, and every thirty windows.
///
/// Right after an analysis the result is that of [`changes`] over the retained windows; otherwise it is the last one.
#[derive(Clone, Debug)]
pub struct OnlineChanges {
    settings: ChangeSettings,
    state: OnlineState,
    analysis: Option<Analysis>,
    monitor: Option<ModelMonitor>,
    /// Windows since the last analysis.
    age: usize,
    /// Windows that must pass before the monitor may trigger the next one.
    pause: usize,
}

impl OnlineChanges {
    /// No windows yet. `settings` are within their ranges.
    pub fn new(settings: ChangeSettings, shape: &OnlineShape) -> OnlineChanges {
        let windows_max = shape.windows_max.max(2 * (shape.types + 1)).max(REFRESH_AFTER);
        OnlineChanges {
            settings,
            state: OnlineState::new(shape, windows_max),
            analysis: None,
            monitor: None,
            age: 0,
            pause: PAUSE_MIN,
        }
    }

    /// Appends a window and returns its effect.
    ///
    /// # Errors
    /// The window is rejected if its numbers are unusable, do not fit the shape, or are out of order
    /// ([`TooLittleDataError::Unusable`]). Otherwise it is accepted, and the error means that there is too little data
    /// so far.
    pub fn push(&mut self, window: &OnlineWindow<'_>) -> Result<OnlineUpdate, TooLittleDataError> {
        self.state.push(window)?;
        self.age += 1;
        let observations = &self.state.observations;
        let row = observations.utilization.len() - 1;
        let deviates = self.monitor.as_mut().is_some_and(|monitor| monitor.deviates(observations, row));
        if self.analysis.is_none() {
            TooLittleDataError::check(observations, windows_needed(observations))?;
        }
        let is_pending =
            self.analysis.is_none() || self.age >= REFRESH_AFTER || (deviates && self.age >= self.pause);
        if !is_pending {
            return Ok(OnlineUpdate::default());
        }
        self.pause = if deviates { (2 * self.pause).min(REFRESH_AFTER) } else { PAUSE_MIN };
        self.refresh()
    }

    /// The last analysis; `None` while there is too little data.
    pub fn analysis(&self) -> Option<&Analysis> {
        self.analysis.as_ref()
    }

    /// The retained windows.
    pub fn observations(&self) -> &Observations {
        &self.state.observations
    }

    fn refresh(&mut self) -> Result<OnlineUpdate, TooLittleDataError> {
        self.age = 0;
        (self.analysis, self.monitor) = (None, None);
        let analysis = changes(&self.state.observations, &self.settings, NonZeroUsize::MIN)?;
        let update = self.state.update(&analysis.changes, self.settings.windows_min(self.state.types()));
        self.monitor = ModelMonitor::new(&self.state.observations, &analysis);
        self.analysis = Some(analysis);
        Ok(update)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChangeKind;

    /// One type: 10 ms, from window 150 on 13 ms; loads in waves, small noise.
    fn window(t: usize) -> (f64, f64, f64) {
        let count = 1_000.0 + 100.0 * ((t * 7) % 11) as f64;
        let demand_s = if t < 150 { 0.010 } else { 0.013 };
        let busy = 0.02 + count * demand_s / 60.0 + 0.003 * (((t * 5) % 7) as f64 - 3.0) / 3.0;
        let wave = 1.0 + 0.02 * (((t * 3) % 5) as f64 - 2.0);
        (count, busy, demand_s * wave / (1.0 - busy))
    }

    #[test]
    fn a_change_is_reported_once_soon_after_its_onset() {
        let shape = OnlineShape { window_s: 60.0, types: 1, cores: 1.0, windows_max: 500 };
        let mut online = OnlineChanges::new(ChangeSettings::default(), &shape);
        let mut reported = Vec::new();
        for t in 0..260 {
            let (count, utilization, response_s) = window(t);
            let (counts, responses) = ([count], [response_s]);
            let window = OnlineWindow { number: t, counts: &counts, utilization, response_s: &responses };
            match online.push(&window) {
                Ok(update) => {
                    assert!(update.withdrawn.is_empty(), "{t}: {update:?}");
                    reported.extend(update.appeared.into_iter().map(|change| (t, change)));
                }
                Err(_) => assert!(t < 4, "window {t}"),
            }
        }
        let alarms: Vec<_> = reported
            .iter()
            .filter(|(_, reported)| reported.change.kind == ChangeKind::ApplicationChange)
            .collect();
        assert_eq!(alarms.len(), 1, "{reported:?}");
        assert!(alarms[0].0 < 175 && alarms[0].1.window.abs_diff(150) <= 1, "{alarms:?}");
        let (counts, bad) = ([1.0], f64::NAN);
        let broken = OnlineWindow { number: 999, counts: &counts, utilization: bad, response_s: &[] };
        assert_eq!(online.push(&broken), Err(TooLittleDataError::Unusable { row: 260 }));
    }
}
