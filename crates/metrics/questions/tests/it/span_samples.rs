//! Counts and times by window from spans drawn by hand.

use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests, contract};
use laggard_metrics_questions::{CountingPoint, SpanSampleFold, add_span_samples, visits};
use laggard_model::{
    AdjustedCount, Loss, Measure, Nanos, ReplicaSource, SampleRecord, Sampling, Sink, SpanAttributes, SpanId,
    SpanKind, SpanRecord, Status, Timestamp, TraceId,
};
use laggard_samples::{Grid, SampleTable, WindowSettings, WindowTable};
use std::num::NonZeroUsize;

/// One span: id, parent, service, operation, replica, from, to (ms), kind.
type Line = (u64, u64, &'static str, &'static str, &'static str, i64, i64, SpanKind);

use SpanKind::{Client, Internal, Server};

/// A request of 100 ms to `front` that calls `cart` (30 ms, of which the caller sees 34) and a database (20 ms).
const BUY: [Line; 6] = [
    (1, 0, "front", "POST /buy", "front-1", 0, 100, Server),
    (2, 1, "front", "checkout", "front-1", 10, 95, Internal),
    (3, 2, "front", "call cart", "front-1", 20, 54, Client),
    (4, 3, "cart", "Cart/Get", "cart-1", 22, 52, Server),
    (5, 2, "front", "SELECT items", "front-1", 60, 80, Client),
    (6, 4, "cart", "GET", "cart-1", 30, 45, Client),
];

fn push(ingest: &mut Ingest, trace: u64, start_ms: i64, weight: Option<f64>, lines: &[Line]) {
    for &(span, parent, service, operation, replica, from, to, kind) in lines {
        ingest.span(&SpanRecord {
            trace_id: TraceId::from_value(u128::from(trace)),
            trace_text: None,
            span_id: SpanId::new(span).unwrap(),
            parent: SpanId::new(parent),
            service,
            replica,
            replica_source: ReplicaSource::ServiceInstanceId,
            operation,
            kind,
            status: Status::Unset,
            start: Timestamp::from_unix_ns((start_ms + from) * 1_000_000),
            inclusive: Nanos::from_ms((to - from) as u64),
            sampling: Sampling { adjusted_count: weight.and_then(AdjustedCount::new), ..Sampling::default() },
            attributes: SpanAttributes::default(),
        });
    }
}

fn traces(fill: impl Fn(&mut Ingest)) -> Requests {
    let mut ingest = Ingest::new(IngestSettings::default());
    fill(&mut ingest);
    Requests::from_traces(ingest.finish(NonZeroUsize::MIN), NonZeroUsize::MIN)
}

/// A request a second for `seconds`.
fn steady(seconds: u64, weight: Option<f64>, lines: &'static [Line]) -> Requests {
    traces(|ingest| {
        (0..seconds).for_each(|index| push(ingest, index + 1, index as i64 * 1000, weight, lines))
    })
}

fn engine() -> LocalEngine {
    LocalEngine::new(NonZeroUsize::MIN)
}

fn windows(traces: &Requests, mut samples: SampleTable) -> WindowTable {
    let length = Nanos::from_secs(60);
    add_span_samples(traces.all(), None, length, &mut samples, engine());
    samples.finish(&WindowSettings { length, ..WindowSettings::default() }).unwrap()
}

#[test]
fn a_request_is_visits_with_outbound_calls() {
    let traces = steady(1, None, &BUY);
    let request_visits = visits(&traces.request(0).call_tree(), traces.names());
    let names = traces.names();
    let shown: Vec<_> = request_visits
        .iter()
        .map(|visit| {
            let calls: Vec<u64> = visit.calls.iter().map(|call| call.waited_ns / 1_000_000).collect();
            (names.operation_key(visit.operation).operation, visit.is_entry, visit.inclusive.as_ms(), calls)
        })
        .collect();
    // front: 100 ms, of which 34 and 20 ms are calls; cart: 30 ms, of which 15 are a call.
    assert_eq!(shown, [("POST /buy", true, 100.0, vec![34, 20]), ("Cart/Get", false, 30.0, vec![15])]);
}

#[test]
fn concurrent_calls_share_the_time_waited() {
    const FAN: [Line; 3] = [
        (1, 0, "front", "list", "f", 0, 100, Server),
        (2, 1, "front", "call a", "f", 20, 80, Client),
        (3, 1, "front", "call b", "f", 60, 90, Client),
    ];
    let traces = steady(1, None, &FAN);
    let request_visits = visits(&traces.request(0).call_tree(), traces.names());
    // Waited from 20 to 90, 70 ms, for calls of 60 and 30 ms.
    let waited: Vec<u64> = request_visits[0].calls.iter().map(|call| call.waited_ns).collect();
    assert_eq!(waited, [46_666_666, 23_333_333]);
}

#[test]
fn traces_give_counts_times_and_calls_of_the_system_and_of_every_replica() {
    let table = windows(&steady(180, None, &BUY), SampleTable::default());
    assert_eq!(table.windows, 3);
    assert_eq!(table.transactions, ["cart Cart/Get", "front POST /buy"]);
    assert_eq!(table.system.counts.row(1), [0.0, 60.0]);
    assert!((table.system.response_s.get(1, 1) - 0.1).abs() < 1e-12);
    let names: Vec<_> = table.servers.iter().map(|s| (s.tier.as_str(), s.server.as_str())).collect();
    assert_eq!(names, [("cart", "cart-1"), ("front", "front-1")]);
    let cart = table.servers[0].own.as_ref().unwrap();
    assert_eq!(cart.counts.row(1), [60.0, 0.0]);
    assert!((cart.response_s.get(1, 0) - 0.03).abs() < 1e-12);
    let front = table.servers[1].own.as_ref().unwrap();
    let calls: Vec<_> =
        front.outbound.iter().map(|c| (c.callee.as_str(), c.counts.get(1, 1), c.time_s.get(1, 1))).collect();
    assert_eq!(calls[0].0, "SELECT items");
    assert_eq!((calls[1].0, calls[1].1), ("cart", 60.0));
    // Equation 6: what is left is the time at the replica itself, 100 − 34 − 20 ms.
    let outbound: f64 = calls.iter().filter(|c| c.1 > 0.0).map(|c| c.1 * c.2).sum();
    assert!((front.response_s.get(1, 1) - outbound / 60.0 - 0.046).abs() < 1e-9);
}

#[test]
fn weights_scale_counts_and_not_times() {
    let table = windows(&steady(180, Some(10.0), &BUY), SampleTable::default());
    assert_eq!(table.system.counts.row(1), [0.0, 600.0]);
    assert!((table.system.response_s.get(1, 1) - 0.1).abs() < 1e-12);
}

#[test]
fn callees_of_a_root_client_span_are_system_transactions() {
    const LOAD: [Line; 3] = [
        (1, 0, "load", "GET", "load-1", 0, 110, Client),
        (2, 1, "front", "GET /cart", "front-1", 5, 105, Server),
        (3, 2, "front", "SELECT", "front-1", 20, 60, Client),
    ];
    let table = windows(&steady(180, None, &LOAD), SampleTable::default());
    assert_eq!(table.transactions, ["front GET /cart"]);
    assert_eq!(table.system.counts.row(0), [60.0]);
    assert_eq!(table.servers.len(), 1, "a client is no server");
}

#[test]
fn partial_windows_at_the_ends_are_left_out() {
    let late = traces(|ingest| {
        (30..200).for_each(|index: u64| push(ingest, index, index as i64 * 1000, None, &BUY));
    });
    let table = windows(&late, SampleTable::default());
    assert_eq!((table.since.unix_ns(), table.windows), (60_000_000_000, 2));
    assert_eq!(table.losses.count(Loss::PartialWindow), 2);
}

#[test]
fn counts_in_the_samples_take_precedence() {
    let mut samples = SampleTable::default();
    let sample = |samples: &mut SampleTable, second: i64, measure, server, transaction, value| {
        samples.sample(&SampleRecord {
            time: Timestamp::from_unix_ns(second * 1_000_000_000),
            measure,
            server,
            tier: "",
            transaction,
            callee: "",
            value,
        });
    };
    for minute in 0..3 {
        sample(&mut samples, 60 * minute, Measure::Transactions, "", "buy", 600.0);
        sample(&mut samples, 60 * minute, Measure::Utilization, "front-1", "", 0.5);
    }
    let table = windows(&steady(180, None, &BUY), samples);
    let buy = table.transactions.iter().position(|name| name == "buy").unwrap();
    assert_eq!(table.system.counts.row(1).iter().sum::<f64>(), 600.0);
    assert_eq!(table.system.counts.get(1, buy), 600.0);
    let front = table.servers.iter().find(|server| server.server == "front-1").unwrap();
    assert_eq!((front.tier.as_str(), front.utilization[1]), ("front", 0.5));
    assert!(front.own.is_some(), "spans still give the own time of the server");
}

#[test]
fn one_series_of_cpu_is_enough_beside_traces() {
    let mut samples = SampleTable::default();
    for second in 0..180 {
        samples.sample(&SampleRecord {
            time: Timestamp::from_unix_ns(second * 1_000_000_000),
            measure: Measure::Utilization,
            server: "front-1",
            tier: "",
            transaction: "",
            callee: "",
            value: 0.25,
        });
    }
    let table = windows(&steady(180, None, &BUY), samples);
    let front = table.servers.iter().find(|server| server.server == "front-1").unwrap();
    assert!(front.utilization.iter().all(|value| (value - 0.25).abs() < 1e-9));
    assert_eq!(front.own.as_ref().unwrap().counts.row(1)[1], 60.0);
}

#[test]
fn the_fold_obeys_the_laws() {
    let traces = traces(|ingest| {
        for index in 0..40_u64 {
            let weight = [None, Some(1.0), Some(3.7), Some(1e15)][index as usize % 4];
            let cut = if index % 7 == 0 { &BUY[1..] } else { &BUY[..] };
            push(ingest, index + 1, index as i64 * 7_000, weight, cut);
        }
    });
    let fold = SpanSampleFold {
        names: traces.names(),
        grid: Grid::new(Nanos::from_secs(60), Nanos::ZERO),
        assumed_count: AdjustedCount::new(2.0),
        thinning: 4,
    };
    contract::check(&fold, traces.all());
    let counted = engine().fold(traces.all(), &fold);
    assert_eq!(counted.requests, 40);
    assert!(counted.sums.keys().any(|key| key.point == CountingPoint::System));
}
