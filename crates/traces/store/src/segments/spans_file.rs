//! The file of spans: a row a span, by trace, start and span id.

use super::columns;
use super::error::SegmentError;
use super::name_columns::{
    NameColumns, read_kinds, read_statuses, trace_at, trace_column, trace_text_column,
};
use super::span_batch::{self, SpanBatch, SpanColumn};
use super::table::{self, BATCH_ROWS, Column, EncodedFile, FileRanges, TableWriter};
use super::trace_index::{self, TraceIndex};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, Float32Array, Int64Array, StringArray, UInt32Array,
    UInt64Array,
};
use laggard_model::{
    AdjustedCount, Names, Nanos, OperationId, ReplicaId, SpanId, SpanKind, SpanRow, Status, ThreadRow, Tid,
    Timestamp, TraceId,
};
use std::collections::HashSet;
use std::sync::Arc;

/// Spans of some traces, by trace, start and span id, in handles of names of their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanTable {
    /// Names behind the handles.
    pub(crate) names: Names,
    /// The spans.
    pub(crate) rows: Vec<SpanRow>,
    /// Ids as received of traces whose display text is another. Sorted by trace.
    pub(crate) texts: Vec<(TraceId, Box<str>)>,
    /// Sets of attributes of traces that have any, sorted by trace.
    pub(crate) attributes: Vec<(TraceId, Arc<str>)>,
    /// Threads of spans that have one, by their key.
    pub(crate) threads: Vec<ThreadRow>,
}

/// Data stored beside rows; each list is sorted and may include more traces than are written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BesideRows<'a> {
    pub(crate) texts: &'a [(TraceId, Box<str>)],
    pub(crate) attributes: &'a [(TraceId, Arc<str>)],
    pub(crate) threads: &'a [ThreadRow],
}

/// Which traces to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TraceFilter<'a> {
    /// All of them.
    All,
    /// Those from one to another, both included.
    Between(TraceId, TraceId),
    These(&'a HashSet<TraceId>),
}

impl TraceFilter<'_> {
    pub(crate) fn has(self, trace: TraceId) -> bool {
        match self {
            TraceFilter::All => true,
            TraceFilter::Between(min, max) => (min..=max).contains(&trace),
            TraceFilter::These(traces) => traces.contains(&trace),
        }
    }
}

/// Writes spans, which are sorted.
pub(crate) fn encode(
    names: &Names,
    rows: &[SpanRow],
    beside: BesideRows<'_>,
    rows_per_group: usize,
) -> Result<EncodedFile, SegmentError> {
    let properties = trace_index::properties(rows.iter().map(|row| row.trace), rows_per_group);
    let mut writer = TableWriter::new(&SpanColumn::ALL.map(SpanColumn::stored), properties)?;
    let known = NameColumns::new(names);
    for rows in rows.chunks(BATCH_ROWS) {
        writer.write(column_values(&known, names, rows, beside)?)?;
    }
    writer.finish()
}

fn column_values(
    known: &NameColumns,
    names: &Names,
    rows: &[SpanRow],
    beside: BesideRows<'_>,
) -> Result<Vec<ArrayRef>, SegmentError> {
    let keys = |key: &dyn Fn(&SpanRow) -> usize| rows.iter().map(|row| key(row) as i32).collect::<Vec<i32>>();
    Ok(vec![
        trace_column(rows.iter().map(|row| row.trace))?,
        trace_text_column(rows.iter().map(|row| row.trace), beside.texts),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.span.value()))),
        Arc::new(rows.iter().map(|row| row.parent.map(SpanId::value)).collect::<UInt64Array>()),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.start.unix_ns()))),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.inclusive.ns()))),
        columns::text_column(keys(&|row| names.service_of(row.operation).index()), &known.services)?,
        columns::text_column(keys(&|row| row.operation.index()), &known.operations)?,
        columns::text_column(keys(&|row| row.kind as usize), &known.kinds)?,
        columns::text_column(keys(&|row| row.replica.index()), &known.replicas)?,
        columns::text_column(keys(&|row| row.status as usize), &known.statuses)?,
        Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(row.incomplete)))),
        Arc::new(rows.iter().map(|row| row.adjusted_count.map(AdjustedCount::get)).collect::<Float32Array>()),
        trace_text_column(rows.iter().map(|row| row.trace), beside.attributes),
        Arc::new(rows.iter().map(|row| thread_of(row, beside.threads)).collect::<UInt32Array>()),
    ])
}

fn thread_of(row: &SpanRow, threads: &[ThreadRow]) -> Option<u32> {
    let position = threads.binary_search_by_key(&(row.trace, row.start, row.span), ThreadRow::key).ok()?;
    Some(threads[position].tid.0)
}

/// Batches of some columns of the available row groups.
fn batches(
    ranges: FileRanges,
    index: &TraceIndex,
    groups: Vec<usize>,
    columns: &[SpanColumn],
) -> Result<impl Iterator<Item = Result<SpanBatch, SegmentError>>, SegmentError> {
    let stored: Vec<Column> = columns.iter().map(|column| column.stored()).collect();
    let batches = table::batches(ranges, index.metadata.clone(), &stored, Some(groups))?;
    Ok(batches.map(move |batch| SpanBatch::new(batch?, columns)))
}

/// Reads columns of the requested spans from the available row groups. A span that equals the one before it is left out.
pub(crate) fn decode_columns(
    ranges: FileRanges,
    index: &TraceIndex,
    groups: Vec<usize>,
    filter: TraceFilter<'_>,
    columns: &[SpanColumn],
) -> Result<Vec<SpanBatch>, SegmentError> {
    let read = |columns: &[SpanColumn]| {
        let batches = batches(ranges.clone(), index, groups.clone(), columns)?;
        batches.collect::<Result<Vec<SpanBatch>, SegmentError>>()
    };
    let mut needed = columns.to_vec();
    needed.extend([SpanColumn::Span, SpanColumn::Start]);
    let selects_traces = !matches!(filter, TraceFilter::All);
    if selects_traces {
        needed.push(SpanColumn::Trace);
    }
    let mut batches = read(&needed)?;
    let mut copies = span_batch::repeated_ids(&batches);
    if copies.iter().any(|rows| !rows.is_empty()) {
        // Whether they are equal is seen in all columns.
        batches = read(&SpanColumn::ALL)?;
        copies = span_batch::repeated_spans(&batches, copies);
    }
    let select = |(batch, copies): (&SpanBatch, &Vec<usize>)| {
        if !selects_traces && copies.is_empty() {
            return Ok(batch.clone());
        }
        let mut rows = match selects_traces {
            true => batch.traces().map(|trace| filter.has(trace)).collect(),
            false => vec![true; batch.rows()],
        };
        copies.iter().for_each(|&copy| rows[copy] = false);
        batch.only(rows)
    };
    batches.iter().zip(&copies).map(select).collect()
}

/// Reads the requested spans from the available row groups.
pub(crate) fn decode(
    ranges: FileRanges,
    index: &TraceIndex,
    groups: Vec<usize>,
    filter: TraceFilter<'_>,
) -> Result<SpanTable, SegmentError> {
    let mut out = SpanTable::default();
    for batch in batches(ranges, index, groups, &SpanColumn::ALL)? {
        add_batch(&mut out, &batch?, filter)?;
    }
    Ok(out)
}

/// Which of the requested traces have spans in the available row groups.
pub(crate) fn decode_traces(
    ranges: FileRanges,
    index: &TraceIndex,
    groups: Vec<usize>,
    filter: TraceFilter<'_>,
) -> Result<HashSet<TraceId>, SegmentError> {
    let mut out = HashSet::new();
    for batch in batches(ranges, index, groups, &[SpanColumn::Trace])? {
        out.extend(batch?.traces().filter(|&trace| filter.has(trace)));
    }
    Ok(out)
}

fn add_batch(out: &mut SpanTable, batch: &SpanBatch, filter: TraceFilter<'_>) -> Result<(), SegmentError> {
    let columns = SpanColumns::new(batch, &mut out.names)?;
    out.rows.reserve(if matches!(filter, TraceFilter::All) { batch.rows() } else { 0 });
    let mut operations = batch.operations()?;
    for index in 0..batch.rows() {
        let trace = trace_at(columns.traces, index);
        if !filter.has(trace) {
            continue;
        }
        let operation = operations.at(index, &mut out.names)?;
        let row = columns.row(index, trace, operation);
        if let Some(threads) = columns.threads.filter(|column| column.is_valid(index)) {
            let (start, span, tid) = (row.start, row.span, Tid(threads.value(index)));
            out.threads.push(ThreadRow { trace, start, span, tid });
        }
        out.rows.push(row);
        let text = columns.trace_texts.is_valid(index).then(|| columns.trace_texts.value(index));
        if let Some(text) = text.filter(|_| out.texts.last().is_none_or(|(last, _)| *last != trace)) {
            out.texts.push((trace, text.into()));
        }
        let attributes =
            columns.attributes.filter(|column| column.is_valid(index)).map(|column| column.value(index));
        if let Some(text) =
            attributes.filter(|_| out.attributes.last().is_none_or(|(last, _)| *last != trace))
        {
            out.attributes.push((trace, text.into()));
        }
    }
    Ok(())
}

/// The columns of a batch, for reading it row by row.
struct SpanColumns<'a> {
    traces: &'a FixedSizeBinaryArray,
    trace_texts: &'a StringArray,
    spans: &'a [u64],
    parents: &'a UInt64Array,
    starts: &'a [i64],
    inclusive: &'a [u64],
    kinds: Vec<SpanKind>,
    kind_keys: &'a [i32],
    replicas: Vec<ReplicaId>,
    replica_keys: &'a [i32],
    statuses: Vec<Status>,
    status_keys: &'a [i32],
    incomplete: &'a BooleanArray,
    adjusted: &'a Float32Array,
    attributes: Option<&'a StringArray>,
    threads: Option<&'a UInt32Array>,
}

impl<'a> SpanColumns<'a> {
    fn new(batch: &'a SpanBatch, names: &mut Names) -> Result<SpanColumns<'a>, SegmentError> {
        let [kinds, replicas, statuses] = [SpanColumn::Kind, SpanColumn::Replica, SpanColumn::Status]
            .map(|column| batch.dictionary(column));
        Ok(SpanColumns {
            traces: batch.trace_column(),
            trace_texts: batch.trace_texts(),
            spans: batch.ids(),
            parents: batch.parents(),
            starts: batch.starts(),
            inclusive: batch.durations(),
            kinds: read_kinds(kinds.values)?,
            kind_keys: kinds.keys,
            replicas: replicas.values.iter().flatten().map(|name| names.replica(name)).collect(),
            replica_keys: replicas.keys,
            statuses: read_statuses(statuses.values)?,
            status_keys: statuses.keys,
            incomplete: batch.incomplete(),
            adjusted: batch.adjusted_counts(),
            attributes: batch.attributes(),
            threads: batch.threads(),
        })
    }

    fn row(&self, index: usize, trace: TraceId, operation: OperationId) -> SpanRow {
        let adjusted = self.adjusted.is_valid(index).then(|| self.adjusted.value(index));
        SpanRow {
            trace,
            span: SpanId::new(self.spans[index]).expect("ids of a batch are not 0"),
            parent: self.parents.is_valid(index).then(|| self.parents.value(index)).and_then(SpanId::new),
            start: Timestamp::from_unix_ns(self.starts[index]),
            inclusive: Nanos::from_ns(self.inclusive[index]),
            operation,
            replica: self.replicas[self.replica_keys[index] as usize],
            kind: self.kinds[self.kind_keys[index] as usize],
            status: self.statuses[self.status_keys[index] as usize],
            incomplete: self.incomplete.value(index),
            adjusted_count: adjusted.and_then(|count| AdjustedCount::new(f64::from(count))),
        }
    }
}
