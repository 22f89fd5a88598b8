//! The table of incidents.

use super::{Reading, TableRows};
use crate::bounds::Bounds;
use crate::column::{Column, ColumnType, integers, optional_texts, optional_times, texts, times};
use crate::table::StoredTables;
use async_trait::async_trait;
use laggard_model::Timestamp;
use laggard_store::UnreadableSegment;
use std::sync::Arc;

/// An incident that a server has detected.
#[derive(Clone, PartialEq, Debug)]
pub struct IncidentRow {
    /// Sixteen hexadecimal digits.
    pub id: String,
    /// Open or closed.
    pub state: String,
    /// When it was opened, by the server's clock.
    pub opened: Timestamp,
    /// When it was closed.
    pub closed: Option<Timestamp>,
    /// Since when, by the clocks of the data.
    pub since: Timestamp,
    /// The class of the cause, if it was looked for.
    pub cause: Option<String>,
    /// Alerts of it.
    pub alerts: u64,
    /// Its verdict, a line for each clause; absent until it is known.
    pub verdict: Option<String>,
}

/// All incidents.
pub(crate) struct IncidentRows(Arc<[IncidentRow]>);

#[async_trait]
impl TableRows for IncidentRows {
    const NAME: &'static str = "incidents";
    const ABOUT: &'static str = "An incident that the server has detected; closed ones for 400 days.";
    const TIME: Option<&'static str> = None;
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("incident", ColumnType::Text, "its id", |rows: &Self| {
            texts(rows.0.iter().map(|one| &one.id))
        }),
        Column::new("state", ColumnType::Text, "open or closed", |rows: &Self| {
            texts(rows.0.iter().map(|one| &one.state))
        }),
        Column::new(
            "opened_time",
            ColumnType::Time,
            "when it was opened, by the server's clock",
            |rows: &Self| times(rows.0.iter().map(|one| one.opened)),
        ),
        Column::new(
            "closed_time",
            ColumnType::Time,
            "when it was closed; absent while it is open",
            |rows: &Self| optional_times(rows.0.iter().map(|one| one.closed)),
        )
        .optional(),
        Column::new(
            "since_time",
            ColumnType::Time,
            "since when, by the clocks of the data",
            |rows: &Self| times(rows.0.iter().map(|one| one.since)),
        ),
        Column::new(
            "cause",
            ColumnType::Text,
            "class of the cause; absent if it was not looked for",
            |rows: &Self| optional_texts(rows.0.iter().map(|one| one.cause.as_ref())),
        )
        .optional(),
        Column::new("alerts", ColumnType::Integer, "alerts of it", |rows: &Self| {
            integers(rows.0.iter().map(|one| one.alerts as i64))
        }),
        Column::new(
            "verdict",
            ColumnType::Text,
            "the verdict, a line for each clause; absent until it is known",
            |rows: &Self| optional_texts(rows.0.iter().map(|one| one.verdict.as_ref())),
        )
        .optional(),
    ];

    type Part = Arc<[IncidentRow]>;
    type State = ();

    async fn parts(tables: &StoredTables, _: &Bounds) -> Result<Vec<Self::Part>, UnreadableSegment> {
        Ok(vec![tables.incidents()])
    }

    async fn read(
        part: &Self::Part,
        _: &Reading,
        (): &mut (),
    ) -> Result<(Vec<IncidentRows>, usize), UnreadableSegment> {
        Ok((vec![IncidentRows(Arc::clone(part))], size_of_val(&part[..])))
    }

    fn rows(&self) -> usize {
        self.0.len()
    }
}
