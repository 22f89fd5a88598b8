//! From settings to a running server, and to its end.

use crate::alerts::{self, Alerts};
use crate::api::{self, Api, ApiState, AppState};
use crate::events::{save_versions, watch_versions};
use crate::listen::{Listener, Serving, Transport, accept};
use crate::objectives::{self, Objectives};
use crate::operations::{
    DataLock, Notice, OtelVariables, ProcessMemory, SelfTracing, SettingSources, measure, start_logs, trace,
};
use crate::pages;
use crate::pull;
use crate::receive::{self, Receivers};
use crate::rotation::CredentialFiles;
use crate::security::{Admission, TokenFiles, login_routes, protect};
use crate::settings::{CheckedSettings, LimitSettings, ListenerKind, ServeSettings};
use crate::signatures::keep_signatures;
use crate::tenants::{TenantError, Tenants};
use axum::Router;
use axum::middleware::from_fn_with_state;
use laggard_store::{ClaimError, UnitWorkers};
use laggard_system::{available_threads, now};
use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::catch_panic::CatchPanicLayer;

/// Why a server could not start, or could not stop cleanly.
#[derive(Debug)]
pub struct ServeError {
    message: String,
    is_of_settings: bool,
}

impl ServeError {
    pub(crate) fn new(message: impl fmt::Display) -> ServeError {
        ServeError { message: message.to_string(), is_of_settings: false }
    }

    /// Whether the settings name something that cannot be used at all, like a bucket without conditional puts.
    pub fn is_of_settings(&self) -> bool {
        self.is_of_settings
    }
}

impl From<TenantError> for ServeError {
    fn from(error: TenantError) -> ServeError {
        let is_of_settings = matches!(error, TenantError::Prefix(ClaimError::Settings(_)));
        ServeError { is_of_settings, ..ServeError::new(error) }
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServeError {}

/// What surrounds a server.
#[derive(Clone, Default)]
pub struct ServeEnvironment {
    /// Where the settings come from; tokens are read from there again.
    pub sources: SettingSources,
    /// The socket of systemd's start notification (`NOTIFY_SOCKET`).
    pub notify_socket: Option<OsString>,
    /// Where the server's own spans are sent, unless the settings say so.
    pub otel: OtelVariables,
    /// Has the allocator return freed memory soon, while memory is tight, or after a while.
    pub return_freed_memory: Option<fn(soon: bool)>,
    /// The workers that the settings name (`cluster.workers`), if there are some.
    pub workers: Option<Arc<dyn UnitWorkers>>,
}

/// Serves until SIGTERM or SIGINT, then finishes what is in flight. A second signal ends it at once, as a loss of
/// power would. On SIGHUP, tokens and certificates are read again. Blocks.
///
/// # Errors
/// When an address is in use, the data cannot be opened, or open data could not be written at the end.
pub fn serve(settings: CheckedSettings, environment: ServeEnvironment) -> Result<(), ServeError> {
    start_logs(&settings.raw.logs).map_err(ServeError::new)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| ServeError::new(format!("no threads: {error}")))?;
    let ended = runtime.block_on(run(settings, environment));
    // A query that still runs on a blocking thread would delay the exit.
    runtime.shutdown_background();
    ended
}

async fn run(settings: CheckedSettings, environment: ServeEnvironment) -> Result<(), ServeError> {
    let mut signals = StopSignals::catch()?;
    let hangup = caught(SignalKind::hangup())?;
    let ServeEnvironment { sources, notify_socket, otel, return_freed_memory, workers } = environment;
    let notice = Notice::new(notify_socket.as_deref());
    let _lock = DataLock::acquire(&settings.raw.data).map_err(ServeError::new)?;
    let transport = Transport::load(&settings.raw.tls).map_err(ServeError::new)?;
    let sockets = bind(&settings.raw).await?;
    let stopping = CancellationToken::new();
    let listeners = sockets.iter().map(|bound| bound.listener.clone()).collect();
    let state = state(&settings, listeners, workers, stopping.clone()).await?;
    let tracing = SelfTracing::start(&settings.raw.self_tracing, otel, stopping.clone());
    let limits = settings.raw.limits;
    let connections = TaskTracker::new();
    alerts::start(&state.alerts);
    objectives::start(&state.objectives);
    let run_time = limits.run_time.duration();
    tokio::spawn(api::supervise(state.clone(), run_time, return_freed_memory.unwrap_or(|_| {})));
    tokio::spawn(keep_signatures(state.clone()));
    tokio::spawn(state.tenants.clone().follow(settings.raw.tenants.enabled, stopping.clone()));
    tokio::spawn(watch_versions(state.tenants.clone(), stopping.clone()));
    pull::start(&state, &settings.raw);
    let token_list = settings.raw.token_list();
    let token_files = TokenFiles::new(sources, token_list, &settings.tokens, state.admission.clone());
    let credentials = CredentialFiles::new(token_files, transport.clone(), state.issues.clone());
    tokio::spawn(credentials.follow(hangup, stopping.clone()));
    for Bound { socket, listener } in sockets {
        let (kind, address) = (listener.kind, listener.address);
        tracing::info!(name = kind.name(), %address, tls = transport.is_encrypted(), "listening");
        let router = router(kind, is_local(&settings.raw, kind), &state, tracing.as_ref());
        let (transport, stopping) = (transport.clone(), stopping.clone());
        let serving = Serving { listener, router, transport, limits, stopping };
        tokio::spawn(accept(socket, serving, connections.clone()));
    }
    notice.ready();
    signals.next().await;
    notice.stopping();
    stopping.cancel();
    tokio::select! {
        closed = drain(&state, &connections, limits) => closed,
        () = signals.next() => Err(ServeError::new("second stop signal; requests in flight were cut off")),
    }
}

/// The state of a server that accepts no connections yet.
pub(crate) async fn state(
    settings: &CheckedSettings,
    listeners: Vec<Arc<Listener>>,
    workers: Option<Arc<dyn UnitWorkers>>,
    stopping: CancellationToken,
) -> Result<AppState, ServeError> {
    let memory = Arc::new(ProcessMemory::new(settings.raw.memory.map(|size| size.0)));
    let tenants = Arc::new(Tenants::open(&settings.raw, &memory).await?);
    let queries = Arc::new(Semaphore::new(2 * available_threads().get()));
    let address = pages_address(settings, &listeners);
    let alerts =
        Alerts::new(settings, &address, tenants.clone(), memory.clone(), queries.clone(), stopping.clone());
    let alerts = alerts.map_err(ServeError::new)?;
    Ok(Arc::new(ApiState {
        objectives: Objectives::new(
            settings,
            tenants.clone(),
            alerts.clone(),
            queries.clone(),
            stopping.clone(),
        ),
        admission: Arc::new(Admission::new(settings, tenants.clone())),
        receivers: Arc::new(Receivers::new(&settings.raw.limits, memory.clone())),
        alerts,
        api: Api::new(&settings.raw, memory.clone(), queries, workers),
        memory,
        issues: Arc::default(),
        request_durations: Arc::default(),
        tenants,
        listeners,
        started: now(),
        stopping,
    }))
}

/// The URL of the pages on this machine.
fn pages_address(settings: &CheckedSettings, listeners: &[Arc<Listener>]) -> String {
    let listener = listeners.iter().find(|listener| listener.kind == ListenerKind::Http);
    let address = listener.map_or(settings.raw.http, |listener| listener.address);
    let scheme = if settings.raw.tls.certificate.is_some() { "https" } else { "http" };
    format!("{scheme}://{address}")
}

/// Whether only this machine can reach a listener.
fn is_local(settings: &ServeSettings, listener: ListenerKind) -> bool {
    settings.addresses().iter().any(|(kind, address)| *kind == listener && address.ip().is_loopback())
}

/// A socket that is bound and its figures.
struct Bound {
    socket: TcpListener,
    listener: Arc<Listener>,
}

async fn bind(settings: &ServeSettings) -> Result<Vec<Bound>, ServeError> {
    let mut sockets = Vec::new();
    for (kind, address) in settings.addresses() {
        sockets.push(bind_one(kind, address).await?);
    }
    Ok(sockets)
}

async fn bind_one(kind: ListenerKind, address: SocketAddr) -> Result<Bound, ServeError> {
    let failed = |error| ServeError::new(format!("{}: cannot listen on {address}: {error}", kind.name()));
    let socket = TcpListener::bind(address).await.map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    Ok(Bound { socket, listener: Arc::new(Listener { kind, address, figures: Default::default() }) })
}

/// The routes of a listener, behind its admission.
pub(crate) fn router(
    listener: ListenerKind,
    is_local: bool,
    state: &AppState,
    tracing: Option<&SelfTracing>,
) -> Router {
    let receivers = state.receivers.clone();
    let mut routes = match listener {
        ListenerKind::OtlpGrpc => receive::otlp_grpc_routes(receivers),
        ListenerKind::OtlpHttp => receive::otlp_http_routes(receivers),
        ListenerKind::Zipkin => receive::zipkin_routes(receivers),
        ListenerKind::Http => {
            let api = api::routes(state.clone()).merge(login_routes(state.admission.clone()));
            api.merge(receive::remote_write_routes(receivers)).merge(pages::routes())
        }
    };
    if let Some(tracing) = tracing.filter(|_| listener == ListenerKind::Http) {
        routes = routes.layer(from_fn_with_state(tracing.clone(), trace));
    }
    // Panics are responses to it.
    let measured = (listener, state.request_durations.clone());
    let routes = routes.layer(CatchPanicLayer::new()).layer(from_fn_with_state(measured, measure));
    protect(listener, is_local, routes, &state.admission)
}

/// Lets requests in flight end, then the stores.
async fn drain(state: &AppState, connections: &TaskTracker, limits: LimitSettings) -> Result<(), ServeError> {
    state.api.jobs.cancel_all();
    connections.close();
    if tokio::time::timeout(limits.drain.duration(), connections.wait()).await.is_err() {
        tracing::warn!(
            connections = connections.len(),
            "requests in flight are cut off: limits.drain is over"
        );
    }
    alerts::finish(&state.alerts).await;
    objectives::finish(&state.objectives).await;
    save_versions(&state.tenants).await;
    let mut ended = Ok(());
    for tenant in state.tenants.all() {
        if let Err(error) = tenant.store.close().await {
            tracing::error!(tenant = %tenant.name, %error, "the store could not be closed");
            ended =
                Err(ServeError::new(format!("the store of {} could not be closed: {error}", tenant.name)));
        }
    }
    if ended.is_ok() {
        state.tenants.release().await;
    }
    tracing::info!("stopped");
    ended
}

fn caught(kind: SignalKind) -> Result<Signal, ServeError> {
    signal(kind).map_err(|error| ServeError::new(format!("signals cannot be watched: {error}")))
}

/// SIGTERM and SIGINT. Caught from before the first address is announced: whoever reads it may
/// stop the server at once.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn catch() -> Result<StopSignals, ServeError> {
        Ok(StopSignals {
            terminate: caught(SignalKind::terminate())?,
            interrupt: caught(SignalKind::interrupt())?,
        })
    }

    /// Returns when the next one comes.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!(signal = "SIGTERM", "stopping"),
            _ = self.interrupt.recv() => tracing::info!(signal = "SIGINT", "stopping"),
        }
    }
}
