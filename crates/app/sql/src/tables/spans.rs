//! The table of spans.

use crate::bounds::Bounds;
use crate::column::{
    ColumnType, SqlColumn, adjusted, durations, flags, optional_integers, optional_numbers, optional_texts,
    span_ids, times, trace_ids,
};
use crate::names::{NameTexts, attributes_json, kinds, statuses};
use crate::rows::{ReadOptions, TableRows, batches};
use crate::stored::StoredTables;
use async_trait::async_trait;
use laggard_model::{SpanRow, ThreadRow, TraceId};
use laggard_store::{SpanTable, StoredRows, StoredSegment, UnreadableSegment};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// Some spans of a segment.
pub(crate) struct SpanRows {
    table: Arc<SpanTable>,
    names: Arc<Names>,
    range: Range<usize>,
}

type Names = LazyLock<NameTexts, Box<dyn FnOnce() -> NameTexts + Send>>;

impl SpanRows {
    fn spans(&self) -> impl Iterator<Item = &SpanRow> {
        self.table.rows[self.range.clone()].iter()
    }

    fn received(&self, trace: TraceId) -> Option<&str> {
        let texts = &self.table.texts;
        texts.binary_search_by_key(&trace, |(known, _)| *known).ok().map(|index| &*texts[index].1)
    }

    fn attributes(&self, trace: TraceId) -> Option<String> {
        let sets = &self.table.attributes;
        let index = sets.binary_search_by_key(&trace, |(known, _)| *known).ok()?;
        attributes_json(&sets[index].1)
    }

    fn thread(&self, span: &SpanRow) -> Option<i64> {
        let threads = &self.table.threads;
        let key = (span.trace, span.start, span.span);
        let index = threads.binary_search_by_key(&key, ThreadRow::key).ok()?;
        Some(i64::from(threads[index].tid.0))
    }
}

#[async_trait]
impl TableRows<Arc<StoredSegment>> for SpanRows {
    const NAME: &'static str = "spans";
    const ABOUT: &'static str =
        "A span as it was received. A copy that came later than its segment was written is another row.";
    const TIME: Option<&'static str> = Some("start_time");
    const TRACE: Option<&'static str> = Some("trace_id");
    const COLUMNS: &'static [SqlColumn<Self>] = &[
        SqlColumn::new("trace_id", ColumnType::Text, "its trace", |rows: &Self| {
            trace_ids(rows.spans().map(|span| span.trace), |trace| rows.received(trace))
        }),
        SqlColumn::new("span_id", ColumnType::Text, "its id, 16 hexadecimal digits", |rows: &Self| {
            span_ids(rows.spans().map(|span| Some(span.span)))
        }),
        SqlColumn::new(
            "parent_span_id",
            ColumnType::Text,
            "that of its caller; absent at a root",
            |rows: &Self| span_ids(rows.spans().map(|span| span.parent)),
        )
        .optional(),
        SqlColumn::new("start_time", ColumnType::Time, "start, on the clock of its host", |rows: &Self| {
            times(rows.spans().map(|span| span.start))
        }),
        SqlColumn::new("duration_ns", ColumnType::Integer, "end minus start, nanoseconds", |rows: &Self| {
            durations(rows.spans().map(|span| span.inclusive))
        }),
        SqlColumn::new("service", ColumnType::Text, "service.name", |rows: &Self| {
            rows.names.services(rows.spans().map(|span| span.operation))
        }),
        SqlColumn::new("operation", ColumnType::Text, "operation within the service", |rows: &Self| {
            rows.names.operations(rows.spans().map(|span| span.operation))
        }),
        SqlColumn::new("kind", ColumnType::Text, "span kind; empty if unspecified", |rows: &Self| {
            kinds(rows.spans().map(|span| span.kind))
        }),
        SqlColumn::new(
            "replica",
            ColumnType::Text,
            "the instance of the service; empty if unknown",
            |rows: &Self| rows.names.replicas(rows.spans().map(|span| span.replica)),
        ),
        SqlColumn::new("status", ColumnType::Text, "its outcome: unset, ok, error", |rows: &Self| {
            statuses(rows.spans().map(|span| span.status))
        }),
        SqlColumn::new(
            "incomplete",
            ColumnType::Flag,
            "rebuilt from a call log with something missing",
            |rows: &Self| flags(rows.spans().map(|span| span.incomplete)),
        ),
        SqlColumn::new(
            "adjusted_count",
            ColumnType::Number,
            "how many spans it stands for, by sampling",
            |rows: &Self| optional_numbers(rows.spans().map(|span| adjusted(span.adjusted_count))),
        )
        .optional(),
        SqlColumn::new("thread", ColumnType::Integer, "thread.id", |rows: &Self| {
            optional_integers(rows.spans().map(|span| rows.thread(span)))
        })
        .optional(),
        SqlColumn::new(
            "attributes",
            ColumnType::Text,
            "attributes of its trace, a JSON object",
            |rows: &Self| {
                let mut last: Option<(TraceId, Option<String>)> = None;
                optional_texts(rows.spans().map(|span| match &last {
                    Some((trace, text)) if *trace == span.trace => text.clone(),
                    _ => {
                        let text = rows.attributes(span.trace);
                        last = Some((span.trace, text.clone()));
                        text
                    }
                }))
            },
        )
        .optional(),
    ];

    async fn parts(
        tables: &StoredTables,
        bounds: &Bounds,
    ) -> Result<Vec<Arc<StoredSegment>>, UnreadableSegment> {
        Ok(tables.segments(StoredRows::Spans, bounds))
    }

    async fn read(
        part: &Arc<StoredSegment>,
        options: &ReadOptions,
        _: &mut HashSet<String>,
    ) -> Result<(Vec<SpanRows>, usize), UnreadableSegment> {
        let table = Arc::new(part.spans(options.bounds.traces.as_ref()).await?);
        let bytes = size_of_val(&table.rows[..]);
        let named = Arc::clone(&table);
        let names: Arc<Names> = Arc::new(LazyLock::new(Box::new(move || NameTexts::new(&named.names))));
        let rows = |range| SpanRows { table: Arc::clone(&table), names: Arc::clone(&names), range };
        Ok((batches(table.rows.len(), options.batch_rows).map(rows).collect(), bytes))
    }

    fn rows(&self) -> usize {
        self.range.len()
    }
}
