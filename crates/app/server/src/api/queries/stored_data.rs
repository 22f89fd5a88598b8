//! Questions about the data folder of a server, or a copy of it in a bucket, answered without the server, whether it runs or not.

use super::TenantQueries;
use crate::alerts::{IncidentRecord, stored_incident_files, stored_incidents};
use crate::api::cache::RequestCache;
use crate::api::jobs::{JobProgress, Progress};
use crate::api::parameters::now;
use crate::api::problem::{ApiError, ProblemKind};
use crate::client::QueryError;
use crate::events::TenantEvents;
use crate::operations::{DataLock, ProcessMemory};
use crate::settings::{TENANTS, is_tenant_name};
use laggard_params::{BaselineData, CompareParams, ComparedData, DiagnoseParams};
use laggard_report::{Comparison, Report, SystemEvent, counted};
use laggard_store::{
    DataLocation, StoreError, StoreFolder, StoreReader, StoreSettings, StoreWorkers, UnitWorkers, Views,
    WhenWorkersFail,
};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
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
    observer: Arc<ProgressObserver>,
    /// Its folders, relative to the location: one for each writer.
    folders: Arc<[String]>,
    /// The folder, if there is only one.
    folder: Option<DataLocation>,
    workers: Option<StoreWorkers>,
}

/// Called for each step of an answer, with its name and how many of how many parts of it are done; 0 of 0 if that is not known.
type ProgressObserver = dyn Fn(&'static str, u64, u64) + Send + Sync;

/// A question is asked again this many times when a server has replaced what it read meanwhile.
const ATTEMPTS_MAX: usize = 6;

impl StoredData {
    /// Opens a data folder, or the folder of a tenant in it, by its path or URL ([`DataLocation::parse`]).
    ///
    /// # Errors
    /// When it is no data folder, has no such tenant, or several and none is named; when the store is of a later version, or its manifest
    /// cannot be read.
    pub fn open(location: &str, tenant: Option<&str>, limits: ReadLimits) -> Result<StoredData, String> {
        let memory = Arc::new(ProcessMemory::new(Some(limits.memory_bytes)));
        let runtime = runtime(limits.threads)?;
        let cache_bytes = memory.at_most_a_quarter(StoreSettings::default().cache_bytes);
        let settings = StoreSettings { cache_bytes, ..StoreSettings::default() };
        let reading = async {
            let all = DataLocation::parse(location)?;
            let stores = stores_in(&all, tenant).await?;
            let folders: Arc<[String]> = stores.iter().map(|(folder, _)| folder.clone()).collect();
            let [(_, location)] = stores.as_slice() else {
                for (_, store) in &stores {
                    store.check_is_store().await?;
                }
                let reader = all.read_stores(&folders, &settings).await?;
                let events = TenantEvents::read(&[]).map_err(|error| StoreError::new(error.to_string()))?;
                return Ok((reader, events, None, folders, None));
            };
            let reader = location.read_store(&settings).await?;
            let events = location.file(&TenantEvents::file_name()).await?.unwrap_or_default();
            let events = TenantEvents::read(&events)
                .map_err(|error| StoreError::new(format!("{location}: events: {error}")))?;
            let waiting = in_log(location, &reader).await?;
            Ok((reader, events, waiting, folders, Some(location.clone())))
        };
        let read: Result<_, StoreError> = runtime.block_on(reading);
        let (reader, events, waiting, folders, folder) = read.map_err(|error| error.to_string())?;
        let mut cautions = Vec::new();
        if events.damaged() > 0 {
            cautions.push(format!("Damaged lines among the stored events: {}.", events.damaged()));
        }
        cautions.extend(waiting);
        Ok(StoredData {
            reader,
            events: Arc::new(events),
            cautions,
            cache: Arc::new(RequestCache::new(memory.at_most_an_eighth(crate::api::cache::BYTES_MAX))),
            memory,
            limits,
            observer: Arc::new(|_, _, _| {}),
            folders,
            folder,
            workers: None,
            runtime,
        })
    }

    /// The same data; `observer` is called for each step of an answer, with its name and how many of how many parts of it are done, 0 of
    /// 0 if that is not known.
    #[must_use]
    pub fn with_progress(
        self,
        observer: impl Fn(&'static str, u64, u64) + Send + Sync + 'static,
    ) -> StoredData {
        StoredData { observer: Arc::new(observer), ..self }
    }

    /// The same data, read by workers that were configured with the same location.
    #[must_use]
    pub fn with_workers(self, workers: Arc<dyn UnitWorkers>) -> StoredData {
        let folders = Arc::clone(&self.folders);
        let when_they_fail = WhenWorkersFail::Fail;
        StoredData { workers: Some(StoreWorkers { workers, folders, when_they_fail }), ..self }
    }

    /// The workers that read it, if there are some.
    pub fn workers(&self) -> Option<&StoreWorkers> {
        self.workers.as_ref()
    }

    /// Snapshots of what is stored, for a reader of rows.
    pub fn views(&self) -> Views {
        self.reader.views()
    }

    /// Reads what a server has stored since; whether that is anything.
    ///
    /// # Errors
    /// When the storage does not answer.
    pub fn refresh(&self) -> Result<bool, StoreError> {
        self.runtime.block_on(self.reader.refresh())
    }

    /// What the data lacks, in sentences.
    pub fn cautions(&self) -> &[String] {
        &self.cautions
    }

    /// Incidents that the server has detected. They are in its own data folder only: `None` for a bucket, and for the data of several
    /// servers.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn incidents(&self) -> Result<Option<Vec<IncidentRecord>>, StoreError> {
        let Some(folder) = self.folder.as_ref().filter(|folder| folder.folder().is_some()) else {
            return Ok(None);
        };
        let read = async {
            let [current, past] = stored_incident_files();
            Ok::<_, StoreError>((folder.file(&current).await?, folder.file(&past).await?))
        };
        let (current, past) = self.runtime.block_on(read)?;
        let incidents = stored_incidents(current.as_deref(), past.as_deref());
        incidents.map(Some).map_err(|error| StoreError::new(format!("{folder}: incidents: {error}")))
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
            let progress = Progress::new();
            let watched = self.runtime.spawn(watch(&progress, Arc::clone(&self.observer)));
            let answered = work(&self.queries(declared), &progress);
            drop(progress);
            self.runtime.block_on(watched).map_err(|error| QueryError::Unanswered(error.to_string()))?;
            let error = match answered {
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
            workers: self.workers.clone(),
            workers_spans_min: 0,
            workers_failed: AtomicBool::new(false),
            issues: Arc::default(),
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

/// Reports the steps of a question to an observer until it is answered.
fn watch(progress: &Progress, observer: Arc<ProgressObserver>) -> impl Future<Output = ()> + use<> {
    let mut steps = progress.subscribe();
    async move {
        while steps.changed().await.is_ok() {
            let JobProgress { stage, done, total, .. } = *steps.borrow_and_update();
            observer(stage, done, total);
        }
    }
}

/// Decodes on as many threads as are to compute; the question itself waits on the caller's.
fn runtime(threads: NonZeroUsize) -> Result<Runtime, String> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let builder = builder.worker_threads(1).max_blocking_threads(threads.get()).enable_all();
    builder.build().map_err(|error| format!("no threads: {error}"))
}

/// A folder with a store, relative to the location that it is in, and where it is.
type StoreIn = (String, DataLocation);

/// The folders of a tenant, or of the only one there is: one in a data folder, or one of each writer. The folder of a tenant itself is
/// accepted as well.
async fn stores_in(location: &DataLocation, tenant: Option<&str>) -> Result<Vec<StoreIn>, StoreError> {
    if tenant.is_none() && is_store(location).await? {
        return Ok(vec![(String::new(), location.clone())]);
    }
    let stores = stores_of_tenants(location).await?;
    let tenants: BTreeSet<String> = stores.iter().map(|(name, _)| name.clone()).collect();
    let selected = selected_tenant(location, &Vec::from_iter(tenants), tenant)?;
    Ok(stores.into_iter().filter(|(name, _)| *name == selected).map(|(_, store)| store).collect())
}

/// Whether it is the folder of a tenant.
pub(super) async fn is_store(location: &DataLocation) -> Result<bool, StoreError> {
    Ok(location.folders().await?.iter().any(|folder| folder == "segments"))
}

/// The stores of all tenants with their names, of each writer.
pub(super) async fn stores_of_tenants(location: &DataLocation) -> Result<Vec<(String, StoreIn)>, StoreError> {
    let writers = match location.folders().await?.iter().any(|folder| folder == TENANTS) {
        true => vec![(String::new(), location.clone())],
        false => {
            let names = location.writer_names().await?.into_iter();
            names.map(|name| (format!("{name}/"), location.within(&name))).collect()
        }
    };
    let mut stores = Vec::new();
    for (prefix, writer) in writers {
        let names = writer.within(TENANTS).folders().await?.into_iter().filter(|name| is_tenant_name(name));
        for name in names {
            let folder = format!("{TENANTS}/{name}");
            let store = writer.within(&folder);
            stores.push((name, (format!("{prefix}{folder}"), store)));
        }
    }
    Ok(stores)
}

/// The named tenant, or the only one there is.
fn selected_tenant(
    location: &DataLocation,
    tenants: &[String],
    tenant: Option<&str>,
) -> Result<String, StoreError> {
    let named = match (tenant, tenants) {
        (None, [only]) => Some(only),
        (None, _) => None,
        (Some(name), all) => all.iter().find(|known| *known == name),
    };
    let list = || tenants.join(", ");
    match (named, tenant) {
        (Some(name), _) => Ok(name.clone()),
        (None, _) if tenants.is_empty() => Err(StoreError::new(format!(
            "{location}: this is no data folder of laggard serve: it has no folder in tenants/"
        ))),
        (None, Some(name)) => {
            Err(StoreError::new(format!("{location}: there is no tenant {name:?}, only {}", list())))
        }
        (None, None) => {
            Err(StoreError::new(format!("{location}: there are several tenants, name one: {}", list())))
        }
    }
}

/// A caution about spans that are only in the log. What a running server has only there, it does not answer either.
async fn in_log(location: &DataLocation, reader: &StoreReader) -> Result<Option<String>, StoreError> {
    let Some(folder) = location.folder() else {
        let has_log = location.folders().await?.iter().any(|folder| folder == "log");
        let caution = "The log is not read from a bucket: spans that no segment has yet are not considered.";
        return Ok(has_log.then(|| caution.to_owned()));
    };
    if data_folder_of(folder).and_then(|folder| DataLock::owner(&folder)).is_some() {
        return Ok(None);
    }
    let spans = StoreFolder::new(folder).log_spans(reader)?;
    Ok((spans > 0).then(|| {
        format!(
            "In the log alone, and not considered: up to {}. A server that opens the folder stores them in segments.",
            counted(spans, "span")
        )
    }))
}

/// The data folder that has a tenant's.
fn data_folder_of(tenant_folder: &Path) -> Option<PathBuf> {
    Some(tenant_folder.canonicalize().ok()?.parent()?.parent()?.to_owned())
}
