//! Columns of spans that are read without the others.

use super::super::span_batch::{SpanBatch, SpanColumn};
use super::super::spans_file::{self, BesideRows, SpanTable, TraceFilter};
use super::super::table::FileRanges;
use super::super::trace_index::TraceIndex;
use super::random_spans::{batches, flush_batch_of, spans, trace};
use crate::FlushBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{RecordBatch, StringArray, UInt64Array};
use laggard_model::{SpanRow, ThreadRow, TraceId};
use proptest::prelude::*;
use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;

/// Rows of a row group in these tests: copies are also on both sides of a border.
const GROUP_ROWS: usize = 3;

fn texts<T: Debug>(values: impl Iterator<Item = T>) -> Vec<String> {
    values.map(|value| format!("{value:?}")).collect()
}

fn of_table(table: &SpanTable, column: SpanColumn) -> Vec<String> {
    let rows = table.rows.iter();
    let of_trace = |row: &SpanRow| row.trace;
    let key = |row: &SpanRow| table.names.operation_key(row.operation);
    match column {
        SpanColumn::Trace => texts(rows.map(of_trace)),
        SpanColumn::TraceText => texts(rows.map(|row| {
            let found = table.texts.iter().find(|(trace, _)| *trace == row.trace);
            found.map(|(_, text)| text.to_string())
        })),
        SpanColumn::Span => texts(rows.map(|row| row.span.value())),
        SpanColumn::Parent => texts(rows.map(|row| row.parent.map(|parent| parent.value()))),
        SpanColumn::Start => texts(rows.map(|row| row.start.unix_ns())),
        SpanColumn::Duration => texts(rows.map(|row| row.inclusive.ns())),
        SpanColumn::Service => texts(rows.map(|row| key(row).service)),
        SpanColumn::Operation => texts(rows.map(|row| key(row).operation)),
        SpanColumn::Kind => texts(rows.map(|row| row.kind.name())),
        SpanColumn::Replica => texts(rows.map(|row| table.names.replica_name(row.replica))),
        SpanColumn::Status => texts(rows.map(|row| row.status.name())),
        SpanColumn::Incomplete => texts(rows.map(|row| row.incomplete)),
        SpanColumn::AdjustedCount => {
            texts(rows.map(|row| row.adjusted_count.map(|count| f64::from(count.get()))))
        }
        SpanColumn::Attributes => texts(rows.map(|row| {
            let found = table.attributes.iter().find(|(trace, _)| *trace == row.trace);
            found.map(|(_, text)| text.to_string())
        })),
        SpanColumn::Thread => texts(rows.map(|row| {
            let key = (row.trace, row.start, row.span);
            table.threads.iter().find(|thread| thread.key() == key).map(|thread: &ThreadRow| thread.tid.0)
        })),
    }
}

fn of_batch(batch: &SpanBatch, column: SpanColumn) -> Vec<String> {
    let own = |text: Option<&str>| text.map(str::to_owned);
    match column {
        SpanColumn::Trace => texts(batch.traces()),
        SpanColumn::TraceText => texts(batch.trace_texts().iter().map(own)),
        SpanColumn::Span => texts(batch.ids().iter()),
        SpanColumn::Parent => texts(batch.parents().iter()),
        SpanColumn::Start => texts(batch.starts().iter()),
        SpanColumn::Duration => texts(batch.durations().iter()),
        SpanColumn::Incomplete => texts(batch.incomplete().values().iter()),
        SpanColumn::AdjustedCount => texts(batch.adjusted_counts().iter().map(|one| one.map(f64::from))),
        SpanColumn::Attributes => texts(batch.attributes().unwrap().iter().map(own)),
        SpanColumn::Thread => texts(batch.threads().unwrap().iter()),
        SpanColumn::Service
        | SpanColumn::Operation
        | SpanColumn::Kind
        | SpanColumn::Replica
        | SpanColumn::Status => {
            let dictionary = batch.texts(column).as_dictionary::<Int32Type>();
            let values = dictionary.downcast_dict::<StringArray>().unwrap();
            texts(values.into_iter().map(|value| value.unwrap().to_owned()))
        }
    }
}

fn check_batch(batch: &FlushBatch, columns: &[SpanColumn], filter: TraceFilter<'_>) {
    let beside = BesideRows { texts: &batch.texts, attributes: &batch.attributes, threads: &batch.threads };
    let file = spans_file::encode(&batch.names, &batch.spans, beside, GROUP_ROWS).unwrap();
    let index = TraceIndex::read(&file.entry, file.bytes.slice(file.entry.tail as usize..)).unwrap();
    let (ranges, groups) = (FileRanges::from_bytes(file.bytes), index.groups(filter));
    let mut table = spans_file::decode(ranges.clone(), &index, groups.clone(), filter).unwrap();
    table.rows.dedup();
    let found = spans_file::decode_columns(ranges, &index, groups, filter, columns).unwrap();
    assert_eq!(found.iter().map(SpanBatch::rows).sum::<usize>(), table.rows.len());
    for &column in columns {
        let found: Vec<String> = found.iter().flat_map(|batch| of_batch(batch, column)).collect();
        assert_eq!(found, of_table(&table, column), "{column:?}");
    }
}

proptest! {
    /// Any columns of any traces are those of whole rows, without copies.
    #[test]
    fn columns_are_those_of_whole_rows(
        random in spans(),
        chosen in any::<u16>(),
        traces in prop::option::of(prop::collection::hash_set(0_u8..14, 0..5)),
    ) {
        let is_chosen = |column: &SpanColumn| chosen >> *column as u16 & 1 == 1;
        let columns: Vec<SpanColumn> = SpanColumn::ALL.into_iter().filter(is_chosen).collect();
        let traces: Option<HashSet<TraceId>> = traces.map(|some| some.into_iter().map(trace).collect());
        let filter = traces.as_ref().map_or(TraceFilter::All, TraceFilter::These);
        for batch in batches(&random) {
            check_batch(&batch, &columns, filter);
        }
    }
}

/// Spans with one id and start are one only if they are equal in columns that were not asked for, too.
#[test]
fn spans_that_differ_elsewhere_are_no_copies() {
    let mut batch = flush_batch_of([1]);
    let other = SpanRow { incomplete: true, ..batch.spans[1] };
    batch.spans = vec![batch.spans[0], batch.spans[1], batch.spans[1], other, other];
    check_batch(&batch, &[SpanColumn::Duration], TraceFilter::All);
    check_batch(&batch, &[], TraceFilter::All);
}

/// Only columns that early formats did not write may be missing.
#[test]
fn a_missing_column_is_damage() {
    let ids = RecordBatch::try_from_iter([("span", Arc::new(UInt64Array::from(vec![7])) as _)]).unwrap();
    let batch = SpanBatch::new(ids.clone(), &[SpanColumn::Span, SpanColumn::Thread]).unwrap();
    assert_eq!((batch.ids(), batch.threads()), (&[7][..], None));
    let error = SpanBatch::new(ids, &[SpanColumn::Span, SpanColumn::Start]).unwrap_err();
    assert!(error.to_string().contains("start_ns"), "{error}");
}
