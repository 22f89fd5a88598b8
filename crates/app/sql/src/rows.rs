//! What a table declares: its columns, the parts of the store that have its rows, and how a part is read.

use crate::bounds::Bounds;
use crate::column::SqlColumn;
use crate::stored::StoredTables;
use async_trait::async_trait;
use laggard_engine::UnitId;
use laggard_store::{SpanColumn, UnreadableSegment};
use std::collections::HashSet;
use std::sync::Arc;

/// What is read at once.
pub(crate) trait TablePart: Clone + Send + Sync + 'static {
    /// Which unit of the store it is, if workers can read it.
    fn unit(&self) -> Option<UnitId>;
}

/// Rows of a table that become one batch, of parts `P` that are read at once.
#[async_trait]
pub(crate) trait TableRows<P: TablePart>: Send + Sync + Sized + 'static {
    const NAME: &'static str;
    /// What a row is.
    const ABOUT: &'static str;
    const COLUMNS: &'static [SqlColumn<Self>];
    /// The column whose bounds select parts.
    const TIME: Option<&'static str>;
    /// The column of ids of traces, if these select parts.
    const TRACE: Option<&'static str> = None;
    /// Whether rows of different parts depend on each other: then one thread reads them all.
    const IN_ONE_PARTITION: bool = false;

    /// The parts that may have rows within bounds.
    async fn parts(tables: &StoredTables, bounds: &Bounds) -> Result<Vec<P>, UnreadableSegment>;

    /// The rows of a part, so many in a batch, and about how many bytes they need in memory. `earlier` has what the parts before it in the
    /// partition added there.
    async fn read(
        part: &P,
        options: &ReadOptions,
        earlier: &mut HashSet<String>,
    ) -> Result<(Vec<Self>, usize), UnreadableSegment>;

    fn rows(&self) -> usize;
}

/// How rows are read.
#[derive(Clone)]
pub(crate) struct ReadOptions {
    pub(crate) bounds: Bounds,
    /// Whether a column of the query needs calls.
    pub(crate) with_calls: bool,
    /// Columns of stored spans that those of the query are made of.
    pub(crate) span_columns: Arc<[SpanColumn]>,
    pub(crate) batch_rows: usize,
}

/// Ranges of so many rows.
pub(crate) fn batches(rows: usize, batch_rows: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..rows).step_by(batch_rows).map(move |start| start..(start + batch_rows).min(rows))
}
