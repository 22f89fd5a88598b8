//! The tables: what their rows are, and which part of the store those come from. One module for each.

mod calls;
mod events;
mod incidents;
mod requests;
mod samples;
mod spans;
mod structures;
mod unit;

pub use incidents::IncidentRow;

use crate::bounds::Bounds;
use crate::column::Column;
use crate::table::{StoredTables, Table};
use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use laggard_store::UnreadableSegment;
use std::sync::Arc;

/// Rows of a table that become one batch.
#[async_trait]
pub(crate) trait TableRows: Send + Sync + Sized + 'static {
    const NAME: &'static str;
    /// What a row is.
    const ABOUT: &'static str;
    const COLUMNS: &'static [Column<Self>];
    /// The column whose bounds select parts.
    const TIME: Option<&'static str>;
    /// The column of ids of traces, if these select parts.
    const TRACE: Option<&'static str> = None;
    /// Whether rows of different parts depend on each other: then one thread reads them all.
    const IN_ONE_PARTITION: bool = false;

    /// What is read at once.
    type Part: Clone + Send + Sync;
    /// What reading leaves for the parts after it in the same partition.
    type State: Default + Send;

    /// The parts that may have rows within bounds.
    async fn parts(tables: &StoredTables, bounds: &Bounds) -> Result<Vec<Self::Part>, UnreadableSegment>;

    /// The rows of a part, so many in a batch, and about how many bytes they need in memory.
    async fn read(
        part: &Self::Part,
        reading: &Reading,
        state: &mut Self::State,
    ) -> Result<(Vec<Self>, usize), UnreadableSegment>;

    fn rows(&self) -> usize;
}

/// How rows are read.
#[derive(Clone)]
pub(crate) struct Reading {
    pub(crate) bounds: Bounds,
    /// Whether a column of the query needs calls.
    pub(crate) with_calls: bool,
    pub(crate) batch_rows: usize,
}

/// Ranges of so many rows.
fn batches(rows: usize, batch_rows: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..rows).step_by(batch_rows).map(move |start| start..(start + batch_rows).min(rows))
}

/// A table in texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableText {
    /// Its name in queries.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Name, SQL type, whether values may be absent, and meaning of each column.
    pub columns: Vec<(&'static str, &'static str, bool, &'static str)>,
}

fn text_of<R: TableRows>() -> TableText {
    let columns = R::COLUMNS.iter();
    let columns = columns.map(|one| (one.name, one.data.name(), one.optional, one.about)).collect();
    TableText { name: R::NAME, about: R::ABOUT, columns }
}

macro_rules! tables {
    ($($rows:ty),* $(,)?) => {
        /// All tables, as the manual describes them.
        pub fn table_texts() -> Vec<TableText> {
            vec![$(text_of::<$rows>()),*]
        }

        /// All tables by their names.
        pub(crate) fn all(tables: &Arc<StoredTables>) -> Vec<(&'static str, Arc<dyn TableProvider>)> {
            vec![$((<$rows>::NAME, Arc::new(Table::<$rows>::new(Arc::clone(tables))) as _)),*]
        }
    };
}

tables!(
    spans::SpanRows,
    requests::RequestRows,
    calls::CallRows,
    structures::StructureRows,
    samples::SampleRows,
    events::EventRows,
    incidents::IncidentRows,
);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The manual has every table and column, as they are declared.
    #[test]
    fn the_manual_describes_the_tables() {
        let manual = include_str!("../../../../../docs/manual/sql.md");
        let described = &manual[manual.find("\n## Tables\n").unwrap()..];
        let expected: String = table_texts()
            .iter()
            .map(|table| {
                let rows: String = table
                    .columns
                    .iter()
                    .map(|(name, data, optional, about)| {
                        let null = if *optional { ", or null" } else { "" };
                        format!("| `{name}` | {data}{null} | {about} |\n")
                    })
                    .collect();
                format!(
                    "### `{}`\n\n{}\n\n| column | type | meaning |\n|---|---|---|\n{rows}\n",
                    table.name, table.about
                )
            })
            .collect();
        assert!(described.contains(&expected), "the tables of docs/manual/sql.md should be:\n{expected}");
    }

    #[test]
    fn columns_that_bound_a_table_are_its_own() {
        fn check<R: TableRows>() {
            let names: BTreeSet<&str> = R::COLUMNS.iter().map(|column| column.name).collect();
            assert_eq!(names.len(), R::COLUMNS.len(), "{}", R::NAME);
            assert!(
                [R::TIME, R::TRACE].into_iter().flatten().all(|name| names.contains(name)),
                "{}",
                R::NAME
            );
        }
        check::<spans::SpanRows>();
        check::<requests::RequestRows>();
        check::<calls::CallRows>();
        check::<structures::StructureRows>();
        check::<samples::SampleRows>();
        check::<events::EventRows>();
        check::<incidents::IncidentRows>();
    }
}
