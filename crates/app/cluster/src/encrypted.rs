//! Encrypted connections. Those that a worker accepts are not encrypted by the engine, whose certificates stay until the process ends.

use futures::{Stream, StreamExt};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{RootCertStore, ServerConfig};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Certificates and keys of the process that asks, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterTls {
    /// Certificates of the authorities of workers.
    pub roots: String,
    /// The certificate chain and the private key that workers with client roots require.
    pub client: Option<(String, String)>,
}

/// Returns what the connection that is accepted next is encrypted with: certificates may be replaced while a worker runs. HTTP/2 is to be
/// among its protocols.
pub type TlsOfConnections = Arc<dyn Fn() -> Arc<ServerConfig> + Send + Sync>;

/// A client that has not finished its handshake after so long is disconnected.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Handshakes at the same time; further clients wait.
const HANDSHAKES_MAX: usize = 256;

/// Connections after their handshakes. A handshake that fails ends its connection alone.
pub(crate) fn encrypted(
    connections: impl Stream<Item = io::Result<TcpStream>> + Send,
    tls: TlsOfConnections,
) -> impl Stream<Item = io::Result<TlsStream<TcpStream>>> + Send {
    let handshakes = connections.map(move |accepted| {
        let acceptor = TlsAcceptor::from(tls());
        async move {
            match accepted {
                Ok(stream) => shaken(&acceptor, stream).await.map(Ok),
                Err(error) => Some(Err(error)),
            }
        }
    });
    handshakes.buffer_unordered(HANDSHAKES_MAX).filter_map(futures::future::ready)
}

async fn shaken(acceptor: &TlsAcceptor, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await.ok()?.ok()
}

/// Checks texts (PEM) with which the engine would accept no worker, or fail with an error that names no file.
///
/// # Errors
/// What is wrong with which of them.
pub(crate) fn check_certificates(tls: &ClusterTls) -> Result<(), String> {
    let mut roots = RootCertStore::empty();
    for root in certificates(&tls.roots).map_err(|error| format!("root certificates: {error}"))? {
        roots.add(root).map_err(|error| format!("root certificates: {error}"))?;
    }
    if let Some((chain, _)) = &tls.client {
        certificates(chain).map_err(|error| format!("client certificate: {error}"))?;
    }
    Ok(())
}

fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match all {
        Ok(all) if all.is_empty() => Err("there is none (PEM)".to_owned()),
        Ok(all) => Ok(all),
        Err(error) => Err(error.to_string()),
    }
}
