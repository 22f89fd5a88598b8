//! The table of events.

use crate::bounds::Bounds;
use crate::column::{ColumnType, SqlColumn, integers, optional_texts, span_ids, texts, times, trace_ids};
use crate::rows::{ReadOptions, TableRows, batches};
use crate::stored::StoredTables;
use async_trait::async_trait;
use laggard_model::SpanEvent;
use laggard_store::{StoredRows, StoredSegment, UnreadableSegment};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Some events of a segment.
pub(crate) struct EventRows {
    events: Arc<Vec<SpanEvent>>,
    range: Range<usize>,
}

impl EventRows {
    fn events(&self) -> impl Iterator<Item = &SpanEvent> {
        self.events[self.range.clone()].iter()
    }
}

#[async_trait]
impl TableRows<Arc<StoredSegment>> for EventRows {
    const NAME: &'static str = "events";
    const ABOUT: &'static str = "An event of a span, or a log record that names a span.";
    const TIME: Option<&'static str> = Some("time");
    const TRACE: Option<&'static str> = Some("trace_id");
    const COLUMNS: &'static [SqlColumn<Self>] = &[
        SqlColumn::new("trace_id", ColumnType::Text, "the trace", |rows: &Self| {
            trace_ids(rows.events().map(|event| (event.trace, None)))
        }),
        SqlColumn::new("span_id", ColumnType::Text, "the span", |rows: &Self| {
            span_ids(rows.events().map(|event| Some(event.span)))
        }),
        SqlColumn::new("time", ColumnType::Time, "when it was, on the clock of its host", |rows: &Self| {
            times(rows.events().map(|event| event.time))
        }),
        SqlColumn::new(
            "severity",
            ColumnType::Integer,
            "OpenTelemetry's number, 1 to 24; 0 if unknown",
            |rows: &Self| integers(rows.events().map(|event| i64::from(event.severity.number()))),
        ),
        SqlColumn::new(
            "name",
            ColumnType::Text,
            "the event's name; mostly empty for log records",
            |rows: &Self| texts(rows.events().map(|event| &event.name)),
        ),
        SqlColumn::new("body", ColumnType::Text, "what was logged", |rows: &Self| {
            texts(rows.events().map(|event| &event.body))
        }),
        SqlColumn::new("attributes", ColumnType::Text, "its attributes, a JSON object", |rows: &Self| {
            optional_texts(rows.events().map(|event| Some(&event.attributes).filter(|text| !text.is_empty())))
        })
        .optional(),
    ];

    async fn parts(
        tables: &StoredTables,
        bounds: &Bounds,
    ) -> Result<Vec<Arc<StoredSegment>>, UnreadableSegment> {
        Ok(tables.segments(StoredRows::Events, bounds))
    }

    async fn read(
        part: &Arc<StoredSegment>,
        options: &ReadOptions,
        _: &mut HashSet<String>,
    ) -> Result<(Vec<EventRows>, usize), UnreadableSegment> {
        let events = Arc::new(part.events(options.bounds.traces.as_ref()).await?);
        let bytes = events.iter().map(SpanEvent::bytes).sum();
        let rows = |range| EventRows { events: Arc::clone(&events), range };
        Ok((batches(events.len(), options.batch_rows).map(rows).collect(), bytes))
    }

    fn rows(&self) -> usize {
        self.range.len()
    }
}
