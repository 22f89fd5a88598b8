//! One query: within its memory, on its threads, repeated without segments that turn out to be damaged.

use crate::error::SqlError;
use crate::memory::QueryMemory;
use crate::output::{AnswerWriter, SqlOutput};
use crate::stored::StoredTables;
use crate::tables;
use crate::workers;
use datafusion::common::config::Dialect;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::disk_manager::DiskManagerMode;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use laggard_model::Losses;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// What a query may use.
#[derive(Clone, Debug)]
pub struct SqlLimits {
    /// Memory for rows, groups, and sorting, bytes. What does not fit is written to temporary files, or the query fails.
    pub memory_bytes: usize,
    /// Threads.
    pub threads: NonZeroUsize,
    /// Folder for temporary files; that of the system if it is `None`.
    pub spill_folder: Option<PathBuf>,
}

/// What was written.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Answered {
    /// Rows of the answer.
    pub rows: u64,
    /// Rows that were left out of a table of text.
    pub omitted: u64,
    /// What could not be read.
    pub losses: Losses,
}

/// Answers a query on stored rows.
///
/// # Errors
/// See [`SqlError`].
pub async fn run(
    stored: StoredTables,
    query: &str,
    limits: &SqlLimits,
    output: SqlOutput,
    out: &mut (dyn Write + Send),
) -> Result<Answered, SqlError> {
    let runtime = runtime(limits)?;
    let mut writer = AnswerWriter::new(output, out);
    let (mut stored, mut lost) = (Arc::new(stored), Losses::none());
    loop {
        let failed = match attempt(&stored, query, limits, &runtime, &mut writer).await {
            Ok(()) => {
                let (rows, omitted) = writer.finish().map_err(SqlError::Output)?;
                lost.merge(&stored.notes());
                return Ok(Answered { rows, omitted, losses: lost });
            }
            Err(failed) => failed,
        };
        match stored.take_unreadable() {
            None => return Err(if writer.has_written() { failed.after_rows() } else { failed }),
            Some(segment) if writer.has_written() => return Err(SqlError::Partial(segment.to_string())),
            Some(segment) => {
                let (without, of_segment) = stored.without(segment).await?;
                lost.merge(&of_segment);
                (stored, writer) = (Arc::new(without), writer.again());
            }
        }
    }
}

async fn attempt(
    stored: &Arc<StoredTables>,
    query: &str,
    limits: &SqlLimits,
    runtime: &Arc<RuntimeEnv>,
    writer: &mut AnswerWriter<'_>,
) -> Result<(), SqlError> {
    // With one partition, groups would be formed in one step; of two, workers do the first.
    let partitions = if stored.has_workers() { limits.threads.get().max(2) } else { limits.threads.get() };
    let mut config = SessionConfig::new().with_target_partitions(partitions).with_information_schema(true);
    config.options_mut().sql_parser.dialect = Dialect::PostgreSQL;
    // Each thread sets this aside to merge what it has sorted and spilled: 10 MB by default, which is too much of little memory.
    let merging = &mut config.options_mut().execution.sort_spill_reservation_bytes;
    *merging = (*merging).min(limits.memory_bytes / (8 * limits.threads.get()));
    // Conditions that are found while the query runs cannot be sent.
    config.options_mut().optimizer.enable_dynamic_filter_pushdown &= !stored.has_workers();
    let session = SessionContext::new_with_config_rt(config, Arc::clone(runtime));
    for (name, table) in tables::all(stored) {
        session.register_table(name, table).map_err(failed)?;
    }
    let only_questions =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    let answer = session.sql_with_options(query, only_questions).await.map_err(failed)?;
    let schema = Arc::new(answer.schema().as_arrow().clone());
    let plan = answer.create_physical_plan().await.map_err(failed)?;
    let plan = workers::send(plan, stored).map_err(failed)?;
    let mut batches = execute_stream(plan, session.task_ctx()).map_err(failed)?;
    writer.begin(schema);
    while let Some(batch) = batches.next().await {
        writer.write(&batch.map_err(failed)?).map_err(SqlError::Output)?;
    }
    Ok(())
}

fn runtime(limits: &SqlLimits) -> Result<Arc<RuntimeEnv>, SqlError> {
    let mode = match &limits.spill_folder {
        Some(folder) => DiskManagerMode::Directories(vec![folder.clone()]),
        None => DiskManagerMode::OsTmpDirectory,
    };
    RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(QueryMemory::new(limits.memory_bytes)))
        .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(mode))
        .build_arc()
        .map_err(failed)
}

/// The engine's error without its way through the engine.
fn failed(error: DataFusionError) -> SqlError {
    let root = error.find_root();
    let text = root.strip_backtrace();
    match root {
        DataFusionError::ResourcesExhausted(_) | DataFusionError::IoError(_) => SqlError::Failed(text),
        // What the store or its workers could not read.
        DataFusionError::External(_) => SqlError::Storage(text),
        _ => SqlError::Query(text),
    }
}
