//! Questions about the data folder of a server, answered without the server, whether it runs or not.

use super::TenantQueries;
use crate::api::cache::RequestCache;
use crate::api::jobs::Progress;
use crate::api::parameters::now;
use crate::api::problem::{ApiError, ProblemKind};
use crate::client::QueryError;
use crate::events::TenantEvents;
use crate::operations::{DataFolder, DataLock, ProcessMemory};
use laggard_params::{BaselineData, CompareParams, ComparedData, DiagnoseParams};
use laggard_report::{Comparison, Report, SystemEvent};
use laggard_store::{StoreError, StoreFolder, StoreReader, StoreSettings};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::runtime::Runtime;

/// What a question about a data folder may use.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// Memory of the process, bytes.
    pub memory_bytes: u64,
    /// Most calls that are compared; of more, frequent requests are thinned.
    pub calls_max: u64,
    /// Threads that read and compute.
    pub threads: NonZeroUsize,
}

/// The stored data of a tenant, read from its folder. Nothing of the folder is changed, and a server may have it open.
pub struct StoredData {
    // Before what is dropped with it: the runtime ends first.
    runtime: Runtime,
    reader: StoreReader,
    events: Arc<TenantEvents>,
    cautions: Vec<String>,
    cache: Arc<RequestCache>,
    memory: Arc<ProcessMemory>,
    limits: ReadLimits,
}

/// A question is asked again this many times when a server has replaced what it read meanwhile.
const ATTEMPTS_MAX: usize = 6;

impl StoredData {
    /// Opens a data folder, or the folder of a tenant in it.
    ///
    /// # Errors
    /// When it is no data folder, has no such tenant, or several and none is named; when the store is of a later version, or its manifest
    /// cannot be read.
    pub fn open(folder: &Path, tenant: Option<&str>, limits: ReadLimits) -> Result<StoredData, String> {
        let tenant_folder = DataFolder::of_tenant(folder, tenant)?;
        let memory = Arc::new(ProcessMemory::new(Some(limits.memory_bytes)));
        let runtime = runtime(limits.threads)?;
        let store = StoreFolder::new(&tenant_folder);
        let cache_bytes = memory.at_most_a_quarter(StoreSettings::default().cache_bytes);
        let settings = StoreSettings { cache_bytes, ..StoreSettings::default() };
        let failed = |error: StoreError| format!("{}: {error}", tenant_folder.display());
        let reader = runtime.block_on(store.read(&settings)).map_err(failed)?;
        let events = TenantEvents::read(&tenant_folder)
            .map_err(|error| format!("{}: events: {error}", tenant_folder.display()))?;
        let mut cautions = Vec::new();
        if events.damaged() > 0 {
            cautions.push(format!("Damaged lines among the stored events: {}.", events.damaged()));
        }
        // What a running server has only in its log, it does not answer either.
        if data_folder_of(&tenant_folder).and_then(|folder| DataLock::owner(&folder)).is_none() {
            let waiting = store.log_spans(&reader).map_err(failed)?;
            cautions.extend((waiting > 0).then(|| in_log(waiting)));
        }
        Ok(StoredData {
            reader,
            events: Arc::new(events),
            cautions,
            cache: Arc::new(RequestCache::new(memory.at_most_an_eighth(crate::api::cache::BYTES_MAX))),
            memory,
            limits,
            runtime,
        })
    }

    /// The report on stored requests that a server would give.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn diagnose(&self, params: &DiagnoseParams) -> Result<Report, QueryError> {
        let invalid = |error| QueryError::from(ApiError::from(error));
        let settings = params.settings(now()).map_err(invalid)?;
        params.check_baseline(&settings, BaselineData::Same).map_err(invalid)?;
        let events = params.events(now());
        let mut report =
            self.answer(&events, |queries, progress| match params.baseline_is_automatic(&settings) {
                true => queries.diagnose_with_earlier(settings.clone(), progress),
                false => queries.diagnose(&settings, progress),
            })?;
        report.cautions.extend(self.cautions.iter().cloned());
        Ok(report)
    }

    /// The comparison of two windows of stored requests that a server would give.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn compare(&self, params: &CompareParams) -> Result<Comparison, QueryError> {
        let invalid = |error| QueryError::from(ApiError::from(error));
        let windows = params.windows(ComparedData::One, now()).map_err(invalid)?;
        params.settings().map_err(invalid)?;
        let mut comparison =
            self.answer(&[], |queries, progress| queries.compare(params, windows, progress))?;
        comparison.cautions.extend(self.cautions.iter().cloned());
        Ok(comparison)
    }

    /// Answers a question; again, if a server has replaced what was read meanwhile.
    fn answer<R>(
        &self,
        declared: &[SystemEvent],
        work: impl Fn(&TenantQueries, &Progress) -> Result<R, ApiError>,
    ) -> Result<R, QueryError> {
        let mut attempt = 1;
        loop {
            let error = match work(&self.queries(declared), &Progress::new()) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let may_help = error.kind() == ProblemKind::Storage && attempt < ATTEMPTS_MAX;
            if !may_help || !self.runtime.block_on(self.reader.refresh()).map_err(ApiError::from)? {
                return Err(error.into());
            }
            attempt += 1;
        }
    }

    fn queries(&self, declared: &[SystemEvent]) -> TenantQueries {
        TenantQueries {
            views: self.reader.views(),
            cache: Arc::clone(&self.cache),
            memory: Arc::clone(&self.memory),
            calls_max: self.limits.calls_max.min(self.memory.calls_max()),
            reserved: Mutex::default(),
            threads: self.limits.threads,
            last_selection: Mutex::default(),
            handle: self.runtime.handle().clone(),
            events: Arc::clone(&self.events),
            declared: declared.to_vec(),
        }
    }
}

impl From<ApiError> for QueryError {
    fn from(error: ApiError) -> QueryError {
        let detail = error.detail().to_owned();
        match error.kind() {
            ProblemKind::Invalid => QueryError::Invalid(detail),
            ProblemKind::TooLittleData => QueryError::TooLittleData(detail),
            _ => QueryError::Unanswered(detail),
        }
    }
}

/// Decodes on as many threads as are to compute; the question itself waits on the caller's.
fn runtime(threads: NonZeroUsize) -> Result<Runtime, String> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let builder = builder.worker_threads(1).max_blocking_threads(threads.get()).enable_all();
    builder.build().map_err(|error| format!("no threads: {error}"))
}

/// The data folder that has a tenant's.
fn data_folder_of(tenant_folder: &Path) -> Option<PathBuf> {
    Some(tenant_folder.canonicalize().ok()?.parent()?.parent()?.to_owned())
}

fn in_log(spans: u64) -> String {
    format!(
        "Up to {spans} spans are in the log only, and not considered: a server that opens the folder stores them in segments."
    )
}
