//! The state of the API's handlers. It refers to every other part of the server, none of which knows the API.

use super::cache::{BYTES_MAX, RequestCache};
use super::client_id::{ClientId, SharedPermit, SharedPermits};
use super::jobs::{JobLimits, Jobs};
use super::metrics::Scrapes;
use super::page_sample::PageReads;
use super::running::RunningWork;
use super::uploads::UploadFolder;
use crate::alerts::Alerts;
use crate::listen::Listener;
use crate::objectives::Objectives;
use crate::operations::{ProcessMemory, RequestDurations, ServerIssues};
use crate::receive::Receivers;
use crate::security::Admission;
use crate::settings::ServeSettings;
use crate::tenants::Tenants;
use laggard_model::Timestamp;
use laggard_store::UnitWorkers;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// The state of the server. The state of a tenant is an extension of the request, see [`crate::tenants::Tenant`].
pub(crate) struct ApiState {
    pub(crate) tenants: Arc<Tenants>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) receivers: Arc<Receivers>,
    pub(crate) memory: Arc<ProcessMemory>,
    pub(crate) issues: Arc<ServerIssues>,
    pub(crate) request_durations: Arc<RequestDurations>,
    pub(crate) alerts: Arc<Alerts>,
    pub(crate) objectives: Arc<Objectives>,
    pub(crate) listeners: Vec<Arc<Listener>>,
    pub(crate) api: Api,
    pub(crate) started: Timestamp,
    /// Cancelled when the server begins to stop: streams of events end, jobs are cancelled.
    pub(crate) stopping: CancellationToken,
}

/// The state of axum's routers.
pub(crate) type AppState = Arc<ApiState>;

/// State of the API between requests.
pub(crate) struct Api {
    pub(crate) jobs: Jobs,
    /// Jobs, queries of pages, and imports.
    pub(crate) running: Arc<RunningWork>,
    /// Limits the queries that run at a time.
    pub(crate) queries: SharedPermits,
    /// Limits the imports that run at a time.
    pub(crate) imports: Arc<Semaphore>,
    pub(crate) uploads: UploadFolder,
    /// Most calls that one diagnosis compares.
    pub(crate) calls_max: u64,
    /// Who reads the store for questions, if there are workers.
    pub(crate) workers: Option<Arc<dyn UnitWorkers>>,
    /// Windows stored in slices of fewer spans are not read by workers.
    pub(crate) workers_spans_min: u64,
    /// Requests of recent windows.
    pub(crate) cache: Arc<RequestCache>,
    pub(crate) page_reads: PageReads,
    pub(crate) scrapes: Scrapes,
}

/// Each import uses two threads.
const IMPORTS_AT_ONCE: usize = 2;

impl Api {
    /// Waits until work of the server's own may run beside the queries of clients.
    pub(crate) async fn background_turn(&self) -> SharedPermit {
        self.queries.acquire(ClientId::default()).await
    }

    /// `queries` limits the queries of people and of continuous detection together. Needs a running runtime.
    pub(crate) fn new(
        settings: &ServeSettings,
        memory: Arc<ProcessMemory>,
        queries: Arc<Semaphore>,
        workers: Option<Arc<dyn UnitWorkers>>,
    ) -> Api {
        let cache = Arc::new(RequestCache::new(memory.at_most_an_eighth(BYTES_MAX)));
        let running = Arc::<RunningWork>::default();
        Api {
            page_reads: PageReads::new(memory.clone()),
            calls_max: u64::from(settings.limits.calls).min(memory.calls_max()),
            jobs: Jobs::new(JobLimits::within(&memory), running.clone(), memory),
            running,
            queries: SharedPermits::new(queries),
            imports: Arc::new(Semaphore::new(IMPORTS_AT_ONCE)),
            uploads: UploadFolder::new(&settings.data, settings.limits.upload.0),
            workers,
            workers_spans_min: u64::from(settings.cluster.spans_min),
            cache,
            scrapes: Scrapes::default(),
        }
    }
}
