//! The tables: what their rows are, and which part of the store those come from. One module for each.

mod calls;
mod events;
mod incidents;
mod requests;
mod samples;
mod spans;
mod structures;
mod unit;

use crate::rows::{TablePart, TableRows};
use crate::stored::{IncidentRow, StoredTables};
use crate::table::Table;
use crate::workers::{TableScan, UnitScans};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, internal_err};
use laggard_engine::UnitId;
use laggard_store::StoredSegment;
use std::sync::Arc;

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

fn text_of<R: TableRows<P>, P: TablePart>() -> TableText {
    let columns = R::COLUMNS.iter();
    let columns = columns.map(|one| (one.name, one.data.name(), one.optional, one.about)).collect();
    TableText { name: R::NAME, about: R::ABOUT, columns }
}

impl TablePart for Arc<StoredSegment> {
    fn unit(&self) -> Option<UnitId> {
        Some(UnitId::Segment(self.number()))
    }
}

macro_rules! tables {
    ($($rows:ty, $part:ty;)*) => {
        /// All tables, as the manual describes them.
        pub fn table_texts() -> Vec<TableText> {
            vec![$(text_of::<$rows, $part>()),*]
        }

        /// All tables by their names.
        pub(crate) fn all(tables: &Arc<StoredTables>) -> Vec<(&'static str, Arc<dyn TableProvider>)> {
            vec![$((<$rows as TableRows<$part>>::NAME, Arc::new(Table::<$rows, $part>::new(Arc::clone(tables))) as _)),*]
        }

        /// The names of all tables.
        pub(crate) const NAMES: &[&str] = &[$(<$rows as TableRows<$part>>::NAME),*];

        /// The columns of a scan, and its units, each with what reads it.
        pub(crate) async fn unit_scans(
            tables: &Arc<StoredTables>,
            scan: &TableScan,
        ) -> Result<(SchemaRef, UnitScans)> {
            $(if scan.table == <$rows as TableRows<$part>>::NAME {
                return Table::<$rows, $part>::new(Arc::clone(tables)).unit_scans(scan).await;
            })*
            internal_err!("there is no table {}", scan.table)
        }
    };
}

tables!(
    spans::SpanRows, Arc<StoredSegment>;
    requests::RequestRows, unit::UnitPart;
    calls::CallRows, unit::UnitPart;
    structures::StructureRows, unit::UnitPart;
    samples::SampleRows, Arc<StoredSegment>;
    events::EventRows, Arc<StoredSegment>;
    incidents::IncidentRows, Arc<[IncidentRow]>;
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
        fn check<R: TableRows<P>, P: TablePart>() {
            let names: BTreeSet<&str> = R::COLUMNS.iter().map(|column| column.name).collect();
            assert_eq!(names.len(), R::COLUMNS.len(), "{}", R::NAME);
            assert!(
                [R::TIME, R::TRACE].into_iter().flatten().all(|name| names.contains(name)),
                "{}",
                R::NAME
            );
        }
        check::<spans::SpanRows, Arc<StoredSegment>>();
        check::<requests::RequestRows, unit::UnitPart>();
        check::<calls::CallRows, unit::UnitPart>();
        check::<structures::StructureRows, unit::UnitPart>();
        check::<samples::SampleRows, Arc<StoredSegment>>();
        check::<events::EventRows, Arc<StoredSegment>>();
        check::<incidents::IncidentRows, Arc<[IncidentRow]>>();
    }
}
