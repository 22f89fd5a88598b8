//! Connections to workers. A worker that fails ends its own streams, not the query: what is missing is asked for elsewhere.

use super::BUILD_HEADER;
use crate::encrypted::check_certificates;
use crate::{ClusterSettings, ClusterTls};
use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest, GetWorkerInfoResponse,
    SetPlanRequest, WorkerChannel, WorkerToCoordinatorMsg,
};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tower::ServiceExt;
use url::Url;

/// A worker that cannot be connected to within this time is gone.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// A worker is asked so often whether it is there …
const ALIVE_INTERVAL: Duration = Duration::from_secs(2);

/// … and is gone when it does not answer for so long: a stopped process holds its connections open.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(4);

/// Connections to all workers, by their order in the settings.
#[derive(Clone)]
pub(super) struct Connections {
    workers: Arc<[(Url, Endpoint)]>,
    token: HeaderValue,
    build: HeaderValue,
    open: Arc<Mutex<BTreeMap<usize, BoxCloneSyncChannel>>>,
}

impl Connections {
    pub(super) fn new(settings: &ClusterSettings) -> Result<Connections, String> {
        let worker = |address: &String| {
            let invalid = || format!("{address}: this is no address of a worker like host:port");
            let scheme = if settings.tls.is_some() { "https" } else { "http" };
            let url: Url = format!("{scheme}://{address}").parse().map_err(|_| invalid())?;
            if url.port().is_none() || url.path() != "/" || url.username() != "" {
                return Err(invalid());
            }
            let endpoint = Endpoint::from_shared(url.to_string()).map_err(|_| invalid())?;
            let endpoint = endpoint
                .connect_timeout(CONNECT_TIMEOUT)
                .http2_keep_alive_interval(ALIVE_INTERVAL)
                .keep_alive_timeout(ALIVE_TIMEOUT)
                .keep_alive_while_idle(true)
                .tcp_nodelay(true);
            let endpoint = match &settings.tls {
                None => endpoint,
                Some(tls) => encrypted(endpoint, tls).map_err(|error| format!("TLS to workers: {error}"))?,
            };
            Ok((url, endpoint))
        };
        let header = |text: String| {
            HeaderValue::from_str(&text)
                .map_err(|_| "the token of the workers has characters that cannot be sent".to_owned())
        };
        let mut token = header(format!("Bearer {}", settings.token))?;
        token.set_sensitive(true);
        Ok(Connections {
            workers: settings.workers.iter().map(worker).collect::<Result<_, _>>()?,
            token,
            build: header(settings.build.clone())?,
            open: Arc::default(),
        })
    }

    pub(super) fn url(&self, worker: usize) -> Url {
        self.workers[worker].0.clone()
    }

    fn index(&self, url: &Url) -> Option<usize> {
        self.workers.iter().position(|(known, _)| known == url)
    }

    /// The connection to a worker; it is made with the first request, and again when it broke.
    fn channel(&self, worker: usize) -> BoxCloneSyncChannel {
        let mut open = self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let channel = open.entry(worker).or_insert_with(|| {
            let (token, build) = (self.token.clone(), self.build.clone());
            let lazy = self.workers[worker].1.connect_lazy();
            BoxCloneSyncChannel::new(lazy.map_request(move |mut request: http::Request<_>| {
                request.headers_mut().insert(AUTHORIZATION, token.clone());
                request.headers_mut().insert(BUILD_HEADER, build.clone());
                request
            }))
        });
        channel.clone()
    }
}

/// The same endpoint, encrypted. The engine leaves out roots that it cannot read, and would then refuse every worker.
fn encrypted(endpoint: Endpoint, tls: &ClusterTls) -> Result<Endpoint, String> {
    check_certificates(tls)?;
    let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.roots));
    let config = match &tls.client {
        Some((certificate, key)) => config.identity(Identity::from_pem(certificate, key)),
        None => config,
    };
    endpoint.tls_config(config).map_err(|error| with_sources(&error))
}

/// What went wrong with workers in an attempt: the first of each.
#[derive(Clone, Default)]
pub(crate) struct Failures(Arc<Mutex<BTreeMap<usize, String>>>);

impl Failures {
    fn add(&self, worker: usize, error: &DataFusionError) {
        let mut failures = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        failures.entry(worker).or_insert_with(|| reason(error));
    }

    /// Whether something went wrong with a worker.
    pub(crate) fn has(&self, worker: usize) -> bool {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).contains_key(&worker)
    }

    /// By the index of the worker.
    pub(crate) fn all(&self) -> BTreeMap<usize, String> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }
}

/// An error in one line, without what the engine puts around it.
fn reason(error: &DataFusionError) -> String {
    with_sources(error).lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// An error with its deepest cause.
fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let (all, deepest) = (error.to_string(), deepest.to_string());
    if all.contains(&deepest) { all } else { format!("{all}: {deepest}") }
}

/// Connections of one attempt.
#[derive(Clone)]
pub(super) struct Resolver {
    pub(super) connections: Connections,
    pub(super) failures: Failures,
}

#[async_trait]
impl ChannelResolver for Resolver {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        let Some(worker) = self.connections.index(url) else {
            return Err(DataFusionError::Internal(format!("{url} is no worker")));
        };
        let inner = create_worker_client(self.connections.channel(worker));
        Ok(Box::new(NotingChannel { inner, worker, failures: self.failures.clone() }))
    }
}

/// A channel whose failures are noted instead of passed on.
struct NotingChannel {
    inner: Box<dyn WorkerChannel>,
    worker: usize,
    failures: Failures,
}

impl NotingChannel {
    /// A stream that ends where it fails.
    fn noting<T: Send + 'static>(
        &self,
        stream: impl Stream<Item = Result<T>> + Send + 'static,
    ) -> BoxStream<'static, Result<T>> {
        let (worker, failures) = (self.worker, self.failures.clone());
        let noted = stream.map(move |item| item.inspect_err(|error| failures.add(worker, error)));
        noted.take_while(|item| futures::future::ready(item.is_ok())).boxed()
    }
}

#[async_trait]
impl WorkerChannel for NotingChannel {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        plan: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        match self.inner.coordinator_channel(headers, plan, messages, metrics, context).await {
            Ok(stream) => Ok(self.noting(stream)),
            Err(error) => {
                self.failures.add(self.worker, &error);
                Ok(futures::stream::empty().boxed())
            }
        }
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let partitions = request.target_partition_end - request.target_partition_start;
        match self.inner.execute_task(headers, request, metrics, context).await {
            Ok(streams) => Ok(streams.into_iter().map(|stream| self.noting(stream)).collect()),
            Err(error) => {
                self.failures.add(self.worker, &error);
                Ok((0..partitions).map(|_| futures::stream::empty().boxed()).collect())
            }
        }
    }

    async fn get_worker_info(&mut self, request: GetWorkerInfoRequest) -> Result<GetWorkerInfoResponse> {
        self.inner.get_worker_info(request).await
    }
}
