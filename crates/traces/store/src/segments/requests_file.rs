//! The file of requests: one row per request, by start, then trace; facts about their traces are in its metadata.

use super::columns;
use super::error::SegmentError;
use super::import_notes::StoredLosses;
use super::name_columns::{NameColumns, read_statuses, trace_at, trace_column, trace_text_column};
use super::table::{self, BATCH_ROWS, Column, EncodedFile, FileRanges, TableWriter};
use arrow_array::types::{Float32Type, Int64Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Int64Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::DataType;
use laggard_assembly::{ClockAgreement, ClockBounds};
use laggard_engine::{RequestSlice, SliceFacts, SlicedRequest};
use laggard_model::{AdjustedCount, AttributeSetId, Names, Timestamp, TraceId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Metadata key of the facts about the traces.
const FACTS_KEY: &str = "laggard.facts";

/// Rows of one row group.
const ROWS_PER_GROUP: usize = 1 << 20;

fn request_columns() -> [Column; 14] {
    [
        Column::trace(),
        Column::plain("trace_text", DataType::Utf8).optional(),
        Column::number("start_ns", DataType::Int64),
        Column::number("latency_ns", DataType::UInt64).derived(),
        Column::text("service").derived(),
        Column::text("operation").derived(),
        Column::text("kind").derived(),
        Column::text("status"),
        Column::plain("complete", DataType::Boolean),
        Column::plain("adjusted_count", DataType::Float32).optional(),
        Column::number("structure", DataType::UInt32),
        Column::number("first_call", DataType::UInt32),
        Column::number("calls", DataType::UInt32).derived(),
        Column::plain("attributes", DataType::Utf8).optional().dictionary(),
    ]
}

/// Writes the requests of a slice.
pub(crate) fn encode(slice: &RequestSlice) -> Result<EncodedFile, SegmentError> {
    let mut writer = TableWriter::new(&request_columns(), table::properties(ROWS_PER_GROUP))?;
    let known = NameColumns::new(&slice.names);
    let mut texts = slice.facts.texts.clone();
    texts.sort_by_key(|(trace, _)| *trace);
    for requests in slice.requests.chunks(BATCH_ROWS) {
        writer.write(column_values(slice, requests, &known, &texts)?)?;
    }
    let facts = StoredFacts::new(&slice.facts, &slice.names);
    writer.add_metadata(
        FACTS_KEY,
        serde_json::to_string(&facts).expect("facts have no map whose keys are not texts"),
    );
    writer.finish()
}

fn column_values(
    slice: &RequestSlice,
    requests: &[SlicedRequest],
    known: &NameColumns,
    texts: &[(TraceId, Box<str>)],
) -> Result<Vec<ArrayRef>, SegmentError> {
    let names = &slice.names;
    let entry = |request: &SlicedRequest| slice.structures[request.structure as usize].operation[0];
    let keys = |key: &dyn Fn(&SlicedRequest) -> usize| requests.iter().map(|row| key(row) as i32).collect();
    let latency = |row: &SlicedRequest| slice.calls.inclusive_time.get(row.first_call as usize).ns();
    let attributes =
        |row: &SlicedRequest| Some(names.attribute_set_text(row.attributes)).filter(|text| !text.is_empty());
    let numbers = |number: &dyn Fn(&SlicedRequest) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(requests.iter().map(number)))
    };
    Ok(vec![
        trace_column(requests.iter().map(|row| row.trace))?,
        trace_text_column(requests.iter().map(|row| row.trace), texts),
        Arc::new(Int64Array::from_iter_values(requests.iter().map(|row| row.start.unix_ns()))),
        Arc::new(UInt64Array::from_iter_values(requests.iter().map(latency))),
        columns::text_column(keys(&|row| names.service_of(entry(row)).index()), &known.services)?,
        columns::text_column(keys(&|row| entry(row).index()), &known.operations)?,
        columns::text_column(keys(&|row| names.operation_key(entry(row)).kind as usize), &known.kinds)?,
        columns::text_column(keys(&|row| row.status as usize), &known.statuses)?,
        Arc::new(BooleanArray::from_iter(requests.iter().map(|row| Some(row.complete)))),
        Arc::new(
            (requests.iter()).map(|row| row.adjusted_count.map(AdjustedCount::get)).collect::<Float32Array>(),
        ),
        numbers(&|row| row.structure),
        numbers(&|row| row.first_call),
        numbers(&|row| slice.structures[row.structure as usize].len() as u32),
        Arc::new(StringArray::from_iter(requests.iter().map(attributes))),
    ])
}

/// Contents of the file of requests.
#[derive(Debug, Default)]
pub(crate) struct DecodedRequests {
    pub(crate) requests: Vec<SlicedRequest>,
    /// Handles refer to `names`.
    pub(crate) facts: SliceFacts,
}

/// Reads requests; replicas named in the facts, and attributes, are added to `names`.
pub(crate) fn decode(ranges: FileRanges, names: &mut Names) -> Result<DecodedRequests, SegmentError> {
    let metadata = table::footer(&ranges)?;
    let facts = table::metadata_text(&metadata, FACTS_KEY)
        .ok_or_else(|| SegmentError::damaged("has no facts about its traces"))?;
    let facts: StoredFacts =
        serde_json::from_str(facts).map_err(|error| SegmentError::damaged(format!("facts: {error}")))?;
    let rows = metadata.metadata().file_metadata().num_rows();
    let mut out = DecodedRequests { requests: Vec::new(), facts: facts.read(names) };
    out.requests.reserve(usize::try_from(rows).unwrap_or(0));
    for batch in table::batches(ranges, metadata, &request_columns(), None)? {
        add_batch(&mut out, &batch?, names)?;
    }
    Ok(out)
}

/// Reads only the traces of requests, ascending, each once.
pub(crate) fn decode_traces(ranges: FileRanges) -> Result<Vec<TraceId>, SegmentError> {
    let metadata = table::footer(&ranges)?;
    let mut out = Vec::new();
    for batch in table::batches(ranges, metadata, &[Column::trace()], None)? {
        let batch = batch?;
        let traces = columns::traces(&batch, "trace")?;
        out.extend((0..batch.num_rows()).map(|index| trace_at(traces, index)));
    }
    out.sort_unstable();
    out.dedup();
    out.shrink_to_fit();
    Ok(out)
}

fn add_batch(out: &mut DecodedRequests, batch: &RecordBatch, names: &mut Names) -> Result<(), SegmentError> {
    let traces = columns::traces(batch, "trace")?;
    let texts = columns::optional_texts(batch, "trace_text")?;
    let starts = columns::numbers::<Int64Type>(batch, "start_ns")?;
    let status = columns::texts(batch, "status")?;
    let statuses = read_statuses(status.values)?;
    let complete = columns::booleans(batch, "complete")?;
    let adjusted = columns::optional_numbers::<Float32Type>(batch, "adjusted_count")?;
    let structures = columns::numbers::<UInt32Type>(batch, "structure")?;
    let first_calls = columns::numbers::<UInt32Type>(batch, "first_call")?;
    let attributes = columns::optional_texts_if_present(batch, "attributes")?;
    for index in 0..batch.num_rows() {
        let trace = trace_at(traces, index);
        let count = adjusted.is_valid(index).then(|| f64::from(adjusted.value(index)));
        out.requests.push(SlicedRequest {
            start: Timestamp::from_unix_ns(starts[index]),
            trace,
            structure: structures[index],
            first_call: first_calls[index],
            status: statuses[status.keys[index] as usize],
            complete: complete.value(index),
            adjusted_count: count.and_then(AdjustedCount::new),
            attributes: attributes
                .filter(|column| column.is_valid(index))
                .map_or_else(AttributeSetId::default, |column| names.attribute_set(column.value(index))),
        });
        let known = out.facts.texts.last().is_some_and(|(last, _)| *last == trace);
        if texts.is_valid(index) && !known {
            out.facts.texts.push((trace, texts.value(index).into()));
        }
    }
    Ok(())
}

/// Facts of assembly about the traces of a segment, as stored.
#[derive(Serialize, Deserialize)]
struct StoredFacts {
    traces: u64,
    rows: u64,
    spans: u64,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    losses: StoredLosses,
    /// Names behind the numbers of `clocks`.
    replicas: Vec<String>,
    /// Caller, callee, bounds of the difference of their clocks in nanoseconds, calls.
    clocks: Vec<ClockPair>,
    calls_beyond_limit: u64,
}

/// Bounds of the difference of two clocks.
#[derive(Serialize, Deserialize)]
struct ClockPair(usize, usize, i64, i64, u64);

impl StoredFacts {
    fn new(facts: &SliceFacts, names: &Names) -> StoredFacts {
        let mut numbers_by_replica = BTreeMap::new();
        let mut replicas = Vec::new();
        let mut number_of = |replica| {
            *numbers_by_replica.entry(replica).or_insert_with(|| {
                replicas.push(names.replica_name(replica).to_owned());
                replicas.len() - 1
            })
        };
        let clocks = (facts.clocks.pairs().into_iter())
            .map(|((caller, callee), bounds)| {
                ClockPair(number_of(caller), number_of(callee), bounds.low_ns, bounds.high_ns, bounds.calls)
            })
            .collect();
        StoredFacts {
            traces: facts.traces,
            rows: facts.rows,
            spans: facts.spans,
            first_ns: facts.extent.map(|(first, _)| first.unix_ns()),
            last_ns: facts.extent.map(|(_, last)| last.unix_ns()),
            losses: StoredLosses::new(&facts.losses),
            replicas,
            clocks,
            calls_beyond_limit: facts.clocks.calls_beyond_limit,
        }
    }

    fn read(self, names: &mut Names) -> SliceFacts {
        let replicas: Vec<_> = self.replicas.iter().map(|name| names.replica(name)).collect();
        let mut clocks = ClockAgreement::default();
        clocks.calls_beyond_limit = self.calls_beyond_limit;
        for ClockPair(caller, callee, low_ns, high_ns, calls) in self.clocks {
            if let (Some(&caller), Some(&callee)) = (replicas.get(caller), replicas.get(callee)) {
                clocks.add_bounds((caller, callee), ClockBounds { low_ns, high_ns, calls });
            }
        }
        let time = Timestamp::from_unix_ns;
        SliceFacts {
            traces: self.traces,
            rows: self.rows,
            spans: self.spans,
            extent: self.first_ns.map(time).zip(self.last_ns.map(time)),
            losses: self.losses.read(),
            clocks,
            ..SliceFacts::default()
        }
    }
}
