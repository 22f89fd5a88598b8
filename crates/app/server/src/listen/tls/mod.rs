//! Transport: plain, or TLS with certificates that are read again when their files change.

use crate::operations::FileStamp;
use crate::settings::TlsSettings;
use rustls::RootCertStore;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// Plain or TLS connections. Clones share the current certificates.
#[derive(Clone)]
pub(crate) struct Transport {
    tls: Option<Arc<Tls>>,
}

struct Tls {
    settings: TlsSettings,
    current: watch::Sender<Arc<Certificates>>,
}

/// What was read of the files.
struct Certificates {
    config: Arc<ServerConfig>,
    /// Verifies clients, if they need certificates.
    clients: Option<Arc<dyn ClientCertVerifier>>,
}

/// The certificates that a new connection is accepted with.
pub(super) struct Acceptance {
    pub(super) acceptor: TlsAcceptor,
    current: watch::Receiver<Arc<Certificates>>,
}

/// Larger files are not certificates.
const FILE_BYTES_MAX: u64 = 4 << 20;

impl Transport {
    /// Reads the certificates, if there are any.
    ///
    /// # Errors
    /// Which file cannot be read, or does not match the others.
    pub(crate) fn load(settings: &TlsSettings) -> Result<Transport, String> {
        if settings.certificate.is_none() {
            return Ok(Transport { tls: None });
        }
        let current = watch::Sender::new(Arc::new(read(settings)?));
        Ok(Transport { tls: Some(Arc::new(Tls { settings: settings.clone(), current })) })
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// The certificates for a new connection; `None` for plain ones.
    pub(super) fn acceptance(&self) -> Option<Acceptance> {
        let mut current = self.tls.as_ref()?.current.subscribe();
        let acceptor = TlsAcceptor::from(current.borrow_and_update().config.clone());
        Some(Acceptance { acceptor, current })
    }

    /// What a new connection is encrypted with; `None` for plain ones.
    pub(crate) fn config(&self) -> Option<Arc<ServerConfig>> {
        self.tls.as_ref().map(|tls| tls.current.borrow().config.clone())
    }

    /// The files as they are now; none for plain connections.
    pub(crate) fn stamps(&self) -> Vec<FileStamp> {
        let files = self.tls.iter().flat_map(|tls| files(&tls.settings));
        files.map(|file| FileStamp::read(file)).collect()
    }

    /// Reads the files again, for new connections. Those of clients whose certificates are not accepted any more end after
    /// their requests.
    ///
    /// # Errors
    /// Why they cannot be used; the old ones stay.
    pub(crate) fn read_again(&self) -> Result<(), String> {
        if let Some(tls) = &self.tls {
            tls.current.send_replace(Arc::new(read(&tls.settings)?));
        }
        Ok(())
    }

    /// The same; returns whether they can be used, and logs it.
    pub(crate) fn reload(&self) -> bool {
        match self.read_again() {
            Ok(()) => {
                if self.is_encrypted() {
                    tracing::info!("certificates were read again");
                }
                true
            }
            Err(problem) => {
                tracing::error!(%problem, "certificates changed and cannot be used; the old ones stay");
                false
            }
        }
    }
}

impl Acceptance {
    /// Returns once the client's certificates are not accepted any more. `chain` is what it has shown.
    pub(super) async fn distrusted(mut self, chain: Vec<CertificateDer<'static>>) {
        while self.current.changed().await.is_ok() {
            let clients = self.current.borrow_and_update().clients.clone();
            let Some(clients) = clients else { continue };
            let Some((own, further)) = chain.split_first() else { return };
            if clients.verify_client_cert(own, further, UnixTime::now()).is_err() {
                return;
            }
        }
        // The server stops.
        std::future::pending().await
    }
}

fn files(settings: &TlsSettings) -> impl Iterator<Item = &PathBuf> {
    [&settings.certificate, &settings.key, &settings.client_roots].into_iter().flatten()
}

fn read(settings: &TlsSettings) -> Result<Certificates, String> {
    let (Some(certificate), Some(key)) = (&settings.certificate, &settings.key) else {
        return Err("tls.certificate and tls.key must both be set".to_owned());
    };
    let chain = certificates(certificate)?;
    let private = PrivateKeyDer::from_pem_slice(&contents(key)?)
        .map_err(|error| format!("tls.key: {}: {error}", key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let clients: Option<Arc<dyn ClientCertVerifier>> = match &settings.client_roots {
        None => None,
        Some(file) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(file)?), provider);
            Some(verifier.build().map_err(|error| format!("tls.client_roots: {error}"))?)
        }
    };
    let builder = match &clients {
        None => builder.with_no_client_auth(),
        Some(verifier) => builder.with_client_cert_verifier(verifier.clone()),
    };
    let mut config = builder
        .with_single_cert(chain, private)
        .map_err(|error| format!("tls.certificate and tls.key do not fit: {error}"))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Certificates { config: Arc::new(config), clients })
}

fn roots(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| format!("tls.client_roots: {}: {error}", file.display()))?;
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let contents = contents(file)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&contents).collect();
    let chain = chain.map_err(|error| format!("{}: {error}", file.display()))?;
    if chain.is_empty() {
        return Err(format!("{}: no certificate (PEM)", file.display()));
    }
    Ok(chain)
}

fn contents(file: &Path) -> Result<Vec<u8>, String> {
    let explain = |error: std::io::Error| format!("{}: {error}", file.display());
    let length = std::fs::metadata(file).map_err(explain)?.len();
    if length > FILE_BYTES_MAX {
        return Err(format!("{}: {length} bytes; at most {FILE_BYTES_MAX}", file.display()));
    }
    std::fs::read(file).map_err(explain)
}

#[cfg(test)]
mod tests;
