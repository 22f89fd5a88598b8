//! The engine's answer does not depend on threads; the contract suite catches folds that break the laws.

use laggard_engine::{Fold, Ingest, IngestSettings, LocalEngine, RequestView, Requests, contract};
use laggard_model::{
    Nanos, ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind, SpanRecord, Status, Timestamp,
    TraceId,
};
use std::num::NonZeroUsize;

pub(crate) fn record(trace: u64, span: u64) -> SpanRecord<'static> {
    SpanRecord {
        trace_id: TraceId::from_value(u128::from(trace)),
        trace_text: None,
        span_id: SpanId::new(span + 1).expect("not zero"),
        parent: SpanId::new(span),
        service: "s",
        replica: "r",
        replica_source: ReplicaSource::Column,
        operation: "o",
        kind: SpanKind::Server,
        status: Status::Unset,
        start: Timestamp::from_unix_ns((trace % 1_000_000 * 10 + span) as i64),
        inclusive: Nanos::from_ns(1 + span),
        sampling: Sampling::default(),
        attributes: SpanAttributes::default(),
    }
}

fn requests(count: u64) -> Requests {
    let mut ingest = Ingest::new(IngestSettings::default());
    for span in (0..3).rev() {
        for trace in 0..count {
            ingest.span(&record(trace, span));
        }
    }
    Requests::from_traces(ingest.finish(threads(2)), threads(2))
}

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("not zero")
}

/// Sizes of requests in the order they were seen: sensitive to everything.
struct Sizes;

impl Fold for Sizes {
    type Partial = Vec<usize>;
    type Output = Vec<usize>;

    fn start(&self) -> Vec<usize> {
        Vec::new()
    }

    fn add(&self, partial: &mut Vec<usize>, request: &RequestView<'_>) {
        partial.push(request.calls() + request.trace().value() as usize);
    }

    fn merge(&self, into: &mut Vec<usize>, later: Vec<usize>) {
        into.extend(later);
    }

    fn finish(&self, partial: Vec<usize>) -> Vec<usize> {
        partial
    }
}

#[test]
fn every_request_is_folded_once_in_order_with_any_number_of_threads() {
    let requests = requests(3000);
    let one = LocalEngine::new(threads(1)).fold(requests.all(), &Sizes);
    let three = LocalEngine::new(threads(3)).fold(requests.all(), &Sizes);
    assert_eq!(one, three);
    assert!(one.is_sorted(), "traces start one after the other");
    assert_eq!((one.len(), one.iter().sum::<usize>()), (3000, 3 * 3000 + 2999 * 3000 / 2));
    assert_eq!(LocalEngine::new(threads(3)).map(&one, |size| size + 1)[2999], 3003);
    contract::check(&Sizes, requests.all());
}

/// A broken fold that drops everything added before the last merge.
struct Forgetful;

impl Fold for Forgetful {
    type Partial = u64;
    type Output = u64;

    fn start(&self) -> u64 {
        0
    }

    fn add(&self, partial: &mut u64, request: &RequestView<'_>) {
        *partial += request.calls() as u64;
    }

    fn merge(&self, into: &mut u64, later: u64) {
        *into = later;
    }

    fn finish(&self, partial: u64) -> u64 {
        partial
    }
}

#[test]
#[should_panic(expected = "changed the answer")]
fn the_contract_catches_a_lossy_fold() {
    contract::check(&Forgetful, requests(10).all());
}

#[test]
fn tables_merge_in_the_order_of_their_inputs() {
    let part = |traces: std::ops::Range<u64>| {
        let mut ingest = Ingest::new(IngestSettings::default());
        for trace in traces {
            ingest.span(&record(trace, 0));
        }
        ingest
    };
    let mut whole = part(0..50);
    whole.merge(part(50..100));
    let (merged, once) = (whole.finish(threads(1)), part(0..100).finish(threads(1)));
    assert_eq!(merged.buckets(), once.buckets());
    assert_eq!(merged.names().operations(), 1);
    assert_eq!(merged.spans(), 100);
}
