//! Partial results of units: the laws through the encoding, damaged bytes, and what is taken at which level.

use laggard_engine::{
    Count, CountedKinds, Gathering, GatheringError, Levels, PartError, RequestSlice, Requests,
    SelectedRequests, SliceFacts, StartRange, Take, TraceAttributes, UnitFold, UnitId, contract, encode_part,
};
use laggard_model::{
    AdjustedCount, AttributeSetId, Loss, Names, Nanos, OperationId, OperationKey, ReplicaId, SpanId,
    SpanKind, SpanRow, Status, Timestamp, TraceId,
};
use laggard_wire::PackedReader;
use proptest::prelude::*;
use std::num::NonZeroUsize;
use std::sync::Arc;

const THREADS: NonZeroUsize = NonZeroUsize::new(2).expect("not zero");
const EVERYTHING: StartRange = Timestamp::MIN..=Timestamp::MAX;

/// One trace: its start, what enters, and its calls as (caller, operation, replica, offset, length).
#[derive(Clone, Debug)]
struct TraceFields {
    start: i64,
    entry: u8,
    calls: Vec<(u8, u8, u8, u8, u32)>,
    /// Whether a span whose parent is missing belongs to it.
    orphan: bool,
    adjusted_count: Option<u8>,
    tenant: u8,
}

fn trace() -> impl Strategy<Value = TraceFields> {
    let call = (any::<u8>(), 0..4_u8, 0..3_u8, any::<u8>(), 0..1_000_000_u32);
    let calls = prop::collection::vec(call, 0..7);
    (-50..50_i64, 0..3_u8, calls, any::<bool>(), prop::option::of(1..9_u8), 0..4_u8).prop_map(
        |(start, entry, calls, orphan, adjusted_count, tenant)| TraceFields {
            start,
            entry,
            calls,
            orphan,
            adjusted_count,
            tenant,
        },
    )
}

/// The unit of some traces. Trace ids are in no other unit; operations and replicas have the same names in all, with other handles.
fn unit(number: usize, traces: &[TraceFields]) -> RequestSlice {
    let mut names = Names::new();
    let mut rows = Vec::new();
    let mut attributes = Vec::new();
    let mut facts = SliceFacts::default();
    for (index, fields) in traces.iter().enumerate() {
        let trace = TraceId::from_value(((number as u128) << 64) | (index as u128 + 1));
        let mut row =
            |span: u64, parent: u64, operation: String, replica: u8, start: i64, length: u64| SpanRow {
                trace,
                span: SpanId::new(span).unwrap(),
                parent: SpanId::new(parent),
                start: Timestamp::from_unix_ns(start),
                inclusive: Nanos::from_ns(length),
                operation: names.operation(OperationKey {
                    service: if replica == 0 { "shop" } else { "db" },
                    operation: &operation,
                    kind: SpanKind::Server,
                }),
                replica: names.replica(&format!("r{replica}")),
                kind: SpanKind::Server,
                status: Status::from_number((length % 3) as u8).unwrap(),
                incomplete: false,
                adjusted_count: fields.adjusted_count.and_then(|count| AdjustedCount::new(f64::from(count))),
            };
        rows.push(row(1, 0, format!("entry{}", fields.entry), 0, fields.start, 10_000_000));
        for (call, &(caller, operation, replica, offset, length)) in fields.calls.iter().enumerate() {
            let parent = 1 + u64::from(caller) % (call as u64 + 1);
            let start = fields.start + i64::from(offset);
            rows.push(row(
                2 + call as u64,
                parent,
                format!("o{operation}"),
                replica,
                start,
                u64::from(length),
            ));
        }
        if fields.orphan {
            rows.push(row(90, 91, "lost".to_owned(), 1, fields.start, 5));
        }
        attributes.push((trace, format!("tenant={}", fields.tenant)));
        if fields.tenant == 1 {
            facts.texts.push((trace, format!("text-{number}-{index}").into()));
        }
    }
    facts.losses.add_many(Loss::MalformedRecord, traces.len() as u64, || format!("line 3 of unit {number}"));
    let texts: Vec<(TraceId, Box<str>)> =
        attributes.into_iter().map(|(trace, text)| (trace, text.into())).collect();
    let attributes = TraceAttributes::from_texts(&texts, &mut names);
    RequestSlice::assemble(names, rows, &attributes, facts)
}

fn units() -> impl Strategy<Value = Vec<RequestSlice>> {
    prop::collection::vec(prop::collection::vec(trace(), 0..12), 0..5)
        .prop_map(|units| units.iter().enumerate().map(|(number, traces)| unit(number, traces)).collect())
}

/// Everything in a slice, in names instead of handles.
fn described(slice: &RequestSlice) -> String {
    let names = &slice.names;
    let requests: Vec<String> = (slice.requests.iter())
        .map(|request| {
            let tree = &slice.structures[request.structure as usize];
            let calls: Vec<String> = (0..tree.len())
                .map(|node| {
                    let position = request.first_call as usize + node;
                    let calls = &slice.calls;
                    let key = names.operation_key(tree.operation[node]);
                    let times = [
                        calls.self_time.get(position),
                        calls.inclusive_time.get(position),
                        calls.path_time.get(position),
                    ];
                    let replica = names.replica_name(calls.replica[position]);
                    let place = (tree.parent[node], tree.order_group[node], calls.status[position]);
                    format!("{key:?}@{replica} {place:?} {times:?}")
                })
                .collect();
            let count = request.adjusted_count.map(AdjustedCount::get);
            let attributes = names.attribute_set_text(request.attributes);
            let head = (request.trace, request.start, request.status, request.complete, count, attributes);
            format!("{head:?}: {calls:?}")
        })
        .collect();
    let operations: Vec<String> = (0..names.operations())
        .map(|index| format!("{:?}", names.operation_key(OperationId::from_index(index))))
        .collect();
    let replicas: Vec<&str> =
        (0..names.replicas()).map(|index| names.replica_name(ReplicaId::from_index(index))).collect();
    let sets: Vec<&str> = (0..names.attribute_sets())
        .map(|index| names.attribute_set_text(AttributeSetId::from_index(index)))
        .collect();
    let facts = SliceFacts { clocks: Default::default(), ..slice.facts.clone() };
    let clocks = slice.facts.clocks.pairs();
    format!("{requests:#?} {operations:?} {replicas:?} {sets:?} {facts:?} {clocks:?}")
}

fn all_described(selected: &SelectedRequests) -> Vec<String> {
    selected.slices().iter().map(described).collect()
}

fn count() -> Count {
    let middle = Timestamp::from_unix_ns(-20)..=Timestamp::from_unix_ns(20);
    Count { read: vec![EVERYTHING], windows: vec![EVERYTHING, middle] }
}

fn counted(count: &Count, units: &[RequestSlice]) -> CountedKinds {
    let mut counts = count.start();
    units.iter().for_each(|slice| count.merge(&mut counts, count.unit(slice)));
    counts
}

fn selected(take: &Take, units: &[RequestSlice]) -> SelectedRequests {
    let mut selected = take.start();
    units.iter().for_each(|slice| take.merge(&mut selected, take.unit(slice)));
    selected
}

fn take_all() -> Take {
    Take { read: vec![EVERYTHING], levels: Levels::everything() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn both_rounds_obey_the_laws_through_their_encoding(units in units(), calls_max in 0..200_u64) {
        contract::check_units(&count(), &units, CountedKinds::clone);
        contract::check_units(&take_all(), &units, all_described);
        let levels = counted(&count(), &units).levels(calls_max);
        contract::check_units(&Take { levels, ..take_all() }, &units, all_described);
    }

    #[test]
    fn taking_everything_changes_no_unit(units in units()) {
        let expected: Vec<String> = units.iter().map(described).collect();
        prop_assert_eq!(all_described(&selected(&take_all(), &units)), expected);
    }

    #[test]
    fn the_requests_that_were_counted_are_selected(units in units(), calls_max in 0..200_u64) {
        let (count, take) = (count(), take_all());
        let counts = counted(&count, &units);
        let all = Requests::from_slices(units.iter().cloned().map(Arc::new).collect(), THREADS);
        prop_assert_eq!(counts.all().requests, all.len() as u64);
        let take = Take { levels: counts.levels(calls_max), ..take };
        let requests = Requests::from_selected(selected(&take, &units), &take, (&count, &counts), THREADS);
        let calls: usize = requests.all().iter().map(|request| request.calls()).sum();
        let expected = counts.selected(&take.levels);
        prop_assert_eq!((requests.len() as u64, calls as u64), (expected.requests, expected.calls));
        prop_assert!(expected.calls <= calls_max || take.levels.is_everything());
        // Figures about all requests do not change.
        for window in [EVERYTHING, count.windows[1].clone()] {
            let (since, until) = window.into_inner();
            prop_assert_eq!(requests.counts_within(since, until), all.counts_within(since, until));
        }
        prop_assert_eq!(requests.losses(), all.losses());
        prop_assert_eq!(requests.names().replicas(), all.names().replicas());
        prop_assert_eq!(requests.thinning().is_some(), !take.levels.is_everything());
        let fits = requests.thinning().is_none_or(|thinning| thinning.selected.calls < thinning.all.calls);
        prop_assert!(fits);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = count().decode(&mut PackedReader::new(&bytes));
        let _ = take_all().decode(&mut PackedReader::new(&bytes));
    }

    #[test]
    fn changed_bytes_are_decoded_or_refused_without_a_checksum(
        units in units(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = Vec::new();
        take_all().encode(&selected(&take_all(), &units), &mut bytes);
        for (position, byte) in changes {
            let position = position.index(bytes.len());
            bytes[position] = byte;
        }
        if let Ok(selected) = take_all().decode(&mut PackedReader::new(&bytes)) {
            let _ = Requests::from_slices(selected.into_slices().into_iter().map(Arc::new).collect(), THREADS);
        }
    }
}

fn plain(start: i64, calls: usize) -> TraceFields {
    let calls = (0..calls).map(|_| (0, 1, 1, 1, 100)).collect();
    TraceFields { start, entry: 0, calls, orphan: false, adjusted_count: None, tenant: 0 }
}

#[test]
fn only_requests_of_the_times_that_are_read_are_selected() {
    let units = [unit(0, &[plain(1, 0), plain(5, 2)]), unit(1, &[plain(7, 0), plain(9, 1)])];
    let read = vec![Timestamp::from_unix_ns(5)..=Timestamp::from_unix_ns(7)];
    let count = Count { read: read.clone(), windows: read.clone() };
    let counts = counted(&count, &units);
    assert_eq!((counts.all().requests, counts.all().calls), (2, 4));
    let take = Take { read, levels: counts.levels(4) };
    let requests = Requests::from_selected(selected(&take, &units), &take, (&count, &counts), THREADS);
    assert_eq!((requests.len(), requests.thinning()), (2, None));
    let inside = requests.counts_within(Timestamp::from_unix_ns(5), Timestamp::from_unix_ns(7));
    assert_eq!((inside.spans, inside.traces), (4, 2));
}

#[test]
fn a_thinned_request_counts_for_those_that_were_left_out() {
    let frequent: Vec<TraceFields> = (0..4_000).map(|start| plain(start, 3)).collect();
    let rare = TraceFields { entry: 1, adjusted_count: Some(3), ..plain(17, 2) };
    let units = [unit(0, &frequent), unit(1, &[rare])];
    let count = Count { read: vec![EVERYTHING], windows: vec![] };
    let counts = counted(&count, &units);
    let take = Take { levels: counts.levels(5_000), ..take_all() };
    let requests = Requests::from_selected(selected(&take, &units), &take, (&count, &counts), THREADS);
    let thinning = requests.thinning().unwrap();
    assert_eq!((thinning.all.calls, thinning.one_in_most), (16_003, 4));
    let weights: Vec<f32> = requests.all().iter().map(|request| request.weight(None)).collect();
    assert_eq!(
        weights.iter().filter(|&&weight| weight == 3.0).count(),
        1,
        "the rare one is there, as sampled"
    );
    let frequent = weights.iter().filter(|&&weight| weight == 4.0).count();
    assert!((850..1_150).contains(&frequent) && frequent + 1 == weights.len(), "{frequent} of 4,000");
    let assumed = AdjustedCount::new(10.0);
    assert_eq!(requests.all().iter().filter(|request| request.weight(assumed) == 40.0).count(), frequent);
}

#[test]
fn a_fair_sample_has_the_share_of_a_rare_kind() {
    let frequent = (0..8_000).map(|start| plain(start, 3));
    let rare = (0..800).map(|start| TraceFields { entry: 1, ..plain(10_000 + start, 2) });
    let units = [unit(0, &frequent.chain(rare).collect::<Vec<TraceFields>>())];
    let count = Count { read: vec![EVERYTHING], windows: vec![] };
    let counts = counted(&count, &units);
    let take = Take { levels: counts.levels(12_000), ..take_all() };
    let requests = Requests::from_selected(selected(&take, &units), &take, (&count, &counts), THREADS);
    let of_kind = |calls: usize| {
        let all = requests.all();
        let numbers: Vec<usize> =
            all.iter().filter(|request| request.calls() == calls).map(|request| request.number()).collect();
        let fair = numbers.iter().filter_map(|&number| requests.fair_factor(number));
        (numbers.len(), fair.collect::<Vec<f32>>())
    };
    let ((frequent, frequent_fair), (rare, rare_fair)) = (of_kind(4), of_kind(3));
    assert_eq!((frequent_fair.len(), rare), (frequent, 800), "the rare ones are taken whole");
    assert!(
        frequent_fair.iter().all(|&factor| factor == 1.0) && rare_fair.iter().all(|&factor| factor == 4.0)
    );
    assert!((150..250).contains(&rare_fair.len()), "{} of 800", rare_fair.len());
}

#[test]
fn units_are_named_where_results_do_not_fit() {
    let (count, units) = (count(), [unit(0, &[plain(1, 0)]), unit(1, &[])]);
    let ids = [UnitId::Segment(8), UnitId::LateTraces(0), UnitId::Segment(7)];
    let part = |ids: &[UnitId]| encode_part(&count, ids, &count.unit(&units[0]));
    let mut gathering = Gathering::new(&count, ids);
    let unknown = gathering.deliver(&part(&[UnitId::Segment(9)]));
    assert_eq!(unknown, Err(GatheringError::Unknown(UnitId::Segment(9))));
    let jumped = gathering.deliver(&part(&[UnitId::LateTraces(0), UnitId::Segment(8)]));
    assert_eq!(jumped, Err(GatheringError::OutOfOrder(UnitId::Segment(8))));
    assert_eq!(gathering.deliver(&part(&[UnitId::LateTraces(0), UnitId::Segment(7)])), Ok(()));
    let overlapping = gathering.deliver(&part(&[UnitId::Segment(7), UnitId::Segment(8)]));
    assert_eq!(overlapping, Err(GatheringError::Twice(UnitId::Segment(7))));
    let lost = gathering.finish().unwrap_err();
    assert_eq!(lost.to_string(), "there is no result of segment 8");
    let nothing = Gathering::new(&count, ids).finish().unwrap_err();
    assert_eq!(
        nothing.to_string(),
        "there is no result of 3 units, the first of which is range 0 of late traces"
    );
}

#[test]
fn answers_to_other_questions_and_of_other_versions_are_refused() {
    let take = take_all();
    let other = encode_part(&count(), &[UnitId::Segment(1)], &count().start());
    let deliver = |part: &[u8]| Gathering::new(&take, [UnitId::Segment(1)]).deliver(part);
    assert_eq!(deliver(&other), Err(GatheringError::Part(PartError::Kind(Count::KIND))));
    let mut newer = encode_part(&take, &[UnitId::Segment(1)], &take.start());
    newer[0] = 200;
    let contents = newer.len() - 4;
    let checksum = crc32c::crc32c(&newer[..contents]).to_le_bytes();
    newer[contents..].copy_from_slice(&checksum);
    assert_eq!(deliver(&newer), Err(GatheringError::Part(PartError::Version(200))));
    assert_eq!(deliver(&[]), Err(GatheringError::Part(PartError::Damaged)));
}
