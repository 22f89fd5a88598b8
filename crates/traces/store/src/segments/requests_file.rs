//! The file of requests: a row a request, by start, then trace; what is told of their traces is in its metadata.

use super::columns;
use super::failure::Failure;
use super::name_columns::{NameColumns, read_statuses, trace_at, trace_column, trace_text_column};
use super::table::{self, BATCH_ROWS, Encoded, Pieces, TableWriter, field, text_type, trace_type};
use arrow_array::types::{Float32Type, Int64Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Int64Array, RecordBatch, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, SchemaRef};
use laggard_assembly::{ClockAgreement, ClockBounds};
use laggard_engine::{RequestSlice, SliceFacts, SlicedRequest};
use laggard_model::{AdjustedCount, Loss, Losses, Names, Timestamp, TraceId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Key of what is told of the traces.
const FACTS_KEY: &str = "laggard.facts";

/// Rows of one row group.
const ROWS_PER_GROUP: usize = 1 << 20;

fn request_schema() -> SchemaRef {
    table::schema(vec![
        field("trace", trace_type(), false),
        field("trace_text", DataType::Utf8, true),
        field("start_ns", DataType::Int64, false),
        field("latency_ns", DataType::UInt64, false),
        field("service", text_type(), false),
        field("operation", text_type(), false),
        field("kind", text_type(), false),
        field("status", text_type(), false),
        field("complete", DataType::Boolean, false),
        field("adjusted_count", DataType::Float32, true),
        field("form", DataType::UInt32, false),
        field("first_call", DataType::UInt32, false),
        field("calls", DataType::UInt32, false),
    ])
}

/// Columns that are read; the others follow from them and are for other programs.
const COLUMNS: [&str; 8] =
    ["trace", "trace_text", "start_ns", "status", "complete", "adjusted_count", "form", "first_call"];

/// Writes the requests of a slice.
pub(crate) fn encode(slice: &RequestSlice) -> Result<Encoded, Failure> {
    let properties = table::properties(ROWS_PER_GROUP);
    let properties = table::with_dictionaries(properties, &["service", "operation", "kind", "status"]);
    let counted = ["start_ns", "latency_ns", "form", "first_call", "calls"];
    let properties = table::with_deltas(properties, &counted);
    let mut writer = TableWriter::new(request_schema(), properties.build())?;
    let known = NameColumns::new(&slice.names);
    let mut texts = slice.facts.texts.clone();
    texts.sort_by_key(|(trace, _)| *trace);
    for requests in slice.requests.chunks(BATCH_ROWS) {
        writer.write(request_columns(slice, requests, &known, &texts)?)?;
    }
    let facts = Facts::new(&slice.facts, &slice.names);
    writer
        .tell(FACTS_KEY, serde_json::to_string(&facts).expect("facts have no map whose keys are not texts"));
    writer.finish()
}

fn request_columns(
    slice: &RequestSlice,
    requests: &[SlicedRequest],
    known: &NameColumns,
    texts: &[(TraceId, Box<str>)],
) -> Result<Vec<ArrayRef>, Failure> {
    let names = &slice.names;
    let entry = |request: &SlicedRequest| slice.forms[request.form as usize].operation[0];
    let keys = |key: &dyn Fn(&SlicedRequest) -> usize| requests.iter().map(|row| key(row) as i32).collect();
    let latency = |row: &SlicedRequest| slice.calls.inclusive_time[row.first_call as usize].ns();
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
        numbers(&|row| row.form),
        numbers(&|row| row.first_call),
        numbers(&|row| slice.forms[row.form as usize].len() as u32),
    ])
}

/// What the file of requests holds.
#[derive(Debug, Default)]
pub(crate) struct RequestTable {
    pub(crate) requests: Vec<SlicedRequest>,
    /// Handles are in the names that were handed in.
    pub(crate) facts: SliceFacts,
}

/// Reads requests; replicas that the facts speak of are added to `names`.
pub(crate) fn decode(pieces: Pieces, names: &mut Names) -> Result<RequestTable, Failure> {
    let metadata = table::footer(&pieces)?;
    let facts = table::told(&metadata, FACTS_KEY)
        .ok_or_else(|| Failure::damaged("does not tell what is known of its traces"))?;
    let facts: Facts =
        serde_json::from_str(facts).map_err(|error| Failure::damaged(format!("facts: {error}")))?;
    let rows = metadata.metadata().file_metadata().num_rows();
    let mut out = RequestTable { requests: Vec::new(), facts: facts.read(names) };
    out.requests.reserve(usize::try_from(rows).unwrap_or(0));
    for batch in table::batches(pieces, metadata, &COLUMNS, None)? {
        add_batch(&mut out, &batch?)?;
    }
    Ok(out)
}

fn add_batch(out: &mut RequestTable, batch: &RecordBatch) -> Result<(), Failure> {
    let traces = columns::traces(batch, "trace")?;
    let texts = columns::optional_texts(batch, "trace_text")?;
    let starts = columns::numbers::<Int64Type>(batch, "start_ns")?;
    let status = columns::texts(batch, "status")?;
    let statuses = read_statuses(status.values)?;
    let complete = columns::booleans(batch, "complete")?;
    let adjusted = columns::optional_numbers::<Float32Type>(batch, "adjusted_count")?;
    let forms = columns::numbers::<UInt32Type>(batch, "form")?;
    let first_calls = columns::numbers::<UInt32Type>(batch, "first_call")?;
    for at in 0..batch.num_rows() {
        let trace = trace_at(traces, at);
        let count = adjusted.is_valid(at).then(|| f64::from(adjusted.value(at)));
        out.requests.push(SlicedRequest {
            start: Timestamp::from_unix_ns(starts[at]),
            trace,
            form: forms[at],
            first_call: first_calls[at],
            status: statuses[status.keys[at] as usize],
            complete: complete.value(at),
            adjusted_count: count.and_then(AdjustedCount::new),
        });
        let known = out.facts.texts.last().is_some_and(|(last, _)| *last == trace);
        if texts.is_valid(at) && !known {
            out.facts.texts.push((trace, texts.value(at).into()));
        }
    }
    Ok(())
}

/// What assembly learned of the traces of a segment, as text.
#[derive(Serialize, Deserialize)]
struct Facts {
    traces: u64,
    rows: u64,
    spans: u64,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    losses: BTreeMap<String, (u64, String)>,
    /// Names behind the numbers of `clocks`.
    replicas: Vec<String>,
    /// Caller, callee, bounds of the difference of their clocks in nanoseconds, calls.
    clocks: Vec<ClockPair>,
    calls_beyond_limit: u64,
}

/// Bounds of the difference of two clocks.
#[derive(Serialize, Deserialize)]
struct ClockPair(usize, usize, i64, i64, u64);

impl Facts {
    fn new(facts: &SliceFacts, names: &Names) -> Facts {
        let mut places = BTreeMap::new();
        let mut replicas = Vec::new();
        let mut place = |replica| {
            *places.entry(replica).or_insert_with(|| {
                replicas.push(names.replica_name(replica).to_owned());
                replicas.len() - 1
            })
        };
        let clocks = (facts.clocks.pairs().into_iter())
            .map(|((caller, callee), bounds)| {
                ClockPair(place(caller), place(callee), bounds.low_ns, bounds.high_ns, bounds.calls)
            })
            .collect();
        let loss = |(loss, found): (Loss, &laggard_model::LossCount)| {
            (loss.name().to_owned(), (found.count, found.example.clone()))
        };
        Facts {
            traces: facts.traces,
            rows: facts.rows,
            spans: facts.spans,
            first_ns: facts.extent.map(|(first, _)| first.unix_ns()),
            last_ns: facts.extent.map(|(_, last)| last.unix_ns()),
            losses: facts.losses.iter().map(loss).collect(),
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
            losses: read_losses(&self.losses),
            clocks,
            ..SliceFacts::default()
        }
    }
}

/// Losses by name; names of a later version are left out.
fn read_losses(told: &BTreeMap<String, (u64, String)>) -> Losses {
    let mut losses = Losses::none();
    for loss in Loss::ALL {
        if let Some((count, example)) = told.get(loss.name()) {
            losses.add_many(loss, *count, || example.clone());
        }
    }
    losses
}
