//! Simulated systems over hours.

use laggard_engine::{Ingest, IngestSettings, Requests};
use laggard_model::{Nanos, Sink, Timestamp};
use laggard_params::Window;
use laggard_simulate::{Day, DayFault, DayFaultKind, DaySettings, Profile, Scenario, Settings, requests};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// Requests of some hours.
pub(crate) struct History {
    pub(crate) requests: Arc<Requests>,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// When something is wrong; at the end of a quiet one.
    pub(crate) fault: Window,
    /// The services that may be blamed for it, where that is known.
    pub(crate) culprits: Vec<String>,
    /// What is slow, of a day with a fault that makes calls slower.
    pub(crate) slow: Option<SlowCalls>,
}

/// The calls that a fault makes slower.
pub(crate) struct SlowCalls {
    /// Service and name of the operation.
    pub(crate) operation: (String, String),
    /// The same of its caller, if the time is spent between the two.
    pub(crate) caller: Option<(String, String)>,
    /// On these replicas only, if there are any.
    pub(crate) replicas: Vec<String>,
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
    let fault = Window { since: end, until: end };
    History { requests: simulated_requests(&[settings]), start, end, fault, culprits: Vec::new(), slow: None }
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
    let unix_ns = |seconds: i64| fault.start_unix_ns + seconds * 1_000_000_000;
    let before = quiet(1, BEFORE_S, unix_ns(-i64::from(BEFORE_S)));
    let after = quiet(2, AFTER_S, unix_ns(i64::from(FAULT_S)));
    let time = Timestamp::from_unix_ns;
    let window = Window { since: time(unix_ns(0)), until: time(unix_ns(i64::from(FAULT_S))) };
    let (start, end) = (time(before.start_unix_ns), time(unix_ns(i64::from(FAULT_S + AFTER_S))));
    History {
        requests: simulated_requests(&[before, fault, after]),
        start,
        end,
        fault: window,
        culprits: Vec::new(),
        slow: None,
    }
}

/// A fault that is injected into an ordinary day.
#[derive(Clone, Copy)]
pub(crate) struct Injected {
    pub(crate) kind: DayFaultKind,
    pub(crate) factor: f64,
    /// Replicas of every service; those of the profile if absent.
    pub(crate) replicas: Option<u16>,
    /// How long it lasts, seconds.
    pub(crate) lasts_s: u32,
}

impl Injected {
    /// `KIND[:FACTOR[:REPLICAS]]`.
    pub(crate) fn parse(text: &str) -> Option<Injected> {
        let mut parts = text.split(':');
        let kind = DayFaultKind::parse(parts.next()?)?;
        let factor = parts.next().map_or(Some(2.0), |part| part.parse().ok())?;
        let replicas = parts.next().map(str::parse).transpose().ok()?;
        Some(Injected { kind, factor, replicas, lasts_s: FAULT_S })
    }
}

/// Share of the calls that fail or stop short.
const FAILING_SHARE: f64 = 0.5;

/// An ordinary day with a fault from the fifth hour on, and the hour after it, or a quiet one of so many hours.
pub(crate) fn day(
    profile: Profile,
    seed: u64,
    rate: u32,
    hours: u32,
    fault: Option<Injected>,
    drift: Option<f64>,
) -> Option<History> {
    let per_s = f64::from(rate) / 3600.0;
    let mut profile = Profile { requests_per_s: [per_s, per_s], ..profile };
    if let Some(replicas) = fault.and_then(|fault| fault.replicas) {
        profile = Profile { replicated: 1.0, replicas: [replicas, replicas], ..profile };
    }
    let (since_s, until_s) = (BEFORE_S, BEFORE_S + fault.map_or(0, |fault| fault.lasts_s));
    let injected = fault.map(|fault| DayFault {
        kind: fault.kind,
        seed,
        factor: fault.factor,
        share: FAILING_SHARE,
        since_s,
        until_s,
    });
    let window_s = if fault.is_some() { until_s + AFTER_S } else { 3600 * hours };
    let usual = DaySettings::new(profile, seed);
    let settings = DaySettings { window_s, fault: injected, drift: drift.unwrap_or(usual.drift), ..usual };
    // Some systems have no operation for some faults.
    let day = Day::new(&settings).ok()?;
    let mut ingest = Ingest::new(IngestSettings::default());
    for request in day.requests() {
        request.spans.iter().for_each(|span| ingest.span(&request.record(span, &day)));
    }
    let threads = laggard_system::available_threads();
    let start = Timestamp::from_unix_ns(settings.start_unix_ns);
    let time = |seconds: u32| start.plus(Nanos::from_secs(u64::from(seconds)));
    let end = time(window_s);
    let fault = match fault {
        Some(_) => Window { since: time(since_s), until: time(until_s) },
        None => Window { since: end, until: end },
    };
    let requests = Arc::new(Requests::from_traces(ingest.finish(threads), threads));
    let truth = day.truth();
    let culprits = truth.as_ref().map(|truth| {
        let caller = truth.caller.as_ref().map(|(service, _)| service.clone());
        [truth.operation.0.clone()].into_iter().chain(caller).collect()
    });
    let is_slow = injected.is_some_and(|fault| {
        matches!(fault.kind, DayFaultKind::Operation | DayFaultKind::Replica | DayFaultKind::Edge)
    });
    let slow = truth.filter(|_| is_slow).map(|truth| SlowCalls {
        operation: truth.operation,
        caller: truth.caller,
        replicas: truth.replicas,
    });
    Some(History { requests, start, end, fault, culprits: culprits.unwrap_or_default(), slow })
}

/// Recorded spans.
pub(crate) fn recorded(paths: &[&String]) -> History {
    let threads = laggard_system::available_threads();
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    let traces = laggard_evaluate::read_traces(&paths, threads).expect("spans");
    let requests = Arc::new(Requests::from_traces(traces, threads));
    let (start, end) = requests.extent().expect("some requests");
    History {
        requests,
        start,
        end,
        fault: Window { since: end, until: end },
        culprits: Vec::new(),
        slow: None,
    }
}

fn of(scenario: Scenario, seed: u64, length_s: u32, rate: u32) -> Settings {
    Settings {
        requests_per_service: (u64::from(rate) * u64::from(length_s) / 3600 / 3) as u32,
        window_s: length_s,
        categories_per_service: CATEGORIES,
        ..Settings::new(scenario, seed)
    }
}

fn simulated_requests(periods: &[Settings]) -> Arc<Requests> {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut ingest = Ingest::new(IngestSettings::default());
    for settings in periods {
        for request in requests(settings).expect("settings in range") {
            request.calls.iter().for_each(|call| ingest.span(&request.span(call)));
        }
    }
    Arc::new(Requests::from_traces(ingest.finish(threads), threads))
}
