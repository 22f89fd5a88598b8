//! The table of calls.

use super::unit::{self, Unit, UnitPart};
use crate::bounds::Bounds;
use crate::column::{ColumnType, SqlColumn, durations, integers, optional_integers, times, trace_ids};
use crate::names::statuses;
use crate::rows::{ReadOptions, TableRows};
use crate::stored::StoredTables;
use async_trait::async_trait;
use laggard_engine::{DurationColumn, SlicedRequest};
use laggard_model::{Nanos, OperationId};
use laggard_store::UnreadableSegment;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// The calls of some requests of a unit.
pub(crate) struct CallRows {
    unit: Arc<Unit>,
    requests: Range<usize>,
    rows: usize,
}

impl CallRows {
    /// Request and node of every call.
    fn calls(&self) -> impl Iterator<Item = (usize, usize)> {
        let nodes = |request| (0..self.unit.structure_of(request).len()).map(move |node| (request, node));
        self.requests.clone().flat_map(nodes)
    }

    fn requests(&self) -> impl Iterator<Item = &SlicedRequest> {
        self.calls().map(|(request, _)| &self.unit.slice.requests[request])
    }

    /// Indices into the columns of calls.
    fn indices(&self) -> impl Iterator<Item = usize> {
        self.calls().map(|(request, node)| self.unit.slice.requests[request].first_call as usize + node)
    }

    fn operations(&self) -> impl Iterator<Item = OperationId> {
        self.calls().map(|(request, node)| self.unit.structure_of(request).operation[node])
    }

    fn times<'a>(&'a self, column: &'a DurationColumn) -> impl Iterator<Item = Nanos> + 'a {
        self.indices().map(|index| column.get(index))
    }
}

#[async_trait]
impl TableRows<UnitPart> for CallRows {
    const NAME: &'static str = "calls";
    const ABOUT: &'static str = "A call of a request: a node of its call tree.";
    const TIME: Option<&'static str> = Some("request_start_time");
    const COLUMNS: &'static [SqlColumn<Self>] = &[
        SqlColumn::new("trace_id", ColumnType::Text, "the trace of its request", |rows: &Self| {
            trace_ids(rows.requests().map(|one| (one.trace, rows.unit.received(one.trace))))
        }),
        SqlColumn::new(
            "request",
            ColumnType::Integer,
            "the number of its request within the trace",
            |rows: &Self| integers(rows.calls().map(|(request, _)| rows.unit.number(request))),
        ),
        SqlColumn::new("request_start_time", ColumnType::Time, "start of its request", |rows: &Self| {
            times(rows.requests().map(|one| one.start))
        }),
        SqlColumn::new(
            "node",
            ColumnType::Integer,
            "its node, from 0, the entry, depth first",
            |rows: &Self| integers(rows.calls().map(|(_, node)| node as i64)),
        ),
        SqlColumn::new(
            "parent_node",
            ColumnType::Integer,
            "the caller's node; absent at the entry",
            |rows: &Self| {
                let parent = |(request, node): (usize, usize)| rows.unit.structure_of(request).parent[node];
                optional_integers(rows.calls().map(|call| parent(call).map(i64::from)))
            },
        )
        .optional(),
        SqlColumn::new("service", ColumnType::Text, "service that is called", |rows: &Self| {
            rows.unit.names().services(rows.operations())
        }),
        SqlColumn::new("operation", ColumnType::Text, "operation that is called", |rows: &Self| {
            rows.unit.names().operations(rows.operations())
        }),
        SqlColumn::new("kind", ColumnType::Text, "its span kind; empty if unspecified", |rows: &Self| {
            rows.unit.names().kinds(rows.operations())
        }),
        SqlColumn::new("replica", ColumnType::Text, "where it ran; empty if unknown", |rows: &Self| {
            rows.unit.names().replicas(rows.indices().map(|index| rows.unit.slice.calls.replica[index]))
        }),
        SqlColumn::new("status", ColumnType::Text, "its outcome: unset, ok, error", |rows: &Self| {
            statuses(rows.indices().map(|index| rows.unit.slice.calls.status[index]))
        }),
        SqlColumn::new(
            "self_ns",
            ColumnType::Integer,
            "its time without that of its calls, nanoseconds",
            |rows: &Self| durations(rows.times(&rows.unit.slice.calls.self_time)),
        ),
        SqlColumn::new(
            "inclusive_ns",
            ColumnType::Integer,
            "its time with that of its calls, nanoseconds",
            |rows: &Self| durations(rows.times(&rows.unit.slice.calls.inclusive_time)),
        ),
        SqlColumn::new(
            "path_ns",
            ColumnType::Integer,
            "its time on the critical path, nanoseconds",
            |rows: &Self| durations(rows.times(&rows.unit.slice.calls.path_time)),
        ),
        SqlColumn::new("structure", ColumnType::Text, "the call tree of its request", |rows: &Self| {
            rows.unit.structures(rows.requests().map(|one| one.structure))
        }),
    ];

    async fn parts(tables: &StoredTables, bounds: &Bounds) -> Result<Vec<UnitPart>, UnreadableSegment> {
        unit::parts(tables, bounds).await
    }

    async fn read(
        part: &UnitPart,
        options: &ReadOptions,
        _: &mut HashSet<String>,
    ) -> Result<(Vec<CallRows>, usize), UnreadableSegment> {
        let unit = part.read(true).await?;
        let bytes = unit.slice.estimated_bytes();
        let mut batches = Vec::new();
        let (mut start, mut rows) = (0, 0);
        for request in 0..unit.slice.requests.len() {
            rows += unit.structure_of(request).len();
            if rows >= options.batch_rows || request + 1 == unit.slice.requests.len() {
                let requests = start..request + 1;
                batches.push(CallRows { unit: Arc::clone(&unit), requests, rows });
                (start, rows) = (request + 1, 0);
            }
        }
        Ok((batches, bytes))
    }

    fn rows(&self) -> usize {
        self.rows
    }
}
