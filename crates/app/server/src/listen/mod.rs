//! Accepting connections: HTTP/1 and HTTP/2 on one port, gRPC among them.
//!
//! Every wait for a client has a limit: for the first request, the body of a request, the response to be received, and
//! an idle connection.

mod body;
mod connection;
mod peers;
mod progress;
mod tls;

pub(crate) use body::BodyTooSlow;
pub(crate) use peers::{Peer, network};
pub(crate) use tls::Transport;

use crate::settings::{LimitSettings, ListenerKind};
use axum::Router;
use connection::{Ending, serve_connection};
use peers::{Connection, Peers};
use rustls_pki_types::CertificateDer;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A listening address, with counts since the start.
pub(crate) struct Listener {
    pub(crate) kind: ListenerKind,
    /// The bound address; the port is never 0.
    pub(crate) address: SocketAddr,
    pub(crate) figures: ListenerFigures,
}

/// Counts of connections. Open are those accepted, less those closed.
#[derive(Default)]
pub(crate) struct ListenerFigures {
    pub(crate) accepted: AtomicU64,
    pub(crate) closed: AtomicU64,
    /// Closed at once, because their address had too many.
    pub(crate) refused: AtomicU64,
    /// Closed because the client was too slow.
    pub(crate) timed_out: AtomicU64,
    /// Idle ones closed to make room for others.
    pub(crate) displaced: AtomicU64,
    /// Closed because TLS could not be agreed on.
    pub(crate) handshakes_failed: AtomicU64,
}

/// State shared by the connections of a listener.
#[derive(Clone)]
pub(crate) struct Serving {
    pub(crate) listener: Arc<Listener>,
    pub(crate) router: Router,
    pub(crate) transport: Transport,
    pub(crate) limits: LimitSettings,
    pub(crate) stopping: CancellationToken,
}

/// When accepting fails (no file descriptors left), trying again at once would only burn the processor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves one address until the server stops; connections continue as tasks of `connections`.
pub(crate) async fn accept(socket: TcpListener, serving: Serving, connections: TaskTracker) {
    let connection_slots = Arc::new(Semaphore::new(serving.limits.connections as usize));
    let peers = Peers::new(serving.limits.connections_per_peer);
    loop {
        let next = async {
            if connection_slots.available_permits() == 0 {
                peers.make_room();
            }
            let permit =
                connection_slots.clone().acquire_owned().await.expect("the semaphore is never closed");
            (permit, socket.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            next = next => next,
            () = serving.stopping.cancelled() => return,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(listener = serving.listener.kind.name(), %error, "cannot accept connections");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let figures = &serving.listener.figures;
        let Some(connection) = peers.enter(peer.ip()) else {
            figures.refused.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        figures.accepted.fetch_add(1, Ordering::Relaxed);
        let serving = serving.clone();
        connections.spawn(async move {
            serve_stream(stream, peer, &connection, &serving).await;
            serving.listener.figures.closed.fetch_add(1, Ordering::Relaxed);
            drop((permit, connection));
        });
    }
}

/// One connection, from the first byte to the last.
async fn serve_stream(stream: TcpStream, peer: SocketAddr, connection: &Connection, serving: &Serving) {
    // Responses are sent at once, without waiting for more data; if that cannot be set, it costs milliseconds.
    let _ = stream.set_nodelay(true);
    let figures = &serving.listener.figures;
    let ending = match serving.transport.acceptance() {
        None => serve_connection(stream, peer, &connection.progress, serving, pending()).await,
        Some(acceptance) => {
            let handshake = acceptance.acceptor.accept(stream);
            let handshake = tokio::time::timeout(serving.limits.header_timeout.duration(), handshake);
            let agreed = tokio::select! {
                agreed = handshake => Some(agreed),
                () = connection.progress.displaced() => None,
            };
            match agreed {
                Some(Ok(Ok(stream))) => {
                    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
                    let chain = chain.iter().cloned().map(CertificateDer::into_owned).collect();
                    let distrusted = acceptance.distrusted(chain);
                    serve_connection(stream, peer, &connection.progress, serving, distrusted).await
                }
                Some(Ok(Err(error))) => {
                    tracing::debug!(%peer, %error, "TLS could not be agreed on");
                    figures.handshakes_failed.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                Some(Err(_)) => Ending::TooSlow,
                None => Ending::Displaced,
            }
        }
    };
    match ending {
        Ending::Closed => {}
        Ending::TooSlow => {
            tracing::debug!(%peer, listener = serving.listener.kind.name(), "a client was too slow");
            figures.timed_out.fetch_add(1, Ordering::Relaxed);
        }
        Ending::Displaced => {
            figures.displaced.fetch_add(1, Ordering::Relaxed);
        }
    }
}
