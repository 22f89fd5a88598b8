//! The table of requests.

use super::unit::{self, Unit, UnitPart};
use crate::bounds::Bounds;
use crate::column::{
    ColumnType, SqlColumn, adjusted, durations, flags, integers, optional_numbers, optional_texts, times,
    trace_ids,
};
use crate::names::statuses;
use crate::rows::{ReadOptions, TableRows, batches};
use crate::stored::StoredTables;
use async_trait::async_trait;
use laggard_engine::SlicedRequest;
use laggard_store::UnreadableSegment;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Some requests of a unit.
pub(crate) struct RequestRows {
    unit: Arc<Unit>,
    range: Range<usize>,
}

impl RequestRows {
    fn requests(&self) -> impl Iterator<Item = &SlicedRequest> {
        self.unit.slice.requests[self.range.clone()].iter()
    }

    fn entries(&self) -> impl Iterator<Item = laggard_model::OperationId> {
        self.range.clone().map(|request| self.unit.entry_of(request))
    }
}

#[async_trait]
impl TableRows<UnitPart> for RequestRows {
    const NAME: &'static str = "requests";
    const ABOUT: &'static str = "A request: a root span and everything below it, late spans included.";
    const TIME: Option<&'static str> = Some("start_time");
    const COLUMNS: &'static [SqlColumn<Self>] = &[
        // The text of an id that is not hexadecimal is read with the calls.
        SqlColumn::new("trace_id", ColumnType::Text, "its trace", |rows: &Self| {
            trace_ids(rows.requests().map(|one| (one.trace, rows.unit.received(one.trace))))
        })
        .with_calls(),
        SqlColumn::new(
            "request",
            ColumnType::Integer,
            "its number within the trace, by start, from 0",
            |rows: &Self| integers(rows.range.clone().map(|request| rows.unit.number(request))),
        ),
        SqlColumn::new("start_time", ColumnType::Time, "start of its entry, the root span", |rows: &Self| {
            times(rows.requests().map(|one| one.start))
        }),
        SqlColumn::new(
            "latency_ns",
            ColumnType::Integer,
            "inclusive time of its entry, nanoseconds",
            |rows: &Self| {
                let times = &rows.unit.slice.calls.inclusive_time;
                durations(rows.requests().map(|one| times.get(one.first_call as usize)))
            },
        )
        .with_calls(),
        SqlColumn::new("service", ColumnType::Text, "service of its entry", |rows: &Self| {
            rows.unit.names().services(rows.entries())
        }),
        SqlColumn::new("operation", ColumnType::Text, "operation of its entry", |rows: &Self| {
            rows.unit.names().operations(rows.entries())
        }),
        SqlColumn::new(
            "kind",
            ColumnType::Text,
            "span kind of its entry; empty if unspecified",
            |rows: &Self| rows.unit.names().kinds(rows.entries()),
        ),
        SqlColumn::new(
            "replica",
            ColumnType::Text,
            "where its entry ran; empty if unknown",
            |rows: &Self| {
                let replicas = &rows.unit.slice.calls.replica;
                rows.unit.names().replicas(rows.requests().map(|one| replicas[one.first_call as usize]))
            },
        )
        .with_calls(),
        SqlColumn::new(
            "status",
            ColumnType::Text,
            "outcome of its entry: unset, ok, error",
            |rows: &Self| statuses(rows.requests().map(|one| one.status)),
        ),
        SqlColumn::new(
            "complete",
            ColumnType::Flag,
            "whether its call tree and times are fully known",
            |rows: &Self| flags(rows.requests().map(|one| one.complete)),
        ),
        SqlColumn::new(
            "adjusted_count",
            ColumnType::Number,
            "how many requests it stands for, by sampling",
            |rows: &Self| optional_numbers(rows.requests().map(|one| adjusted(one.adjusted_count))),
        )
        .optional(),
        SqlColumn::new("calls", ColumnType::Integer, "calls of it, the entry included", |rows: &Self| {
            integers(rows.range.clone().map(|request| rows.unit.structure_of(request).len() as i64))
        }),
        SqlColumn::new(
            "structure",
            ColumnType::Text,
            "its call tree, in the table structures",
            |rows: &Self| rows.unit.structures(rows.requests().map(|one| one.structure)),
        ),
        SqlColumn::new(
            "attributes",
            ColumnType::Text,
            "attributes of its trace, a JSON object",
            |rows: &Self| optional_texts(rows.requests().map(|one| rows.unit.attributes(one.attributes))),
        )
        .optional(),
    ];

    async fn parts(tables: &StoredTables, bounds: &Bounds) -> Result<Vec<UnitPart>, UnreadableSegment> {
        unit::parts(tables, bounds).await
    }

    async fn read(
        part: &UnitPart,
        options: &ReadOptions,
        _: &mut HashSet<String>,
    ) -> Result<(Vec<RequestRows>, usize), UnreadableSegment> {
        let unit = part.read(options.with_calls).await?;
        let bytes = unit.slice.estimated_bytes();
        let ranges = batches(unit.slice.requests.len(), options.batch_rows);
        Ok((ranges.map(|range| RequestRows { unit: Arc::clone(&unit), range }).collect(), bytes))
    }

    fn rows(&self) -> usize {
        self.range.len()
    }
}
