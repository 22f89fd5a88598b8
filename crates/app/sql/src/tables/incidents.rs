//! The table of incidents.

use crate::bounds::Bounds;
use crate::column::{ColumnType, SqlColumn, integers, optional_texts, optional_times, texts, times};
use crate::rows::{ReadOptions, TablePart, TableRows};
use crate::stored::{IncidentRow, StoredTables};
use async_trait::async_trait;
use laggard_engine::UnitId;
use laggard_store::UnreadableSegment;
use std::collections::HashSet;
use std::sync::Arc;

/// All incidents.
pub(crate) struct IncidentRows(Arc<[IncidentRow]>);

/// They are read before the query.
impl TablePart for Arc<[IncidentRow]> {
    fn unit(&self) -> Option<UnitId> {
        None
    }
}

#[async_trait]
impl TableRows<Arc<[IncidentRow]>> for IncidentRows {
    const NAME: &'static str = "incidents";
    const ABOUT: &'static str = "An incident that the server has detected; closed ones for 400 days.";
    const TIME: Option<&'static str> = None;
    const COLUMNS: &'static [SqlColumn<Self>] = &[
        SqlColumn::new("incident", ColumnType::Text, "its id", |rows: &Self| {
            texts(rows.0.iter().map(|one| &one.id))
        }),
        SqlColumn::new("state", ColumnType::Text, "open or closed", |rows: &Self| {
            texts(rows.0.iter().map(|one| &one.state))
        }),
        SqlColumn::new(
            "opened_time",
            ColumnType::Time,
            "when it was opened, by the server's clock",
            |rows: &Self| times(rows.0.iter().map(|one| one.opened)),
        ),
        SqlColumn::new(
            "closed_time",
            ColumnType::Time,
            "when it was closed; absent while it is open",
            |rows: &Self| optional_times(rows.0.iter().map(|one| one.closed)),
        )
        .optional(),
        SqlColumn::new(
            "since_time",
            ColumnType::Time,
            "since when, by the clocks of the data",
            |rows: &Self| times(rows.0.iter().map(|one| one.since)),
        ),
        SqlColumn::new(
            "cause",
            ColumnType::Text,
            "class of the cause; absent if it was not looked for",
            |rows: &Self| optional_texts(rows.0.iter().map(|one| one.cause.as_ref())),
        )
        .optional(),
        SqlColumn::new("alerts", ColumnType::Integer, "alerts of it", |rows: &Self| {
            integers(rows.0.iter().map(|one| one.alerts as i64))
        }),
        SqlColumn::new(
            "verdict",
            ColumnType::Text,
            "the verdict, a line for each clause; absent until it is known",
            |rows: &Self| optional_texts(rows.0.iter().map(|one| one.verdict.as_ref())),
        )
        .optional(),
    ];

    async fn parts(tables: &StoredTables, _: &Bounds) -> Result<Vec<Arc<[IncidentRow]>>, UnreadableSegment> {
        Ok(vec![tables.incidents()])
    }

    async fn read(
        part: &Arc<[IncidentRow]>,
        _: &ReadOptions,
        _: &mut HashSet<String>,
    ) -> Result<(Vec<IncidentRows>, usize), UnreadableSegment> {
        Ok((vec![IncidentRows(Arc::clone(part))], size_of_val(&part[..])))
    }

    fn rows(&self) -> usize {
        self.0.len()
    }
}
