//! Serves one connection: HTTP/1.1 or HTTP/2, with limits of time and size.

use super::Serving;
use super::body::{RequestBody, ResponseBody};
use super::peers::Peer;
use super::progress::{IdleLimits, Progress, Stalled};
use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tower::ServiceExt;

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    /// One side closed it.
    Closed,
    /// The client was too slow.
    TooSlow,
    /// It was idle and made room for others.
    Displaced,
}

/// Headers of one request, in bytes.
const HEADER_BYTES_MAX: u32 = 64 << 10;
/// HTTP/1 reads this much before it stops reading: headers, and chunks of bodies.
const BUFFER_BYTES_MAX: usize = 256 << 10;
/// HTTP/2 windows: what a client may send before it is read, of a stream and of the connection.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;
/// How often a connection is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Longest time until a connection that makes room is closed.
const DISPLACED_MAX: Duration = Duration::from_millis(100);
/// Longest time for a graceful close.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// Serves a stream until it ends, stalls, the server stops, or its client is `distrusted`, which returns when that happens.
pub(super) async fn serve_connection<S>(
    stream: S,
    peer: SocketAddr,
    progress: &Arc<Progress>,
    serving: &Serving,
    distrusted: impl Future<Output = ()>,
) -> Ending
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn({
        let progress = progress.clone();
        move |request| answer(request, peer, serving.clone(), progress.clone())
    });
    let builder = builder(serving);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ending = tokio::select! {
        _ = connection.as_mut() => return Ending::Closed,
        // Requests in flight continue; the stopping server limits for how long.
        () = serving.stopping.cancelled() => None,
        stalled = watch(progress, serving) => Some(stalled),
        () = progress.displaced() => Some(Stalled::Displaced),
        // Requests in flight may end, as those of an idle connection.
        () = distrusted => Some(Stalled::Idle),
    };
    connection.as_mut().graceful_shutdown();
    match ending {
        Some(Stalled::NotReceived | Stalled::NoRequest) => Ending::TooSlow,
        Some(Stalled::Idle) => {
            let _ = tokio::time::timeout(CLOSE_MAX, connection).await;
            Ending::Closed
        }
        // A request that arrived meanwhile is answered.
        Some(Stalled::Displaced) => {
            let _ = tokio::time::timeout(DISPLACED_MAX, connection).await;
            Ending::Displaced
        }
        None => {
            let _ = connection.await;
            Ending::Closed
        }
    }
}

fn builder(serving: &Serving) -> Builder<TokioExecutor> {
    let limits = &serving.limits;
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // It runs between requests, too.
        .header_read_timeout(limits.idle_timeout.duration())
        .max_buf_size(BUFFER_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_header_list_size(HEADER_BYTES_MAX);
    builder
}

/// Returns once the connection has stalled.
async fn watch(progress: &Progress, serving: &Serving) -> Stalled {
    let limits = IdleLimits {
        first: serving.limits.header_timeout.duration(),
        idle: serving.limits.idle_timeout.duration(),
    };
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        if let Some(stalled) = progress.stalled(Instant::now(), limits) {
            return stalled;
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    peer: SocketAddr,
    serving: Serving,
    progress: Arc<Progress>,
) -> Result<Response<ResponseBody>, Infallible> {
    let in_flight = progress.begin();
    let mut request = request.map(|body| Body::new(RequestBody::new(body, &serving.limits)));
    request.extensions_mut().insert(Peer { address: peer, encrypted: serving.transport.is_encrypted() });
    let response = serving.router.oneshot(request).await?;
    Ok(response.map(|body| ResponseBody::new(body, in_flight, &serving.limits)))
}
