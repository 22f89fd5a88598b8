//! A table of the store as the engine sees it: partitions, each a stream of batches.

use crate::bounds::Bounds;
use crate::rows::{ReadOptions, TablePart, TableRows};
use crate::stored::StoredTables;
use crate::workers::{TableScan, UnitScans, UnitsExec};
use async_trait::async_trait;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::{StreamExt, TryStreamExt, stream};
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A table whose rows are read as `R`.
pub(crate) struct Table<R, P> {
    tables: Arc<StoredTables>,
    schema: SchemaRef,
    rows: PhantomData<fn() -> (R, P)>,
}

impl<R: TableRows<P>, P: TablePart> Table<R, P> {
    pub(crate) fn new(tables: Arc<StoredTables>) -> Table<R, P> {
        let fields: Vec<_> = R::COLUMNS.iter().map(|column| column.field()).collect();
        Table { tables, schema: Arc::new(Schema::new(fields)), rows: PhantomData }
    }
}

impl<R: TableRows<P>, P: TablePart> fmt::Debug for Table<R, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table {}", R::NAME)
    }
}

#[async_trait]
impl<R: TableRows<P>, P: TablePart> TableProvider for Table<R, P> {
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
        self.tables.note(&self.tables.view().lost(bounds.window.clone()));
        let parts = R::parts(&self.tables, &bounds).await.map_err(|error| self.tables.end_for(error))?;
        if parts.is_empty() {
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let config = state.config();
        let scan = TableScan { table: R::NAME, columns, bounds, batch_rows: config.batch_size(), limit };
        if self.tables.has_workers() && !R::IN_ONE_PARTITION && parts.iter().all(|part| part.unit().is_some())
        {
            let scans = self.scans_of(parts, &scan)?;
            return Ok(Arc::new(UnitsExec::new(scan, schema, scans, config.target_partitions())));
        }
        let most = if R::IN_ONE_PARTITION { 1 } else { config.target_partitions() };
        self.scan_of(dealt(parts, most), &scan)
    }
}

impl<R: TableRows<P>, P: TablePart> Table<R, P> {
    /// Reads parts, with a thread for each of some.
    fn scan_of(&self, parts: Vec<Vec<P>>, scan: &TableScan) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = Arc::new(self.schema.project(&scan.columns)?);
        let columns = || scan.columns.iter().map(|&column| &R::COLUMNS[column]);
        let options = ReadOptions {
            bounds: scan.bounds.clone(),
            with_calls: columns().any(|column| column.needs_calls),
            span_columns: columns().flat_map(|column| column.span_columns).copied().collect(),
            batch_rows: scan.batch_rows,
        };
        let partition = |parts| {
            Arc::new(Partition::<R, P> {
                tables: Arc::clone(&self.tables),
                schema: Arc::clone(&schema),
                columns: Arc::clone(&scan.columns),
                options: options.clone(),
                parts,
                rows: PhantomData,
            }) as Arc<dyn PartitionStream>
        };
        let partitions = parts.into_iter().map(partition).collect();
        let schema = Arc::clone(&schema);
        Ok(Arc::new(StreamingTableExec::try_new(schema, partitions, None, None, false, scan.limit)?))
    }

    fn scans_of(&self, parts: Vec<P>, scan: &TableScan) -> Result<UnitScans> {
        let units = parts.into_iter().filter_map(|part| Some((part.unit()?, part)));
        units.map(|(unit, part)| Ok((unit, self.scan_of(vec![vec![part]], scan)?))).collect()
    }

    /// The units of a scan, each with what reads it.
    pub(crate) async fn unit_scans(&self, scan: &TableScan) -> Result<(SchemaRef, UnitScans)> {
        let columns = R::COLUMNS.len();
        if let Some(unknown) = scan.columns.iter().find(|&&column| column >= columns) {
            return internal_err!("{} has no column {unknown}", R::NAME);
        }
        let parts = R::parts(&self.tables, &scan.bounds).await;
        let parts = parts.map_err(|error| self.tables.end_for(error))?;
        Ok((Arc::new(self.schema.project(&scan.columns)?), self.scans_of(parts, scan)?))
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
struct Partition<R, P> {
    tables: Arc<StoredTables>,
    schema: SchemaRef,
    /// Which columns of the table.
    columns: Arc<[usize]>,
    options: ReadOptions,
    parts: Vec<P>,
    rows: PhantomData<fn() -> R>,
}

impl<R: TableRows<P>, P: TablePart> fmt::Debug for Partition<R, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} parts", R::NAME, self.parts.len())
    }
}

impl<R: TableRows<P>, P: TablePart> PartitionStream for Partition<R, P> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let reservation = MemoryConsumer::new(format!("rows of {}", R::NAME)).register(context.memory_pool());
        let reader = PartReader::<R, P> {
            tables: Arc::clone(&self.tables),
            options: self.options.clone(),
            parts: self.parts.clone().into_iter(),
            earlier: HashSet::new(),
            reservation,
            rows: PhantomData,
        };
        let (schema, columns) = (Arc::clone(&self.schema), Arc::clone(&self.columns));
        let parts = stream::try_unfold(reader, PartReader::next);
        let batches = parts
            .map_ok(move |rows| {
                let (schema, columns) = (Arc::clone(&schema), Arc::clone(&columns));
                stream::iter(rows).map(move |rows| batch::<R, P>(&schema, &columns, &rows))
            })
            .try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}

/// Reads one part after the other. The memory of a part is reserved until the next one is read.
struct PartReader<R, P> {
    tables: Arc<StoredTables>,
    options: ReadOptions,
    parts: std::vec::IntoIter<P>,
    earlier: HashSet<String>,
    reservation: MemoryReservation,
    rows: PhantomData<fn() -> R>,
}

impl<R: TableRows<P>, P: TablePart> PartReader<R, P> {
    async fn next(mut self) -> Result<Option<(Vec<R>, PartReader<R, P>)>> {
        let Some(part) = self.parts.next() else { return Ok(None) };
        let read = R::read(&part, &self.options, &mut self.earlier).await;
        let (rows, bytes) = read.map_err(|error| self.tables.end_for(error))?;
        self.reservation.resize(bytes);
        Ok(Some((rows, self)))
    }
}

fn batch<R: TableRows<P>, P: TablePart>(
    schema: &SchemaRef,
    columns: &[usize],
    rows: &R,
) -> Result<RecordBatch> {
    let values = columns.iter().map(|&column| (R::COLUMNS[column].values)(rows)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), values, &options)?)
}
