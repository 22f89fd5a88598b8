//! A table of the store as the engine sees it: partitions, each a stream of batches.

use crate::bounds::Bounds;
use crate::query::{SqlError, retry_error};
use crate::tables::{IncidentRow, Reading, TableRows};
use async_trait::async_trait;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::{StreamExt, TryStreamExt, stream};
use laggard_model::Losses;
use laggard_store::{StoredRows, StoredSegment, UnreadableSegment, View};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard};

/// What the tables are of: a view of a store, and what a server has detected in it.
pub struct StoredTables {
    view: View,
    incidents: Arc<[IncidentRow]>,
    /// Losses in what was read, of each window once: a query may read several tables, or one several times.
    notes: Mutex<Vec<Losses>>,
    /// A segment that could not be read: the query ends, and is repeated without it.
    unreadable: Mutex<Option<UnreadableSegment>>,
}

impl StoredTables {
    /// Tables of a view.
    pub fn new(view: View, incidents: Vec<IncidentRow>) -> StoredTables {
        let incidents = incidents.into();
        StoredTables { view, incidents, notes: Mutex::default(), unreadable: Mutex::default() }
    }

    /// The same without a segment; and what that held.
    pub(crate) async fn without(
        &self,
        unreadable: UnreadableSegment,
    ) -> Result<(StoredTables, Losses), SqlError> {
        let without = self.view.without(unreadable).await;
        let (view, lost) = without.map_err(|error| SqlError::Storage(error.to_string()))?;
        let incidents = Arc::clone(&self.incidents);
        let tables = StoredTables { view, incidents, notes: Mutex::default(), unreadable: Mutex::default() };
        Ok((tables, lost))
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    pub(crate) fn incidents(&self) -> Arc<[IncidentRow]> {
        Arc::clone(&self.incidents)
    }

    /// Segments with such rows, the largest first, so that threads end at about the same time.
    pub(crate) fn segments(&self, rows: StoredRows, bounds: &Bounds) -> Vec<Arc<StoredSegment>> {
        let mut found = self.view.segments(rows, bounds.window.clone(), bounds.traces.as_deref());
        found.sort_by_key(|segment| std::cmp::Reverse(segment.rows()));
        found.into_iter().map(Arc::new).collect()
    }

    pub(crate) fn note(&self, losses: &Losses) {
        let mut notes = lock(&self.notes);
        if !notes.contains(losses) {
            notes.push(losses.clone());
        }
    }

    /// What the answer lacks.
    pub(crate) fn notes(&self) -> Losses {
        let mut all = Losses::none();
        lock(&self.notes).iter().for_each(|losses| all.merge(losses));
        all
    }

    /// The segment for which the query ended.
    pub(crate) fn take_unreadable(&self) -> Option<UnreadableSegment> {
        lock(&self.unreadable).take()
    }

    fn end_for(&self, segment: UnreadableSegment) -> datafusion::error::DataFusionError {
        let error = retry_error(&segment);
        *lock(&self.unreadable) = Some(segment);
        error
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds the lock")
}

/// A table whose rows are read as `R`.
pub(crate) struct Table<R> {
    tables: Arc<StoredTables>,
    schema: SchemaRef,
    rows: PhantomData<fn() -> R>,
}

impl<R: TableRows> Table<R> {
    pub(crate) fn new(tables: Arc<StoredTables>) -> Table<R> {
        let fields: Vec<_> = R::COLUMNS.iter().map(|column| column.field()).collect();
        Table { tables, schema: Arc::new(Schema::new(fields)), rows: PhantomData }
    }
}

impl<R: TableRows> fmt::Debug for Table<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table {}", R::NAME)
    }
}

#[async_trait]
impl<R: TableRows> TableProvider for Table<R> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Conditions select parts; rows of these are checked by the engine.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns: Arc<[usize]> = match projection {
            Some(columns) => columns.as_slice().into(),
            None => (0..R::COLUMNS.len()).collect(),
        };
        let schema = Arc::new(self.schema.project(&columns)?);
        let bounds = Bounds::of(filters, R::TIME, R::TRACE);
        if bounds.are_empty() {
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        self.tables.note(&self.tables.view.lost(bounds.window.clone()));
        let parts = R::parts(&self.tables, &bounds).await.map_err(|error| self.tables.end_for(error))?;
        let reading = Reading {
            bounds,
            with_calls: columns.iter().any(|&column| R::COLUMNS[column].needs_calls),
            batch_rows: state.config().batch_size(),
        };
        let most = if R::IN_ONE_PARTITION { 1 } else { state.config().target_partitions() };
        let partitions: Vec<Arc<dyn PartitionStream>> = dealt(parts, most)
            .into_iter()
            .map(|parts| {
                Arc::new(Partition::<R> {
                    tables: Arc::clone(&self.tables),
                    schema: Arc::clone(&schema),
                    columns: Arc::clone(&columns),
                    reading: reading.clone(),
                    parts,
                }) as _
            })
            .collect();
        if partitions.is_empty() {
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        Ok(Arc::new(StreamingTableExec::try_new(schema, partitions, None, None, false, limit)?))
    }
}

/// Deals parts in turn, to so many partitions at most; none is empty.
fn dealt<P>(parts: Vec<P>, most: usize) -> Vec<Vec<P>> {
    let mut dealt: Vec<Vec<P>> = (0..most.min(parts.len())).map(|_| Vec::new()).collect();
    let count = dealt.len();
    for (index, part) in parts.into_iter().enumerate() {
        dealt[index % count].push(part);
    }
    dealt
}

/// Parts that one thread reads.
struct Partition<R: TableRows> {
    tables: Arc<StoredTables>,
    schema: SchemaRef,
    /// Which columns of the table.
    columns: Arc<[usize]>,
    reading: Reading,
    parts: Vec<R::Part>,
}

impl<R: TableRows> fmt::Debug for Partition<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} parts", R::NAME, self.parts.len())
    }
}

impl<R: TableRows> PartitionStream for Partition<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let reservation = MemoryConsumer::new(format!("rows of {}", R::NAME)).register(context.memory_pool());
        let reader = PartReader::<R> {
            tables: Arc::clone(&self.tables),
            reading: self.reading.clone(),
            parts: self.parts.clone().into_iter(),
            state: R::State::default(),
            reservation,
        };
        let (schema, columns) = (Arc::clone(&self.schema), Arc::clone(&self.columns));
        let parts = stream::try_unfold(reader, PartReader::next);
        let batches = parts
            .map_ok(move |rows| {
                let (schema, columns) = (Arc::clone(&schema), Arc::clone(&columns));
                stream::iter(rows).map(move |rows| batch(&schema, &columns, &rows))
            })
            .try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}

/// Reads one part after the other. The memory of a part is reserved until the next one is read.
struct PartReader<R: TableRows> {
    tables: Arc<StoredTables>,
    reading: Reading,
    parts: std::vec::IntoIter<R::Part>,
    state: R::State,
    reservation: MemoryReservation,
}

impl<R: TableRows> PartReader<R> {
    async fn next(mut self) -> Result<Option<(Vec<R>, PartReader<R>)>> {
        let Some(part) = self.parts.next() else { return Ok(None) };
        let read = R::read(&part, &self.reading, &mut self.state).await;
        let (rows, bytes) = read.map_err(|error| self.tables.end_for(error))?;
        self.reservation.resize(bytes);
        Ok(Some((rows, self)))
    }
}

fn batch<R: TableRows>(schema: &SchemaRef, columns: &[usize], rows: &R) -> Result<RecordBatch> {
    let values = columns.iter().map(|&column| (R::COLUMNS[column].values)(rows)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), values, &options)?)
}
