//! A day with its requests, cut at will along its minutes.

use laggard_engine::{Ingest, IngestSettings, Traces};
use laggard_model::{Nanos, Sink, Timestamp};
use laggard_simulate::{Day, DayFault, DayFaultKind, DayRequest, DaySettings};
use std::borrow::Borrow;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

pub(crate) const MINUTE_S: u32 = 60;
/// The minute from which windows are judged; the hour before is the baseline.
pub(crate) const JUDGED_FROM: u32 = 60;
/// Share of the calls that fail or stop short.
const FAILING_SHARE: f64 = 0.5;
/// A fault begins this many minutes after its window, or in the middle of windows of at least so many minutes.
const BEFORE_FAULT: u32 = 3;
const MIDDLE_FROM: u32 = 30;

/// The minutes of a fault of some length in a window, with which it ends at the latest.
fn fault_minutes(window: &Range<u32>, length: u32) -> Range<u32> {
    let window_min = window.end - window.start;
    let before = if window_min < MIDDLE_FROM { BEFORE_FAULT } else { window_min / 2 };
    let start = window.start + before;
    start..window.end.min(start + length)
}

/// A day that ends with a window of so many minutes, and has a fault in it.
pub(crate) fn with_fault(
    settings: DaySettings,
    kind: DayFaultKind,
    factor: f64,
    window_min: u32,
    fault_min: u32,
) -> DaySettings {
    let window = JUDGED_FROM..JUDGED_FROM + window_min;
    let minutes = fault_minutes(&window, fault_min);
    let fault = DayFault {
        kind,
        seed: settings.seed,
        factor,
        share: FAILING_SHARE,
        since_s: minutes.start * MINUTE_S,
        until_s: minutes.end * MINUTE_S,
    };
    DaySettings { fault: Some(fault), window_s: window.end * MINUTE_S, ..settings }
}

/// Requests as read from a file.
pub(super) fn read(
    day: &Day,
    requests: impl Iterator<Item = impl Borrow<DayRequest>>,
    threads: NonZeroUsize,
) -> Traces {
    let mut ingest = Ingest::new(IngestSettings::default());
    for request in requests {
        let request = request.borrow();
        request.spans.iter().for_each(|span| ingest.span(&request.record(span, day)));
    }
    ingest.finish(threads)
}

/// A minute of a day.
pub(super) fn at(settings: &DaySettings, minute: u32) -> Timestamp {
    Timestamp::from_unix_ns(settings.start_unix_ns).plus(Nanos::from_secs(u64::from(minute * MINUTE_S)))
}

/// A day with its requests, by start.
pub(crate) struct SampledDay {
    pub(crate) day: Day,
    settings: DaySettings,
    requests: Vec<DayRequest>,
}

impl SampledDay {
    pub(crate) fn draw(settings: &DaySettings) -> Result<SampledDay, String> {
        let day = Day::new(settings).map_err(|error| error.to_string())?;
        let requests = day.requests().collect();
        Ok(SampledDay { day, settings: settings.clone(), requests })
    }

    /// The requests that start in some minutes, as read from a file.
    pub(crate) fn traces(&self, minutes: Range<u32>, threads: NonZeroUsize) -> Arc<Traces> {
        let index = |minute: u32| {
            let time = at(&self.settings, minute);
            self.requests.partition_point(|request| request.start < time)
        };
        let inside = &self.requests[index(minutes.start)..index(minutes.end)];
        Arc::new(read(&self.day, inside.iter(), threads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_simulate::Profile;

    #[test]
    fn a_window_has_the_requests_that_start_in_its_minutes() {
        let settings = DaySettings { window_s: 180, ..DaySettings::new(Profile::parse("small").unwrap(), 1) };
        let drawn = SampledDay::draw(&settings).unwrap();
        let spans = |minutes| {
            let traces = drawn.traces(minutes, NonZeroUsize::MIN);
            crate::select::each_trace(&traces).map(<[_]>::len).sum::<usize>()
        };
        let all: usize = drawn.requests.iter().map(|request| request.spans.len()).sum();
        assert!(spans(1..2) > 0);
        assert_eq!((spans(0..3), spans(0..1) + spans(1..2) + spans(2..3)), (all, all));
    }

    #[test]
    fn a_fault_ends_with_its_window() {
        assert_eq!(fault_minutes(&(60..75), 12), 63..75);
        assert_eq!(fault_minutes(&(60..75), 20), 63..75);
        assert_eq!(fault_minutes(&(60..75), 5), 63..68);
        assert_eq!(fault_minutes(&(60..120), 12), 90..102);
    }
}
