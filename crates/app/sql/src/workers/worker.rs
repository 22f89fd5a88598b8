//! The process that computes: a plan over one unit after the other.

use super::job::{decode, decode_plan};
use super::scan::{UnitScans, UnitsExec, scan_below, with_scan};
use crate::memory::QueryMemory;
use crate::stored::StoredTables;
use crate::tables;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use laggard_engine::UnitId;
use laggard_store::View;
use std::sync::Arc;

/// A part of a query, for the units of a view.
pub struct WorkerRows {
    plan: Arc<dyn ExecutionPlan>,
    units: UnitScans,
    context: Arc<TaskContext>,
}

impl WorkerRows {
    /// A part of a query that another process sent ([`WorkerRound::Rows`](laggard_store::WorkerRound::Rows)), within some memory (bytes). No
    /// files are written, and none are read but those of the view.
    ///
    /// # Errors
    /// When it is damaged or does something else than to treat rows of a table unit by unit, or late spans cannot be read.
    pub async fn new(view: View, job: &[u8], memory_bytes: usize) -> Result<WorkerRows, String> {
        WorkerRows::open(view, job, memory_bytes).await.map_err(|error| error.strip_backtrace())
    }

    async fn open(view: View, job: &[u8], memory_bytes: usize) -> Result<WorkerRows> {
        let Ok((scan, plan)) = decode(job) else { return internal_err!("a query is damaged") };
        let no_files = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(QueryMemory::new(memory_bytes)))
            .with_disk_manager_builder(no_files)
            .build_arc()?;
        let config = SessionConfig::new().with_target_partitions(1).with_batch_size(scan.batch_rows);
        let context = SessionContext::new_with_config_rt(config, runtime).task_ctx();
        let tables = Arc::new(StoredTables::new(view, Vec::new()));
        let (schema, units) = tables::unit_scans(&tables, &scan).await?;
        let plan = decode_plan(plan, UnitsExec::new(scan, schema, UnitScans::new(), 1), &context)?;
        if scan_below(&plan).is_none() {
            return internal_err!("workers do not compute {}", plan.name());
        }
        Ok(WorkerRows { plan, units, context })
    }

    /// The encoded rows of a unit.
    ///
    /// # Errors
    /// When the unit is not of the view, cannot be read, or needs too much memory.
    pub async fn part(&self, unit: UnitId) -> Result<Vec<u8>, String> {
        self.rows(unit).await.map_err(|error| error.strip_backtrace())
    }

    async fn rows(&self, unit: UnitId) -> Result<Vec<u8>> {
        let Some(scan) = self.units.get(&unit) else {
            return internal_err!("{unit} is not part of the query");
        };
        let mut rows = with_scan(&self.plan, scan)?.execute(0, Arc::clone(&self.context))?;
        // A task of its own, so that several units are computed at the same time.
        let encoded = SpawnedTask::spawn(async move {
            let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
            while let Some(batch) = rows.next().await {
                writer.write(&batch?)?;
            }
            Ok(writer.into_inner()?)
        });
        match encoded.join().await {
            Ok(encoded) => encoded,
            Err(error) => internal_err!("{unit}: {error}"),
        }
    }
}

/// The rows of a unit, of columns that are known.
pub(super) fn rows_of(encoded: &[u8], schema: &Schema) -> Result<Vec<RecordBatch>> {
    let reader = StreamReader::try_new(encoded, None)?;
    if reader.schema().fields() != schema.fields() {
        return internal_err!("rows of other columns arrived");
    }
    reader.map(|batch| Ok(batch?)).collect()
}
