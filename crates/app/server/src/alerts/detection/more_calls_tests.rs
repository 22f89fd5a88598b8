//! Evaluations of an operation that makes more calls, each of which takes as long as before.

use super::super::lifecycle::AlertList;
use super::tests::{detection, minute};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_model::{
    Nanos, ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind, SpanRecord, Status, Timestamp,
    TraceId,
};
use std::num::NonZeroUsize;
use std::sync::Arc;

const MS: i64 = 1_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// A request every two seconds: `page` asks the cache, and where it is empty, `db`, which takes 20 ms, and stores the answer.
fn requests(seconds: std::ops::Range<i64>, is_cached: impl Fn(i64) -> bool) -> Arc<Requests> {
    let mut ingest = Ingest::new(IngestSettings::default());
    for second in seconds.step_by(2) {
        let start = minute(0).unix_ns() + second * SECOND_NS;
        let jitter = second * 7_919 % 500 * 1_000;
        let mut span = |id: u64, parent: Option<u64>, operation, start: i64, inclusive: i64| {
            ingest.span(&SpanRecord {
                trace_id: TraceId::from_value(second as u128 + 1),
                trace_text: None,
                span_id: SpanId::new(id).unwrap(),
                parent: parent.and_then(SpanId::new),
                service: "web",
                operation,
                kind: if parent.is_none() { SpanKind::Server } else { SpanKind::Client },
                status: Status::Ok,
                replica: "web-1",
                replica_source: ReplicaSource::Host,
                start: Timestamp::from_unix_ns(start),
                inclusive: Nanos::from_ns(inclusive as u64),
                sampling: Sampling::default(),
                attributes: SpanAttributes::default(),
            });
        };
        let query = 20 * MS + jitter;
        let is_cached = is_cached(second);
        span(1, None, "page", start, if is_cached { 4 * MS + jitter } else { 6 * MS + query });
        span(2, Some(1), "get", start + MS, MS);
        if !is_cached {
            span(3, Some(1), "select", start + 3 * MS, query);
            span(4, Some(1), "set", start + 4 * MS + query, MS);
        }
    }
    Arc::new(Requests::from_traces(ingest.finish(NonZeroUsize::MIN), NonZeroUsize::MIN))
}

/// Evaluations every minute; the state after each: `.`, `p`, `F`.
fn watch(requests: &Arc<Requests>, minutes: std::ops::Range<i64>) -> (String, AlertList) {
    let mut alerts = AlertList::default();
    let mut state = |time_min: i64| {
        let (day, engine) = (|_| Some(Arc::clone(requests)), LocalEngine::new(NonZeroUsize::MIN));
        let evaluation = detection().evaluate(&alerts, requests, day, minute(time_min), engine).unwrap();
        alerts.apply(&evaluation, detection().rules, minute(time_min));
        match (alerts.firing().count(), alerts.active.is_empty()) {
            (0, true) => '.',
            (0, false) => 'p',
            _ => 'F',
        }
    };
    let states = minutes.map(&mut state).collect();
    (states, alerts)
}

#[test]
fn an_empty_cache_is_found_within_minutes_and_until_it_is_full() {
    // One request in ten misses the cache, but all do for forty minutes.
    let requests =
        requests(0..200 * 60, |second| second * 31 % 10 != 0 && !(120 * 60..160 * 60).contains(&second));
    let (states, alerts) = watch(&requests, 110..200);
    let fires = states.find('F').unwrap();
    assert!((12..=16).contains(&fires), "fires within six minutes: {states}");
    let firing = states.matches('F').count();
    assert!(states[fires..].starts_with(&"F".repeat(firing)), "without a gap: {states}");
    assert!((33..60).contains(&firing), "until it is over: {states}");
    assert_eq!(alerts.resolved[0].finding.operation().unwrap().operation, "page");
}
