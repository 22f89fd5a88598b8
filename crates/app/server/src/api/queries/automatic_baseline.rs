//! The baseline of a diagnosis that names none: earlier requests of the store.

use super::TenantQueries;
use super::two_rounds::LeftOut;
use crate::api::data::REST_SPANS_MAX;
use crate::api::jobs::Progress;
use crate::api::problem::ApiError;
use laggard_diagnose::{BaselineChoice, DiagnoseSettings, Population, UnionNames};
use laggard_engine::Requests;
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;
use laggard_report::{AutomaticBaseline, AutomaticChoice, Report};
use laggard_store::View;

/// The time directly before is so many windows long, where it is stored …
const WINDOWS_MAX: u64 = 4;

/// … and no longer than this, unless one window is.
const BEFORE_MAX: Nanos = Nanos::from_secs(2 * 3600);

const DAY: Nanos = Nanos::from_secs(86_400);
const INSTANT: Nanos = Nanos::from_ns(1);

/// Complete requests that a baseline needs, as alerts do (`alerts.requests_min`). With fewer, a slow call that is rare
/// but usual may be missing from it.
const REQUESTS_MIN: usize = 100;

/// A time that may serve as the baseline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Candidate {
    choice: AutomaticChoice,
    window: Window,
}

impl TenantQueries {
    /// Windows that may be read for the baseline of a window.
    pub(super) fn baseline_candidates(&self, window: Window) -> impl Iterator<Item = Window> {
        let candidates = candidates(&self.views.newest(), window, self.calls_max);
        candidates.into_iter().map(|candidate| candidate.window)
    }

    /// Diagnoses a window against the first candidate with enough requests; on its own if there is none. The report
    /// says which.
    pub(super) fn diagnose_with_earlier(
        &self,
        mut settings: DiagnoseSettings,
        progress: &Progress,
    ) -> Result<Report, ApiError> {
        let window = Window { since: settings.since, until: settings.until };
        let mut chosen = AutomaticBaseline { choice: AutomaticChoice::None, window: None };
        for candidate in candidates(&self.views.newest(), window, self.calls_max) {
            let requests = self.requests_or_sample(
                &[window, candidate.window],
                (&[window], LeftOut::OfFrequentKinds),
                progress,
            )?;
            if !has_enough(&requests, candidate.window, &settings) {
                continue;
            }
            let Window { since, until } = candidate.window;
            settings.baseline = BaselineChoice::Within { since, until };
            chosen = AutomaticBaseline {
                choice: candidate.choice,
                window: Some(laggard_report::Window { since, until }),
            };
            break;
        }
        let mut report = self.diagnose(&settings, progress)?;
        report.automatic_baseline = Some(chosen);
        Ok(report)
    }
}

/// Times that are stored completely and small enough to be read, the preferred one first. A window of which requests are left out
/// to stay within `calls_max` is compared with at most twice as much.
fn candidates(view: &View, window: Window, calls_max: u64) -> Vec<Candidate> {
    let Some(stored) = view.extent() else { return Vec::new() };
    let spans = |window: Window| view.spans_within(window.since, window.until);
    let spans_max = if spans(window) > calls_max { spans(window).saturating_mul(2) } else { REST_SPANS_MAX };
    let is_readable = |window: Window| spans(window) <= spans_max;
    let before = before(window, stored).into_iter().find(|window| is_readable(*window));
    let day = day_before(window, stored).filter(|window| is_readable(*window));
    let candidate = |choice, window: Option<Window>| Some(Candidate { choice, window: window? });
    [candidate(AutomaticChoice::Before, before), candidate(AutomaticChoice::DayBefore, day)]
        .into_iter()
        .flatten()
        .collect()
}

/// The length of a window, which ends with the stored requests if it has no end; `None` if it begins before all of them.
fn length(window: Window, (first, last): (Timestamp, Timestamp)) -> Option<Nanos> {
    let until = if window.until == Timestamp::MAX { last } else { window.until };
    let length = until.since(window.since).non_negative()?;
    (first < window.since).then_some(length.plus(INSTANT))
}

/// Intervals that end where a window begins, the longest first; each is at least as long as the window, and stored from
/// its beginning.
fn before(window: Window, stored: (Timestamp, Timestamp)) -> Vec<Window> {
    let Some(length) = length(window, stored) else { return Vec::new() };
    let available = window.since.since(stored.0).magnitude();
    let longest = Nanos::from_ns(length.ns().saturating_mul(WINDOWS_MAX)).min(BEFORE_MAX).max(length);
    let mut lengths = vec![longest.min(available)];
    while let Some(half) = lengths.last().map(|last| Nanos::from_ns(last.ns() / 2))
        && half >= length
        && half > INSTANT
    {
        lengths.push(half);
    }
    lengths.retain(|candidate| *candidate >= length);
    let until = window.since.minus(INSTANT);
    lengths.into_iter().map(|length| Window { since: window.since.minus(length), until }).collect()
}

/// The same time a day earlier, with half a window before and after it: what happens daily is not punctual.
fn day_before(window: Window, stored: (Timestamp, Timestamp)) -> Option<Window> {
    let length = length(window, stored)?;
    let half = Nanos::from_ns(length.ns() / 2);
    let since = window.since.minus(DAY).minus(half);
    let until = window.since.plus(length).minus(DAY).plus(half).min(window.since.minus(INSTANT));
    (stored.0 <= since.plus(half)).then_some(Window { since, until })
}

/// Whether enough complete requests of the question start in an interval.
fn has_enough(requests: &Requests, window: Window, settings: &DiagnoseSettings) -> bool {
    let population = Population {
        since: window.since,
        until: window.until,
        attributes: &settings.attributes,
        selection: &settings.selection,
        ..Population::all(requests)
    };
    let union = UnionNames::from_populations(&[population]);
    let selected = union.select(&population, 0);
    let complete =
        selected.range().iter().filter(|request| request.is_complete() && selected.includes(request));
    complete.take(REQUESTS_MIN).count() == REQUESTS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(minutes: u64) -> Nanos {
        Nanos::from_secs(60 * minutes)
    }

    /// Minutes after the first stored request, of a store that holds two days.
    fn at(after: u64) -> Timestamp {
        Timestamp::from_unix_ns(0).plus(minutes(after))
    }

    const STORED: (Timestamp, Timestamp) =
        (Timestamp::from_unix_ns(0), Timestamp::from_unix_ns(2 * 86_400_000_000_000));

    fn lengths_before(since: u64, until: u64) -> Vec<u64> {
        let found = before(Window { since: at(since), until: at(until).minus(INSTANT) }, STORED);
        assert!(found.iter().all(|window| window.until.plus(INSTANT) == at(since)));
        found
            .iter()
            .map(|window| window.until.since(window.since).magnitude().plus(INSTANT).ns() / 60_000_000_000)
            .collect()
    }

    #[test]
    fn the_time_directly_before_is_up_to_four_windows_or_two_hours_long() {
        assert_eq!(lengths_before(600, 615), [60, 30, 15]);
        assert_eq!(lengths_before(600, 660), [120, 60]);
        assert_eq!(lengths_before(600, 900), [300]);
        assert_eq!(lengths_before(40, 55), [40, 20], "what is stored");
        assert_eq!(lengths_before(10, 25), [0; 0], "less than a window is stored");
        assert_eq!(lengths_before(0, 60), [0; 0], "nothing is earlier");
    }

    #[test]
    fn a_window_without_an_end_ends_with_the_stored_requests() {
        let found = before(Window { since: at(2_870), until: Timestamp::MAX }, STORED);
        assert_eq!(found[0].since.plus(Nanos::from_ns(4)), at(2_830));
    }

    #[test]
    fn a_window_without_a_beginning_has_no_baseline() {
        assert_eq!(before(Window::ALL, STORED), []);
        assert_eq!(day_before(Window::ALL, STORED), None);
    }

    #[test]
    fn the_day_before_has_a_margin_and_ends_before_the_window() {
        let day =
            |since, until| day_before(Window { since: at(since), until: at(until).minus(INSTANT) }, STORED);
        assert_eq!(day(2_000, 2_020), Some(Window { since: at(550), until: at(590) }));
        assert_eq!(day(1_000, 1_020), None, "not stored");
        let long = day(1_500, 2_600).unwrap();
        assert_eq!(long.until.plus(INSTANT), at(1_500));
    }
}
