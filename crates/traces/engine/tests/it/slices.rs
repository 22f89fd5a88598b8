//! Slices: assembled once, merged, thinned, and queried as one.

use laggard_engine::{
    Ingest, IngestSettings, RequestSlice, Requests, SliceFacts, SliceSummary, SummaryKind, TraceAttributes,
};
use laggard_model::{
    Loss, Names, Nanos, OperationKey, ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind,
    SpanRecord, SpanRow, Status, Timestamp, TraceId,
};
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};

const THREADS: NonZeroUsize = NonZeroUsize::new(3).expect("not zero");

/// A span: trace, id, parent (0 for none), operation, replica, start, length.
type SpanFields = (u128, u64, u64, &'static str, &'static str, i64, u64);

fn row(names: &mut Names, fields: SpanFields) -> SpanRow {
    let (trace, span, parent, operation, replica, start, length) = fields;
    SpanRow {
        trace: TraceId::from_value(trace),
        span: SpanId::new(span).unwrap(),
        parent: SpanId::new(parent),
        start: Timestamp::from_unix_ns(start),
        inclusive: Nanos::from_ns(length),
        operation: names.operation(OperationKey { service: "shop", operation, kind: SpanKind::Server }),
        replica: names.replica(replica),
        kind: SpanKind::Server,
        status: if length > 100 { Status::Error } else { Status::Ok },
        incomplete: false,
        adjusted_count: None,
    }
}

fn slice(spans: &[SpanFields]) -> RequestSlice {
    let mut names = Names::new();
    let rows = spans.iter().map(|&fields| row(&mut names, fields)).collect();
    RequestSlice::assemble(names, rows, &TraceAttributes::default(), SliceFacts::default())
}

/// `TRACE START complete OPERATION@REPLICA self/inclusive/path …`, in the order of the requests.
fn described(requests: &Requests) -> Vec<String> {
    let names = requests.names();
    let line = |index| {
        let request = requests.request(index);
        let call = |node: usize| {
            let operation = names.operation_key(request.tree().operation[node]).operation;
            let replica = names.replica_name(request.replica(node));
            let times = [request.self_time(node), request.inclusive_time(node), request.path_time(node)];
            let status = request.call_status()[node];
            format!("{operation}@{replica} {status:?} {:?}", times.map(Nanos::ns))
        };
        let calls: Vec<String> = (0..request.calls()).map(call).collect();
        let head = (request.trace().value(), request.start().unix_ns(), request.is_complete());
        format!("{head:?} {}", calls.join("; "))
    };
    (0..requests.len()).map(line).collect()
}

fn request(slices: Vec<RequestSlice>) -> Requests {
    Requests::from_slices(slices.into_iter().map(Arc::new).collect(), THREADS)
}

const EARLY: [SpanFields; 5] = [
    (7, 1, 0, "buy", "a", 1000, 100),
    (7, 2, 1, "pay", "b", 1010, 40),
    (5, 1, 0, "list", "a", 500, 30),
    (6, 1, 0, "buy", "b", 500, 200),
    (6, 2, 1, "pay", "a", 510, 100),
];

/// Names of 400 operations.
static OPERATIONS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| (0..400).map(|number| &*format!("operation-{number}").leak()).collect());

const LATE: [SpanFields; 3] =
    [(8, 9, 0, "buy", "c", 2000, 80), (8, 8, 9, "pay", "b", 2001, 10), (9, 1, 0, "stock", "c", 1500, 5)];

#[test]
fn a_slice_stores_each_structure_once_and_requests_in_order() {
    let slice = slice(&EARLY);
    assert_eq!((slice.structures.len(), slice.requests.len(), slice.calls.replica.len()), (2, 3, 5));
    assert_eq!(slice.requests.iter().map(|request| request.trace.value()).collect::<Vec<_>>(), [5, 6, 7]);
    assert_eq!(slice.requests.iter().map(|request| request.first_call).collect::<Vec<_>>(), [0, 1, 3]);
    let facts = &slice.facts;
    assert_eq!((facts.traces, facts.spans, facts.rows), (3, 5, 5));
    assert_eq!(facts.extent.map(|(first, last)| (first.unix_ns(), last.unix_ns())), Some((500, 1010)));
    assert_eq!(facts.clocks.pairs().len(), 2);
    assert_eq!(
        described(&request(vec![slice])),
        [
            "(5, 500, true) list@a Ok [30, 30, 30]",
            "(6, 500, true) buy@b Error [100, 200, 100]; pay@a Ok [100, 100, 100]",
            "(7, 1000, true) buy@a Ok [60, 100, 60]; pay@b Ok [40, 40, 40]",
        ]
    );
}

#[test]
fn several_slices_are_queried_as_one_regardless_of_names_and_order() {
    let separate = request(vec![slice(&LATE), slice(&EARLY)]);
    let together = request(vec![slice(&[&EARLY[..], &LATE[..]].concat())]);
    assert_eq!(described(&separate), described(&together));
    assert_eq!((separate.structures().len(), separate.spans(), separate.traces()), (3, 8, 5));
    let merged = RequestSlice::merge([&slice(&LATE), &slice(&EARLY)]);
    assert!(merged.requests.is_sorted_by_key(|request| (request.start, request.trace)));
    assert_eq!(described(&request(vec![merged.clone()])), described(&together));
    let (merged, whole) = (merged.facts, slice(&[&EARLY[..], &LATE[..]].concat()).facts);
    assert_eq!((merged.extent, merged.spans, merged.losses), (whole.extent, whole.spans, whole.losses));
    assert_eq!(separate.clocks().pairs().len(), whole.clocks.pairs().len());
}

#[test]
fn a_window_includes_both_ends() {
    let requests = request(vec![slice(&EARLY), slice(&LATE)]);
    let starts = |since, until| -> Vec<i64> {
        let range = requests.within(Timestamp::from_unix_ns(since), Timestamp::from_unix_ns(until));
        range.iter().map(|request| request.start().unix_ns()).collect()
    };
    assert_eq!(starts(500, 1500), [500, 500, 1000, 1500]);
    assert_eq!(starts(501, 1499), [1000]);
    assert_eq!(starts(3000, 4000), []);
    assert_eq!(starts(1500, 500), []);
}

#[test]
fn spans_and_traces_of_a_window_leave_out_other_requests_of_the_same_slices() {
    let requests = request(vec![slice(&EARLY), slice(&LATE)]);
    let counts = |since, until| {
        let counts = requests.counts_within(since, until);
        (counts.spans, counts.traces)
    };
    let time = Timestamp::from_unix_ns;
    assert_eq!(counts(time(500), time(999)), (3, 2));
    assert_eq!(counts(time(1500), time(2000)), (3, 2));
    assert_eq!(counts(time(3000), time(4000)), (0, 0));
    assert_eq!(counts(Timestamp::MIN, Timestamp::MAX), (8, 5));
}

#[test]
fn a_sample_has_one_in_two_requests_as_they_were_and_only_their_names() {
    let all: Vec<SpanFields> =
        (0..400).map(|trace| (trace, 1, 0, OPERATIONS[trace as usize], "a", 10 * trace as i64, 5)).collect();
    let whole = slice(&all);
    let sample = whole.sample(1);
    assert!(sample.requests.len().abs_diff(200) < 40, "{}", sample.requests.len());
    assert_eq!(
        (sample.names.operations(), sample.structures.len()),
        (sample.requests.len(), sample.requests.len())
    );
    assert_eq!(
        (sample.facts.spans, sample.facts.traces, sample.facts.extent),
        (400, 400, whole.facts.extent)
    );
    let whole = described(&request(vec![whole]));
    assert!(described(&request(vec![sample])).iter().all(|line| whole.contains(line)));
    let early = slice(&EARLY);
    assert_eq!(early.sample(60).facts.clocks.pairs().len(), 2, "with the replicas that they are about");
    assert_eq!(described(&request(vec![early.sample(0)])), described(&request(vec![early])));
}

#[test]
fn traces_that_were_assembled_again_are_removed_from_a_slice() {
    let mut early = slice(&EARLY);
    early.facts.texts.push((TraceId::from_value(6), "order-6".into()));
    let rest = early.retain_traces(|trace| trace.value() != 6);
    assert_eq!((rest.facts.traces, rest.facts.spans, rest.facts.texts.len()), (2, 3, 0));
    let late: Vec<SpanFields> = EARLY[3..].iter().copied().chain([(6, 3, 2, "bank", "b", 520, 60)]).collect();
    let mut again = slice(&late);
    again.facts.texts.push((TraceId::from_value(6), "order-6".into()));
    let whole = request(vec![rest, again]);
    let once = request(vec![slice(&[&EARLY[..3], &late[..]].concat())]);
    assert_eq!(described(&whole), described(&once));
    assert_eq!(whole.spans(), once.spans());
    assert_eq!(whole.trace_text(TraceId::from_value(6)), "order-6");
    assert_eq!(whole.trace_text(TraceId::from_value(7)), "0000000000000007");
}

#[test]
fn files_and_slices_give_the_same_requests() {
    let mut ingest = Ingest::new(IngestSettings::default());
    for &(trace, span, parent, operation, replica, start, length) in EARLY.iter().chain(&LATE) {
        ingest.span(&SpanRecord {
            trace_id: TraceId::from_value(trace),
            trace_text: None,
            span_id: SpanId::new(span).unwrap(),
            parent: SpanId::new(parent),
            service: "shop",
            operation,
            kind: SpanKind::Server,
            status: if length > 100 { Status::Error } else { Status::Ok },
            replica,
            replica_source: ReplicaSource::Host,
            start: Timestamp::from_unix_ns(start),
            inclusive: Nanos::from_ns(length),
            sampling: Sampling::default(),
            attributes: SpanAttributes::default(),
        });
    }
    ingest.lose(Loss::MalformedRecord, &|| "line 3".to_owned());
    let traces = ingest.finish(THREADS);
    let borrowed = Requests::from_trace_table(&traces, THREADS);
    let slices = request(vec![slice(&EARLY), slice(&LATE)]);
    assert_eq!(described(&borrowed), described(&slices));
    let moved = Requests::from_traces(traces, NonZeroUsize::MIN);
    assert_eq!(described(&moved), described(&borrowed));
    assert_eq!(moved.losses().count(Loss::MalformedRecord), 1);
    assert_eq!(moved.assembly_losses().count(Loss::MalformedRecord), 0);
    assert_eq!(moved.identities().collect::<Vec<_>>(), [(ReplicaSource::Host, 8)]);
}

#[test]
fn empty_inputs_are_accepted() {
    let nothing = request(vec![]);
    assert!(nothing.is_empty() && nothing.all().is_empty() && nothing.extent().is_none());
    assert_eq!(request(vec![slice(&[])]).len(), 0);
    assert!(RequestSlice::merge([]).requests.is_empty());
}

#[test]
fn a_summary_counts_by_time_and_category() {
    let summary = SliceSummary::from_slice(&slice(&EARLY), Nanos::from_ns(1000));
    let line = |cell: &laggard_engine::SummaryCell| {
        let category = summary.categories[cell.category as usize];
        let entry = summary.names.operation_key(category.entry).operation;
        assert!(matches!(category.kind, SummaryKind::Shape(_)));
        let counts = (cell.requests, cell.errors, cell.weight, cell.latency_sum_ns);
        (cell.start.unix_ns(), entry.to_owned(), category.positions, counts)
    };
    let mut lines: Vec<_> = summary.cells.iter().map(line).collect();
    lines.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let expected = [
        (0, "buy".to_owned(), 2, (1, 1, 1.0, 200)),
        (0, "list".to_owned(), 1, (1, 0, 1.0, 30)),
        (1000, "buy".to_owned(), 2, (1, 0, 1.0, 100)),
    ];
    assert_eq!(lines, expected);
    assert_eq!((summary.homes.len(), summary.spans), (5, 5));
}

#[test]
fn summaries_of_parts_merge_into_the_summary_of_all() {
    let interval = Nanos::from_ns(300);
    let parts = [slice(&LATE), slice(&EARLY)].map(|slice| SliceSummary::from_slice(&slice, interval));
    let merged = SliceSummary::merge(&parts);
    let whole = SliceSummary::from_slice(&slice(&[&EARLY[..], &LATE[..]].concat()), interval);
    let cells = |summary: &SliceSummary| {
        let mut cells: Vec<_> = (summary.cells.iter())
            .map(|cell| {
                let category = summary.categories[cell.category as usize];
                let entry = summary.names.operation_key(category.entry).operation.to_owned();
                (cell.start, entry, category.kind, cell.requests, cell.latency.clone())
            })
            .map(|cell| format!("{cell:?}"))
            .collect();
        cells.sort();
        cells
    };
    assert_eq!(cells(&merged).len(), 5);
    let kinds = |summary: &SliceSummary| cells(summary).iter().map(|cell| cell.len()).sum::<usize>();
    assert_eq!(kinds(&merged), kinds(&whole));
    assert_eq!(cells(&merged), cells(&whole));
    assert_eq!(
        (merged.extent, merged.spans, merged.homes.len()),
        (whole.extent, whole.spans, whole.homes.len())
    );
}

#[test]
fn a_summary_of_too_many_shapes_pools_the_rarest() {
    let shapes = SliceSummary::SHAPES_MAX as u128 + 5;
    let mut names = Names::new();
    let mut rows = Vec::new();
    // Trees of n calls under one entry, each call of another operation: a shape each; the smallest comes twice.
    let operations: Vec<String> = (0..shapes).map(|index| format!("o{index}")).collect();
    for trace in 0..shapes {
        for copy in 0..if trace == 0 { 2 } else { 1_u128 } {
            let id = TraceId::from_value(1 + trace + copy * 1_000_000);
            rows.push(SpanRow { trace: id, ..row(&mut names, (1, 1, 0, "buy", "a", 10, 50)) });
            let operation = names.operation(OperationKey {
                service: "shop",
                operation: &operations[trace as usize],
                kind: SpanKind::Server,
            });
            rows.push(SpanRow { trace: id, operation, ..row(&mut names, (1, 2, 1, "pay", "a", 11, 5)) });
        }
    }
    let summary = SliceSummary::from_slice(
        &RequestSlice::assemble(names, rows, &TraceAttributes::default(), SliceFacts::default()),
        Nanos::from_secs(1),
    );
    let count = |kind: fn(SummaryKind) -> bool| -> u64 {
        let counted =
            summary.cells.iter().filter(|cell| kind(summary.categories[cell.category as usize].kind));
        counted.map(|cell| cell.requests).sum()
    };
    assert_eq!(count(|kind| kind == SummaryKind::Other), 5);
    assert_eq!(count(|kind| matches!(kind, SummaryKind::Shape(_))), shapes as u64 + 1 - 5);
}
