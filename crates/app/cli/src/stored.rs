//! Questions about the data folder of a server, without the server.

use crate::exit::CommandError;
use crate::load::SpanMemory;
use crate::output::RunOptions;
use crate::progress::Meter;
use crate::server::STORED_GROUP;
use crate::trace_source::SOURCE_GROUP;
use clap::Args;
use laggard_server::{ReadLimits, StoredData};
use std::num::NonZeroU64;

/// The data folder that is read instead of files.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Reading the data of a server (docs/manual/store.md)")]
pub(crate) struct StoredFolder {
    /// Read the data folder of `laggard serve` instead of files, without a server or beside it; nothing of it is changed. Also
    /// s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, and az://CONTAINER/PREFIX, in programs built with the features `s3`, `gcs`, and `azure`
    #[arg(long, value_name = "FOLDER", hide = true, group = STORED_GROUP, conflicts_with_all = ["paths", "format", "columns", "beyond_memory", "spill_folder", SOURCE_GROUP])]
    store: Option<String>,
    /// Most calls that are compared; of more, the most frequent kinds of requests are thinned, and the report says so [default:
    /// 100000000, and what fits into half of --memory]
    #[arg(long, value_name = "N", requires = "store", hide = true)]
    calls_max: Option<NonZeroU64>,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    workers: crate::cluster::WorkersOfStore,
}

/// As `limits.calls` of a server.
const CALLS_MAX: u64 = 100_000_000;

impl StoredFolder {
    /// Opens the folder.
    pub(crate) fn open(
        &self,
        tenant: Option<&str>,
        memory: &SpanMemory,
        run: &RunOptions,
    ) -> Result<StoredData, CommandError> {
        let Some(folder) = self.store.as_deref() else {
            return Err(CommandError::usage("no data folder is named"));
        };
        let limits = ReadLimits {
            memory_bytes: memory.bytes as u64,
            calls_max: self.calls_max.map_or(CALLS_MAX, NonZeroU64::get),
            threads: run.threads(),
        };
        #[cfg(feature = "cluster")]
        self.workers.begin();
        let data = StoredData::open(folder, tenant, limits).map_err(CommandError::unreadable)?;
        #[cfg(feature = "cluster")]
        let data = match self.workers.cluster()? {
            Some(workers) => data.with_workers(workers),
            None => data,
        };
        let meter = Meter::without_total();
        Ok(data.with_progress(move |step, done, all| meter.step(step, done, all)))
    }

    /// Whether `--store` is set.
    pub(crate) fn is_set(&self) -> bool {
        self.store.is_some()
    }
}
