//! The process that computes: the engine's service, behind a token, for the one leaf and nothing else.

use super::BUILD_HEADER;
use super::leaf::{LeafSource, UnitsCodec, UnitsExec};
use crate::RoundSource;
use crate::encrypted::{TlsOfConnections, encrypted};
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion_distributed::{
    DistributedExt, Worker, WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse, WorkerQueryContext,
};
use std::sync::Arc;
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Status};
use url::Url;

/// What a worker requires of the root, and how much it does at once.
#[derive(Clone)]
pub struct WorkerSettings {
    /// The token that every request must have.
    pub token: String,
    /// Which build this program is; another one is refused.
    pub build: String,
    /// Units that are computed at the same time for one question.
    pub at_once: usize,
    /// How connections are encrypted; `None` for plain ones.
    pub tls: Option<TlsOfConnections>,
}

/// Computes units for roots until `stop` ends.
///
/// # Errors
/// When connections cannot be accepted.
pub async fn serve(
    listener: TcpListener,
    settings: WorkerSettings,
    rounds: Arc<dyn RoundSource>,
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    let WorkerSettings { token, build, at_once, tls } = settings;
    let worker = worker(LeafSource { rounds, at_once: at_once.max(1) }).map_err(|error| error.to_string())?;
    let check = move |request: Request<()>| admitted(request, &token, &build);
    let service = InterceptedService::new(worker.into_worker_server(), check);
    let server = Server::builder().add_service(service);
    let connections = TcpIncoming::from(listener).with_nodelay(Some(true));
    let served = match tls {
        None => server.serve_with_incoming_shutdown(connections, stop).await,
        Some(tls) => server.serve_with_incoming_shutdown(encrypted(connections, tls), stop).await,
    };
    served.map_err(|error| error.to_string())
}

/// Admits a request that has the token and comes from the same build.
fn admitted(request: Request<()>, token: &str, build: &str) -> Result<Request<()>, Status> {
    let header = |name: &str| request.metadata().get(name).and_then(|value| value.to_str().ok());
    let token_sent =
        header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    if !bool::from(token_sent.as_bytes().ct_eq(token.as_bytes())) {
        return Err(Status::unauthenticated("the worker requires another token"));
    }
    match header(BUILD_HEADER) {
        Some(other) if other == build => Ok(request),
        other => Err(Status::failed_precondition(format!(
            "the worker is build {build}, this program is build {}",
            other.unwrap_or("unknown")
        ))),
    }
}

fn worker(source: LeafSource) -> Result<Worker> {
    let runtime = RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(NoStores)).build()?;
    let session = move |context: WorkerQueryContext| {
        let codec = UnitsCodec { source: Some(source.clone()) };
        let state = context
            .builder
            .with_distributed_user_codec(codec)
            .with_distributed_worker_plan_rewrite_handler(only_units)
            .build();
        futures::future::ready(Ok::<_, DataFusionError>(state))
    };
    Ok(Worker::from_session_builder(session).with_runtime_env(Arc::new(runtime)))
}

/// Refuses every other plan: the engine could scan any file.
fn only_units(event: WorkerPlanRewriteEvent<'_>) -> Result<WorkerPlanRewriteEventResponse> {
    match event.plan.is::<UnitsExec>() {
        true => Ok(WorkerPlanRewriteEventResponse::new(event.plan)),
        false => exec_err!("the worker computes units only, no {}", event.plan.name()),
    }
}

/// The engine opens no files: units are read by the store.
#[derive(Debug)]
struct NoStores;

impl ObjectStoreRegistry for NoStores {
    fn register_store(
        &self,
        _: &Url,
        store: Arc<dyn datafusion::object_store::ObjectStore>,
    ) -> Option<Arc<dyn datafusion::object_store::ObjectStore>> {
        Some(store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn datafusion::object_store::ObjectStore>> {
        exec_err!("{url}: the engine opens no files")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(token: Option<&str>, build: Option<&str>) -> Request<()> {
        let mut request = Request::new(());
        for (name, value) in [("authorization", token), (BUILD_HEADER, build)] {
            if let Some(value) = value {
                request.metadata_mut().insert(name, value.parse().unwrap());
            }
        }
        request
    }

    #[test]
    fn the_token_is_checked_before_the_build() {
        let refused = |token, build| admitted(request(token, build), "secret", "1").unwrap_err();
        for token in [None, Some("Bearer other"), Some("secret"), Some("Bearer secret2"), Some("Bearer ")] {
            assert_eq!(refused(token, Some("1")).code(), tonic::Code::Unauthenticated, "{token:?}");
        }
        let other = refused(Some("Bearer secret"), Some("2"));
        assert_eq!(other.message(), "the worker is build 1, this program is build 2");
        assert!(refused(Some("Bearer secret"), None).message().ends_with("build unknown"));
        assert!(admitted(request(Some("Bearer secret"), Some("1")), "secret", "1").is_ok());
    }
}
