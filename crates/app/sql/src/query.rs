//! One query: within its memory, on its threads, repeated without segments that turn out to be damaged.

use crate::memory::QueryMemory;
use crate::output::{SqlOutput, Writer};
use crate::table::StoredTables;
use crate::tables;
use datafusion::common::config::Dialect;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::disk_manager::DiskManagerMode;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use laggard_model::Losses;
use laggard_store::UnreadableSegment;
use std::fmt;
use std::io::{self, Write};
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

/// Why there is no answer.
#[derive(Debug)]
pub enum SqlError {
    /// The query is not valid, or its values are not.
    Query(String),
    /// It needs more memory than it may use, or temporary files cannot be written.
    Failed(String),
    /// The store cannot be read. After a server has replaced what was read, the newest view can be.
    Storage(String),
    /// A segment is damaged, and part of the answer was already written.
    Partial(String),
    /// The answer cannot be written.
    Output(io::Error),
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlError::Query(text) | SqlError::Failed(text) | SqlError::Storage(text) => f.write_str(text),
            SqlError::Partial(text) => write!(f, "{text}; the rows above are not all"),
            SqlError::Output(error) => write!(f, "the answer cannot be written: {error}"),
        }
    }
}

impl std::error::Error for SqlError {}

/// The error that ends a query for a segment.
pub(crate) fn retry_error(segment: &UnreadableSegment) -> DataFusionError {
    DataFusionError::External(segment.to_string().into())
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
    let mut writer = Writer::new(output, out);
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
            None => return Err(failed),
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
    writer: &mut Writer<'_>,
) -> Result<(), SqlError> {
    let mut config =
        SessionConfig::new().with_target_partitions(limits.threads.get()).with_information_schema(true);
    config.options_mut().sql_parser.dialect = Dialect::PostgreSQL;
    // Each thread sets this aside to merge what it has sorted and spilled: 10 MB by default, which is too much of little memory.
    let merging = &mut config.options_mut().execution.sort_spill_reservation_bytes;
    *merging = (*merging).min(limits.memory_bytes / (8 * limits.threads.get()));
    let session = SessionContext::new_with_config_rt(config, Arc::clone(runtime));
    for (name, table) in tables::all(stored) {
        session.register_table(name, table).map_err(failed)?;
    }
    let only_questions =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    let answer = session.sql_with_options(query, only_questions).await.map_err(failed)?;
    let schema = Arc::new(answer.schema().as_arrow().clone());
    let mut batches = answer.execute_stream().await.map_err(failed)?;
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
        _ => SqlError::Query(text),
    }
}
