//! Parts read on other threads against the same records one by one; the memory limit; and rows in a file against rows in memory.

use super::*;
use crate::{Requests, SpillFile};
use laggard_model::{AdjustedCount, Attribute, AttributeText, CallFlag, SpanAttributes, SpanId, Status};
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

fn span(trace: u128, row: u64) -> SpanRecord<'static> {
    SpanRecord {
        trace_id: TraceId::from_value(trace),
        trace_text: None,
        span_id: SpanId::new(row + 1).unwrap(),
        parent: None,
        service: "shop",
        operation: "buy",
        kind: SpanKind::Server,
        status: Status::Unset,
        replica: "pod-1",
        replica_source: ReplicaSource::Host,
        start: Timestamp::from_unix_ns(0),
        inclusive: Nanos::from_ns(1),
        sampling: Sampling::default(),
        attributes: SpanAttributes::default(),
    }
}

#[test]
fn the_limit_applies_to_few_rows_in_many_buckets() {
    let limit = 100 * size_of::<SpanRow>();
    let mut ingest = Ingest::new(IngestSettings { memory_bytes: limit, ..IngestSettings::default() });
    for trace in 1..=1000 {
        ingest.span(&span(trace, 0));
    }
    let traces = ingest.finish(NonZeroUsize::MIN);
    assert!((1..=100).contains(&traces.spans()), "{}", traces.spans());
    assert_eq!(traces.losses().count(Loss::MemoryLimit), 1000 - traces.spans());
    assert!(traces.thinning_factor() >= 8);
}

/// How many distinct names the records of a test have, and what the table may hold.
#[derive(Clone, Copy, Debug)]
struct Scale {
    names: u64,
    values: u64,
    rows_max: usize,
}

fn scales() -> impl Strategy<Value = Scale> {
    let few_or_many = prop_oneof![Just(7_u64), Just(3 * NAMES_MAX as u64)];
    let values = prop_oneof![Just(3_u64), Just(3000_u64)];
    let rows = prop_oneof![Just(usize::MAX / 64), 50_usize..9000];
    (few_or_many, values, rows).prop_map(|(names, values, rows_max)| Scale { names, values, rows_max })
}

/// Record number `row` of a stream that depends on the seed.
fn emit(seed: u64, row: u64, scale: Scale, is_call: bool, sink: &mut dyn Sink) {
    let random = mix(seed, row);
    let pick = |salt: u64, limit: u64| mix(random, salt) % limit;
    let (operation, replica) = (format!("op{}", pick(1, scale.names)), format!("r{}", pick(2, scale.names)));
    let trace = u128::from(pick(3, 800)) + 1;
    let (trace_id, text) = (TraceId::from_value(trace), format!("trace {trace}, {}", pick(4, 2)));
    let time = Timestamp::from_unix_ns(pick(5, 1000) as i64);
    let text = (pick(6, 2) == 0).then_some(&*text);
    if pick(7, 20) == 0 {
        sink.lose(Loss::MalformedRecord, &|| format!("line {row}"));
    }
    if is_call {
        let flag = if pick(8, 2) == 0 { CallFlag::Enter } else { CallFlag::Exit };
        return sink.call(&CallRecord {
            host: &replica,
            time,
            request: trace_id,
            request_text: text,
            fragment: trace_id,
            service: "s",
            operation: &operation,
            flag,
            callee: None,
        });
    }
    let (mut own, mut resource) = (AttributeText::default(), AttributeText::default());
    let tenant = format!("t{}", pick(9, scale.values));
    if pick(10, 3) > 0 {
        own.add(Attribute { key: "tenant", service: "", value: &tenant });
    }
    if pick(11, 3) > 0 {
        resource.add(Attribute { key: "version", service: "s", value: "1" });
    }
    let tail_sampler = (pick(12, 5) == 0).then_some(TailSampler::ALL[0]);
    let adjusted_count = AdjustedCount::new(pick(13, 3) as f64);
    sink.span(&SpanRecord {
        trace_text: text,
        operation: &operation,
        replica: &replica,
        replica_source: ReplicaSource::ALL[pick(14, 3) as usize],
        kind: if pick(15, 2) == 0 { SpanKind::Client } else { SpanKind::Server },
        start: time,
        sampling: Sampling { adjusted_count, source: WeightSource::ALL[pick(16, 3) as usize], tail_sampler },
        attributes: SpanAttributes { span: own.as_str(), resource: resource.as_str(), thread: None },
        ..span(trace, row)
    });
}

fn mix(seed: u64, salt: u64) -> u64 {
    laggard_model::mix64(seed ^ laggard_model::mix64(salt.wrapping_add(0x9E37_79B9)))
}

/// Everything in a table that an answer may depend on.
fn contents(ingest: &Ingest) -> impl PartialEq + std::fmt::Debug {
    let names = &ingest.names;
    let operations: Vec<String> = (0..names.operations())
        .map(|index| format!("{:?}", names.operation_key(OperationId::from_index(index))))
        .collect();
    let replicas: Vec<String> = (0..names.replicas())
        .map(|index| names.replica_name(ReplicaId::from_index(index)).to_owned())
        .collect();
    let mut texts: Vec<_> = ingest.texts.iter().map(|(trace, text)| (*trace, text.clone())).collect();
    texts.sort();
    let sets = (1..=801).map(|trace| ingest.attributes.of(TraceId::from_value(trace)));
    let sets: Vec<String> = sets.map(|set| names.attribute_set_text(set).to_owned()).collect();
    let counts = (ingest.identities, ingest.weight_sources, ingest.tail_samplers, ingest.call_records);
    let dropped = (ingest.outside_window, ingest.thinning.rows_dropped(), ingest.thinning.thinning_factor());
    let spans: Vec<SpanRow> = ingest.spans.iter().flat_map(SpanBucket::rows).collect();
    let rows = (spans, ingest.calls.clone(), ingest.losses.clone());
    ((operations, replicas, texts, sets), (counts, dropped, ingest.is_full, rows))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Parts of any size give the same table as the records one by one, also at every limit.
    #[test]
    fn parts_give_what_single_records_give(
        seed: u64,
        scale in scales(),
        is_call: bool,
        sizes in prop::collection::vec(prop_oneof![0_u64..5, 1000_u64..6000], 1..8),
    ) {
        let settings = IngestSettings {
            memory_bytes: scale.rows_max * size_of::<SpanRow>(),
            since: Timestamp::from_unix_ns(50),
            until: Timestamp::from_unix_ns(950),
        };
        let (mut single, mut joined) = (Ingest::new(settings), Ingest::new(settings));
        let mut idle = joined.part().unwrap();
        let mut row = 0;
        for (index, size) in sizes.iter().enumerate() {
            let rows = row..row + size;
            row = rows.end;
            rows.clone().for_each(|row| emit(seed, row, scale, is_call, &mut single));
            if index % 3 == 2 {
                // One by one, between parts.
                rows.for_each(|row| emit(seed, row, scale, is_call, &mut joined));
                continue;
            }
            rows.clone().for_each(|row| emit(seed, row, scale, is_call, &mut *idle));
            prop_assert_eq!(idle.records(), *size);
            joined.add_part(&mut *idle);
            prop_assert_eq!(idle.records(), 0);
        }
        prop_assert_eq!(contents(&single), contents(&joined));
    }
}

/// Everything in requests that an answer may depend on.
fn described(requests: &Requests) -> Vec<String> {
    let names = requests.names();
    let request = |index| {
        let view = requests.request(index);
        let attributes = names.attribute_set_text(view.attributes());
        let known = (view.trace(), requests.trace_text(view.trace()), view.start(), view.is_complete());
        format!("{known:?} {attributes:?} {:?} {:?}", view.adjusted_count(), view.call_tree())
    };
    let operations = (0..names.operations()).map(|index| names.operation_key(OperationId::from_index(index)));
    let replicas = (0..names.replicas()).map(|index| names.replica_name(ReplicaId::from_index(index)));
    let counts = (requests.spans(), requests.traces(), requests.call_records(), requests.outside_window());
    let sources = (
        requests.identities().collect::<Vec<_>>(),
        requests.weight_sources().collect::<Vec<_>>(),
        requests.tail_samplers().collect::<Vec<_>>(),
    );
    let facts = [
        format!("{:?} {:?}", operations.collect::<Vec<_>>(), replicas.collect::<Vec<_>>()),
        format!("{counts:?} {sources:?} {:?} {}", requests.extent(), requests.thinning_factor()),
        format!("{:?} {:?}", requests.losses(), requests.clocks()),
    ];
    facts.into_iter().chain((0..requests.len()).map(request)).collect()
}

fn threads() -> NonZeroUsize {
    NonZeroUsize::new(2).expect("not 0")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Rows in a file, of several tables that are merged, give the same requests as rows in memory.
    #[test]
    fn spilled_rows_give_the_requests_of_rows_in_memory(
        seed: u64,
        scale in scales(),
        is_call: bool,
        rows_max in prop_oneof![Just(1_usize), 3000_usize..20_000],
        sizes in prop::collection::vec(prop_oneof![0_u64..5, 1000_u64..9000], 1..6),
        nested in 0_usize..6,
    ) {
        let roomy = IngestSettings { memory_bytes: usize::MAX / 64, ..IngestSettings::default() };
        let tight = IngestSettings { memory_bytes: rows_max * size_of::<SpanRow>(), ..roomy };
        let file = Arc::new(SpillFile::new(std::env::temp_dir()));
        let mut whole: Vec<Ingest> = Vec::new();
        let mut spilling: Vec<Ingest> = Vec::new();
        let mut row = 0;
        for size in &sizes {
            let (mut in_memory, mut in_file) = (Ingest::new(roomy), Ingest::with_spill(tight, file.clone()));
            for row in row..row + size {
                emit(seed, row, scale, is_call, &mut in_memory);
                emit(seed, row, scale, is_call, &mut in_file);
            }
            row += size;
            whole.push(in_memory);
            spilling.push(in_file);
        }
        let spilled: u64 = spilling.iter().map(Ingest::spilled_bytes).sum();
        prop_assert!(spilled > 0 || sizes.iter().all(|&size| (size as usize) < rows_max + COUNT_EVERY));
        // The last tables are merged with each other before the first ones.
        let joined = |mut tables: Vec<Ingest>| {
            let last = tables.split_off(nested.min(tables.len()));
            let join = |tables: Vec<Ingest>| tables.into_iter().reduce(|mut first, later| {
                first.merge(later);
                first
            });
            join([join(tables), join(last)].into_iter().flatten().collect()).expect("at least one")
        };
        let whole = Requests::from_ingest(joined(whole), threads()).unwrap();
        let spilling = Requests::from_ingest(joined(spilling), threads()).unwrap();
        let (whole, spilling) = (described(&whole), described(&spilling));
        prop_assert_eq!(whole.len(), spilling.len());
        for (whole, spilling) in whole.iter().zip(&spilling) {
            prop_assert_eq!(whole, spilling);
        }
    }
}

#[test]
fn without_a_folder_for_the_file_there_is_an_error_and_no_answer() {
    let settings = IngestSettings { memory_bytes: 1 << 16, ..IngestSettings::default() };
    let file = Arc::new(SpillFile::new(PathBuf::from("/nowhere")));
    let mut ingest = Ingest::with_spill(settings, file);
    for trace in 1..=10_000 {
        ingest.span(&span(trace, 0));
    }
    let error = Requests::from_ingest(ingest, threads()).unwrap_err().to_string();
    assert!(error.contains("/nowhere"), "{error}");
}
