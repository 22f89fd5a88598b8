//! Simulated systems over hours.

use laggard_engine::{Ingest, IngestSettings, Requests};
use laggard_model::{Nanos, Sink, Timestamp};
use laggard_params::Window;
use laggard_simulate::{Scenario, Settings, requests};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Requests of some hours.
pub(crate) struct History {
    pub(crate) requests: Arc<Requests>,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// When something is wrong; at the end of a quiet one.
    pub(crate) fault: Window,
}

/// Requests are spread over this many call trees of each of three services.
const CATEGORIES: u16 = 8;

/// Hours before a fault, and of one, and after it.
const BEFORE_S: u32 = 4 * 3600;
const FAULT_S: u32 = 2 * 3600;
const AFTER_S: u32 = 3600;

/// Nothing happens for some hours.
pub(crate) fn quiet(seed: u64, hours: u32, rate: u32) -> History {
    let settings = of(Scenario::Quiet, seed, 3600 * hours, rate);
    let start = Timestamp::from_unix_ns(settings.start_unix_ns);
    let end = start.plus(Nanos::from_secs(u64::from(settings.window_s)));
    History { requests: drawn(&[settings]), start, end, fault: Window { since: end, until: end } }
}

/// Four quiet hours, two with a fault, a quiet one.
pub(crate) fn faulty(scenario: Scenario, seed: u64, rate: u32) -> History {
    let fault = of(scenario, seed, FAULT_S, rate);
    let quiet = |run, length_s, start_unix_ns| Settings {
        scenario: Scenario::Quiet,
        services: Some(fault.entry_services()),
        run,
        start_unix_ns,
        ..of(Scenario::Quiet, seed, length_s, rate)
    };
    let at = |seconds: i64| fault.start_unix_ns + seconds * 1_000_000_000;
    let before = quiet(1, BEFORE_S, at(-i64::from(BEFORE_S)));
    let after = quiet(2, AFTER_S, at(i64::from(FAULT_S)));
    let time = Timestamp::from_unix_ns;
    let window = Window { since: time(at(0)), until: time(at(i64::from(FAULT_S))) };
    let (start, end) = (time(before.start_unix_ns), time(at(i64::from(FAULT_S + AFTER_S))));
    History { requests: drawn(&[before, fault, after]), start, end, fault: window }
}

fn of(scenario: Scenario, seed: u64, length_s: u32, rate: u32) -> Settings {
    Settings {
        requests_per_service: (u64::from(rate) * u64::from(length_s) / 3600 / 3) as u32,
        window_s: length_s,
        categories_per_service: CATEGORIES,
        ..Settings::new(scenario, seed)
    }
}

fn drawn(periods: &[Settings]) -> Arc<Requests> {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut ingest = Ingest::new(IngestSettings::default());
    for settings in periods {
        for request in requests(settings).expect("settings in range") {
            request.calls.iter().for_each(|call| ingest.span(&request.span(call)));
        }
    }
    Arc::new(Requests::from_traces(ingest.finish(threads), threads))
}
