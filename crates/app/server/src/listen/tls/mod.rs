//! Transport: plain, or TLS with certificates that are read again when their files change.

use crate::settings::TlsSettings;
use rustls::RootCertStore;
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// Plain or TLS connections. Clones share the current certificates.
#[derive(Clone)]
pub(crate) struct Transport {
    tls: Option<Arc<Tls>>,
}

struct Tls {
    settings: TlsSettings,
    current: RwLock<Arc<ServerConfig>>,
}

/// How often the files are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
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
        let current = RwLock::new(Arc::new(read(settings)?));
        Ok(Transport { tls: Some(Arc::new(Tls { settings: settings.clone(), current })) })
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// The acceptor for new connections; `None` for plain ones.
    pub(crate) fn acceptor(&self) -> Option<TlsAcceptor> {
        let current = self.tls.as_ref()?.current.read().expect("no thread panics while it holds the lock");
        Some(TlsAcceptor::from(current.clone()))
    }

    /// Reloads the files when they change, until the server stops. If that fails, it is logged and the old ones stay.
    pub(crate) async fn follow(self, stopping: CancellationToken) {
        let Some(tls) = self.tls else { return };
        let mut seen = stamps(&tls.settings);
        loop {
            tokio::select! {
                () = stopping.cancelled() => return,
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
            let now = stamps(&tls.settings);
            if now == seen {
                continue;
            }
            seen = now;
            tls.reload();
        }
    }
}

impl Tls {
    fn reload(&self) {
        match read(&self.settings) {
            Ok(config) => {
                *self.current.write().expect("no thread panics while it holds the lock") = Arc::new(config);
                tracing::info!("certificates were read again");
            }
            Err(problem) => {
                tracing::error!(%problem, "certificates changed and cannot be used; the old ones stay")
            }
        }
    }
}

/// A file with another stamp has changed.
#[derive(PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: Option<u64>,
}

fn stamps(settings: &TlsSettings) -> Vec<Stamp> {
    files(settings)
        .map(|file| {
            let metadata = std::fs::metadata(file).ok();
            let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
            Stamp { modified, length: metadata.map(|metadata| metadata.len()) }
        })
        .collect()
}

fn files(settings: &TlsSettings) -> impl Iterator<Item = &PathBuf> {
    [&settings.certificate, &settings.key, &settings.client_roots].into_iter().flatten()
}

fn read(settings: &TlsSettings) -> Result<ServerConfig, String> {
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
    let builder = match &settings.client_roots {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(file)?), provider);
            let verifier = verifier.build();
            builder.with_client_cert_verifier(verifier.map_err(|error| format!("tls.client_roots: {error}"))?)
        }
    };
    let mut config = builder
        .with_single_cert(chain, private)
        .map_err(|error| format!("tls.certificate and tls.key do not fit: {error}"))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
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
