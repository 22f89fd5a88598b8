//! The table of spans.

use crate::bounds::Bounds;
use crate::column::{
    ColumnType, SqlColumn, UTC, adjusted, durations, flags, optional_integers, optional_numbers,
    optional_texts, span_ids, trace_ids,
};
use crate::names::attributes_json;
use crate::rows::{ReadOptions, TableRows, batches};
use crate::stored::StoredTables;
use async_trait::async_trait;
use datafusion::arrow::array::{Array, ArrayRef, TimestampNanosecondArray};
use datafusion::arrow::compute::cast;
use laggard_model::{AdjustedCount, Nanos, SpanId};
use laggard_store::{SpanBatch, SpanColumn, StoredRows, StoredSegment, UnreadableSegment};
use std::collections::HashSet;
use std::sync::Arc;

/// Some spans of a segment.
pub(crate) struct SpanRows(SpanBatch);

impl SpanRows {
    /// A column of texts: a row has 16 bytes that point to one of the dictionary.
    fn texts(&self, column: SpanColumn) -> ArrayRef {
        cast(self.0.texts(column), &ColumnType::Text.arrow()).expect("a dictionary of texts is texts")
    }

    fn trace_ids(&self) -> ArrayRef {
        let texts = self.0.trace_texts();
        let received = texts.iter();
        trace_ids(self.0.traces().zip(received))
    }

    fn attributes(&self) -> ArrayRef {
        let Some(sets) = self.0.attributes() else {
            return optional_texts((0..self.0.rows()).map(|_| None::<&str>));
        };
        // Spans of a trace follow each other.
        let mut last: (Option<&str>, Option<String>) = (None, None);
        optional_texts(sets.iter().map(|set| {
            if set != last.0 {
                last = (set, set.and_then(attributes_json));
            }
            last.1.clone()
        }))
    }

    fn threads(&self) -> ArrayRef {
        let threads = self.0.threads();
        let thread = |row: usize| {
            threads.filter(|threads| threads.is_valid(row)).map(|threads| i64::from(threads.value(row)))
        };
        optional_integers((0..self.0.rows()).map(thread))
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
        SqlColumn::new("trace_id", ColumnType::Text, "its trace", SpanRows::trace_ids)
            .with_span_columns(&[SpanColumn::Trace, SpanColumn::TraceText]),
        SqlColumn::new("span_id", ColumnType::Text, "its id, 16 hexadecimal digits", |rows: &Self| {
            span_ids(rows.0.ids().iter().map(|&id| SpanId::new(id)))
        })
        .with_span_columns(&[SpanColumn::Span]),
        SqlColumn::new(
            "parent_span_id",
            ColumnType::Text,
            "that of its caller; absent at a root",
            |rows: &Self| span_ids(rows.0.parents().iter().map(|parent| parent.and_then(SpanId::new))),
        )
        .with_span_columns(&[SpanColumn::Parent])
        .optional(),
        SqlColumn::new("start_time", ColumnType::Time, "start, on the clock of its host", |rows: &Self| {
            let starts = TimestampNanosecondArray::from(rows.0.starts().to_vec());
            Arc::new(starts.with_timezone(UTC))
        })
        .with_span_columns(&[SpanColumn::Start]),
        SqlColumn::new("duration_ns", ColumnType::Integer, "end minus start, nanoseconds", |rows: &Self| {
            durations(rows.0.durations().iter().map(|&duration| Nanos::from_ns(duration)))
        })
        .with_span_columns(&[SpanColumn::Duration]),
        SqlColumn::new("service", ColumnType::Text, "service.name", |rows: &Self| {
            rows.texts(SpanColumn::Service)
        })
        .with_span_columns(&[SpanColumn::Service]),
        SqlColumn::new("operation", ColumnType::Text, "operation within the service", |rows: &Self| {
            rows.texts(SpanColumn::Operation)
        })
        .with_span_columns(&[SpanColumn::Operation]),
        SqlColumn::new("kind", ColumnType::Text, "span kind; empty if unspecified", |rows: &Self| {
            rows.texts(SpanColumn::Kind)
        })
        .with_span_columns(&[SpanColumn::Kind]),
        SqlColumn::new(
            "replica",
            ColumnType::Text,
            "the instance of the service; empty if unknown",
            |rows: &Self| rows.texts(SpanColumn::Replica),
        )
        .with_span_columns(&[SpanColumn::Replica]),
        SqlColumn::new("status", ColumnType::Text, "its outcome: unset, ok, error", |rows: &Self| {
            rows.texts(SpanColumn::Status)
        })
        .with_span_columns(&[SpanColumn::Status]),
        SqlColumn::new(
            "incomplete",
            ColumnType::Flag,
            "rebuilt from a call log with something missing",
            |rows: &Self| flags(rows.0.incomplete().values().iter()),
        )
        .with_span_columns(&[SpanColumn::Incomplete]),
        SqlColumn::new(
            "adjusted_count",
            ColumnType::Number,
            "how many spans it stands for, by sampling",
            |rows: &Self| {
                let count = |count: Option<f32>| count.and_then(|one| AdjustedCount::new(f64::from(one)));
                optional_numbers(rows.0.adjusted_counts().iter().map(|one| adjusted(count(one))))
            },
        )
        .with_span_columns(&[SpanColumn::AdjustedCount])
        .optional(),
        SqlColumn::new("thread", ColumnType::Integer, "thread.id", SpanRows::threads)
            .with_span_columns(&[SpanColumn::Thread])
            .optional(),
        SqlColumn::new(
            "attributes",
            ColumnType::Text,
            "attributes of its trace, a JSON object",
            SpanRows::attributes,
        )
        .with_span_columns(&[SpanColumn::Attributes])
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
        let read = part.spans(&options.span_columns, options.bounds.traces.as_ref()).await?;
        let bytes = read.iter().map(SpanBatch::bytes).sum();
        let parts = |batch: SpanBatch| {
            let ranges = batches(batch.rows(), options.batch_rows).collect::<Vec<_>>().into_iter();
            ranges.map(move |range| SpanRows(batch.part(range.start, range.len())))
        };
        Ok((read.into_iter().flat_map(parts).collect(), bytes))
    }

    fn rows(&self) -> usize {
        self.0.rows()
    }
}
