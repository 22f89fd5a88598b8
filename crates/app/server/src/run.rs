//! From settings to a running server, and to its end.

use crate::alerts::{self, Alerts};
use crate::listen::{Listener, Serving, accept};
use crate::operations::{DataLock, Notice, SelfTracing, start_logs, trace};
use crate::security::{Door, Gate, Tenants, Transport, behind, login_routes};
use crate::settings::{LimitSettings, ServeSettings};
use crate::shared::{AppState, Shared};
use crate::{CheckedSettings, api, pages, receive};
use axum::Router;
use axum::middleware::from_fn_with_state;
use laggard_model::Timestamp;
use std::ffi::OsStr;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::catch_panic::CatchPanicLayer;

/// Why a server could not start or did not end well, in a sentence.
#[derive(Debug)]
pub struct ServeError {
    message: String,
}

impl ServeError {
    pub(crate) fn new(message: impl fmt::Display) -> ServeError {
        ServeError { message: message.to_string() }
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServeError {}

/// Serves until SIGTERM or SIGINT, then finishes what is in flight. A second signal ends it at once, as a loss of
/// power would. Blocks. `notify_socket` is where systemd wants to be told that it runs (`NOTIFY_SOCKET`).
///
/// # Errors
/// When an address is taken, the data cannot be opened, or open data could not be written at the end.
pub fn serve(settings: CheckedSettings, notify_socket: Option<&OsStr>) -> Result<(), ServeError> {
    start_logs(&settings.raw.logs).map_err(ServeError::new)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| ServeError::new(format!("no threads: {error}")))?;
    let ended = runtime.block_on(run(settings, &Notice::new(notify_socket)));
    // A question that is still being answered on a thread of its own would hold the process up.
    runtime.shutdown_background();
    ended
}

async fn run(settings: CheckedSettings, notice: &Notice) -> Result<(), ServeError> {
    let mut signals = StopSignals::catch()?;
    let _lock = DataLock::take(&settings.raw.data).map_err(ServeError::new)?;
    let transport = Transport::load(&settings.raw.tls).map_err(ServeError::new)?;
    let sockets = bind(&settings.raw).await?;
    let stopping = CancellationToken::new();
    let state = shared(settings, &sockets, stopping.clone()).await?;
    let limits = state.settings.raw.limits;
    let connections = TaskTracker::new();
    alerts::start(&state);
    tokio::spawn(transport.clone().follow(stopping.clone()));
    for Bound { socket, listener } in sockets {
        tracing::info!(name = listener.name, address = %listener.address, tls = transport.is_encrypted(), "listening");
        let router = router(listener.name, &state);
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
        () = signals.next() => Err(ServeError::new("told to stop twice; what was in flight is cut off")),
    }
}

async fn shared(
    settings: CheckedSettings,
    sockets: &[Bound],
    stopping: CancellationToken,
) -> Result<AppState, ServeError> {
    let tenants = Tenants::open(&settings.raw).await.map_err(ServeError::new)?;
    let gate = Gate::new(&settings);
    let listeners = sockets.iter().map(|bound| bound.listener.clone()).collect();
    let receivers = receive::Receivers::new(&settings.raw.limits);
    let api = api::Api::new(&settings.raw);
    let address = pages_address(&settings, sockets);
    let alerts = Alerts::new(&settings, &address, stopping.clone()).map_err(ServeError::new)?;
    let tracing = SelfTracing::start(&settings.raw.self_tracing, stopping.clone());
    let started = now();
    Ok(Arc::new(Shared {
        settings,
        tenants,
        gate,
        receivers,
        api,
        alerts,
        tracing,
        listeners,
        started,
        stopping,
    }))
}

/// Where the pages are on this machine.
fn pages_address(settings: &CheckedSettings, sockets: &[Bound]) -> String {
    let bound = sockets.iter().find(|bound| bound.listener.name == "http");
    let address = bound.map_or(settings.raw.http, |bound| bound.listener.address);
    let scheme = if settings.raw.tls.certificate.is_some() { "https" } else { "http" };
    format!("{scheme}://{address}")
}

/// The state of a server that listens nowhere.
#[cfg(test)]
pub(crate) async fn state_for_tests(settings: CheckedSettings) -> AppState {
    shared(settings, &[], CancellationToken::new()).await.expect("the store of an empty folder opens")
}

/// A socket that is bound and its figures.
struct Bound {
    socket: TcpListener,
    listener: Arc<Listener>,
}

async fn bind(settings: &ServeSettings) -> Result<Vec<Bound>, ServeError> {
    let mut sockets = Vec::new();
    for (name, address) in settings.addresses() {
        sockets.push(bind_one(name, address).await?);
    }
    Ok(sockets)
}

async fn bind_one(name: &'static str, address: SocketAddr) -> Result<Bound, ServeError> {
    let failed = |error| ServeError::new(format!("{name}: cannot listen on {address}: {error}"));
    let socket = TcpListener::bind(address).await.map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    Ok(Bound { socket, listener: Arc::new(Listener { name, address, figures: Default::default() }) })
}

/// What is served on the address of this setting, behind its door.
pub(crate) fn router(name: &str, state: &AppState) -> Router {
    let (door, mut routes) = match name {
        "otlp_grpc" => (Door::Grpc, receive::otlp_grpc_routes()),
        "otlp_http" => (Door::Receiver, receive::otlp_http_routes()),
        "zipkin" => (Door::Receiver, receive::zipkin_routes()),
        _ => {
            let api = api::routes().merge(login_routes()).merge(receive::write_routes());
            (Door::Http, api.merge(pages::routes()))
        }
    };
    if let Some(tracing) = state.tracing.as_ref().filter(|_| door == Door::Http) {
        routes = routes.layer(from_fn_with_state(tracing.clone(), trace));
    }
    behind(door, name, routes.with_state(state.clone()).layer(CatchPanicLayer::new()), state)
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
    alerts::finish(state).await;
    let mut ended = Ok(());
    for tenant in state.tenants.all() {
        if let Err(error) = tenant.store.close().await {
            tracing::error!(tenant = %tenant.name, %error, "the store could not be closed");
            ended =
                Err(ServeError::new(format!("the store of {} could not be closed: {error}", tenant.name)));
        }
    }
    tracing::info!("stopped");
    ended
}

/// SIGTERM and SIGINT. Caught from before the first address is announced: who is told where the server listens may
/// tell it to stop at once.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn catch() -> Result<StopSignals, ServeError> {
        let failed = |error| ServeError::new(format!("signals cannot be watched: {error}"));
        Ok(StopSignals {
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
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

/// The clock.
fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_ns(i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX))
}
