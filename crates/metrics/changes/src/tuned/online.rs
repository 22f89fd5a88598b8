//! The default method window by window: a cheap watch over the model in force, and the whole analysis when it stirs.

use std::num::NonZeroUsize;

use laggard_numeric::Matrix;

use super::changes::{changes, windows_needed};
use super::settings::ChangeSettings;
use super::watch::Watch;
use crate::{
    Analysis, Change, Observations, OnlineChange, OnlineNews, OnlineShape, OnlineWindow, TooLittleData,
};

/// The analysis is renewed after so many windows even if nothing stirs.
const RENEWED_AFTER: usize = 30;
/// After a watch stirred, the next analysis is at least so many windows off; twice as many each time it stirs again.
const PAUSE_MIN: usize = 3;

/// The default method over the last windows of a series. A window costs `O(n)` while the model in force explains it; the
/// whole analysis runs when windows deviate together, and every thirty windows.
///
/// After an analysis the answer is that of [`changes`] over the windows kept; between, it is the last one.
#[derive(Clone, Debug)]
pub struct OnlineChanges {
    settings: ChangeSettings,
    windows_max: usize,
    kept: Observations,
    analysis: Option<Analysis>,
    watch: Option<Watch>,
    /// Windows since the last analysis.
    age: usize,
    /// Windows that must pass before the watch may ask for the next one.
    pause: usize,
    seen: Vec<OnlineChange>,
}

impl OnlineChanges {
    /// No windows yet. `settings` are within their ranges.
    pub fn new(settings: ChangeSettings, shape: &OnlineShape) -> OnlineChanges {
        let kept = Observations {
            window_s: shape.window_s,
            windows: Vec::new(),
            counts: Matrix::zeros(0, shape.types),
            utilization: Vec::new(),
            response_s: Matrix::zeros(0, shape.types),
            cores: shape.cores,
        };
        OnlineChanges {
            windows_max: shape.windows_max.max(2 * (shape.types + 1)).max(RENEWED_AFTER),
            settings,
            kept,
            analysis: None,
            watch: None,
            age: 0,
            pause: PAUSE_MIN,
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
        self.age += 1;
        let row = self.kept.utilization.len() - 1;
        let stirs = self.watch.as_mut().is_some_and(|watch| watch.stirs(&self.kept, row));
        if self.analysis.is_none() {
            TooLittleData::check(&self.kept, windows_needed(&self.kept))?;
        }
        let is_due =
            self.analysis.is_none() || self.age >= RENEWED_AFTER || (stirs && self.age >= self.pause);
        if !is_due {
            return Ok(OnlineNews::default());
        }
        self.pause = if stirs { (2 * self.pause).min(RENEWED_AFTER) } else { PAUSE_MIN };
        self.renew()
    }

    /// The last answer; none while there is too little data.
    pub fn analysis(&self) -> Option<&Analysis> {
        self.analysis.as_ref()
    }

    /// The windows kept.
    pub fn observations(&self) -> &Observations {
        &self.kept
    }

    fn renew(&mut self) -> Result<OnlineNews, TooLittleData> {
        self.age = 0;
        let analysis = match changes(&self.kept, &self.settings, NonZeroUsize::MIN) {
            Ok(analysis) => analysis,
            Err(reason) => {
                (self.analysis, self.watch) = (None, None);
                return Err(reason);
            }
        };
        let news = self.compare(&analysis);
        self.watch = Watch::new(&self.kept, &analysis);
        self.analysis = Some(analysis);
        Ok(news)
    }

    fn accepts(&self, window: &OnlineWindow<'_>) -> bool {
        let usable = |value: f64| value.is_finite() && value >= 0.0;
        let types = self.kept.counts.cols();
        window.counts.len() == types
            && (window.response_s.is_empty() || window.response_s.len() == types)
            && self.kept.windows.last().is_none_or(|&last| last < window.number)
            && usable(window.utilization)
            && window.counts.iter().all(|&count| usable(count))
    }

    fn keep(&mut self, window: &OnlineWindow<'_>) {
        if self.kept.windows.len() == self.windows_max {
            self.kept.windows.remove(0);
            self.kept.counts.drop_first_row();
            self.kept.utilization.remove(0);
            self.kept.response_s.drop_first_row();
        }
        self.kept.windows.push(window.number);
        self.kept.counts.push_row(window.counts);
        self.kept.utilization.push(window.utilization);
        let unknown = vec![f64::NAN; window.counts.len()];
        self.kept.response_s.push_row(if window.response_s.is_empty() {
            &unknown
        } else {
            window.response_s
        });
    }

    /// What is new against what was seen.
    fn compare(&mut self, analysis: &Analysis) -> OnlineNews {
        let near = self.settings.windows_min(self.kept.counts.cols());
        let numbered = |change: &Change| OnlineChange {
            window: self.kept.windows[change.onset.row],
            change: change.clone(),
        };
        let now: Vec<OnlineChange> = analysis.changes.iter().map(numbered).collect();
        let appeared = now.iter().filter(|change| !change.is_among(&self.seen, near)).cloned().collect();
        let first = self.kept.windows[0];
        let is_gone = |change: &&OnlineChange| change.window > first + near && !change.is_among(&now, near);
        let withdrawn = self.seen.iter().filter(is_gone).cloned().collect();
        self.seen = now;
        OnlineNews { appeared, withdrawn }
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
    fn a_change_is_told_once_soon_after_it_happened() {
        let shape = OnlineShape { window_s: 60.0, types: 1, cores: 1.0, windows_max: 500 };
        let mut online = OnlineChanges::new(ChangeSettings::default(), &shape);
        let mut told = Vec::new();
        for t in 0..260 {
            let (count, utilization, response_s) = window(t);
            let (counts, responses) = ([count], [response_s]);
            let window = OnlineWindow { number: t, counts: &counts, utilization, response_s: &responses };
            match online.push(&window) {
                Ok(news) => {
                    assert!(news.withdrawn.is_empty(), "{t}: {news:?}");
                    told.extend(news.appeared.into_iter().map(|change| (t, change)));
                }
                Err(_) => assert!(t < 4, "window {t}"),
            }
        }
        let alarms: Vec<_> =
            told.iter().filter(|(_, told)| told.change.kind == ChangeKind::ApplicationChange).collect();
        assert_eq!(alarms.len(), 1, "{told:?}");
        assert!(alarms[0].0 < 175 && alarms[0].1.window.abs_diff(150) <= 1, "{alarms:?}");
        let (counts, bad) = ([1.0], f64::NAN);
        let broken = OnlineWindow { number: 999, counts: &counts, utilization: bad, response_s: &[] };
        assert_eq!(online.push(&broken), Err(TooLittleData::Unusable { row: 260 }));
    }
}
