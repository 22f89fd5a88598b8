//! HTTP, with limits.

use crate::CollectError;
use std::time::Duration;
use ureq::Agent;
use ureq::http::{HeaderMap, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// How somebody is talked to.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// A bearer token.
    pub token: Option<String>,
    /// Certificates of authorities to trust instead of the well-known ones, as PEM.
    pub authorities_pem: Option<Vec<u8>>,
    /// Longest time for one request and its answer.
    pub timeout: Duration,
}

/// Longest time until a connection stands.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest pause that somebody may ask for.
const PAUSE_MAX: Duration = Duration::from_secs(600);

impl ClientSettings {
    /// Follows no redirects, so that tokens go nowhere else, and takes nothing packed on the way.
    pub(crate) fn agent(&self) -> Result<Agent, CollectError> {
        let mut tls = TlsConfig::builder();
        if let Some(pem) = &self.authorities_pem {
            tls = tls.root_certs(authorities(pem)?);
        }
        Ok(Agent::config_builder()
            .timeout_global(Some(self.timeout))
            .timeout_connect(Some(CONNECT_TIMEOUT.min(self.timeout)))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .accept_encoding("identity")
            .tls_config(tls.build())
            .user_agent(concat!("laggard/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent())
    }

    /// What shows who asks.
    pub(crate) fn authorization(&self) -> Option<String> {
        self.token.as_ref().map(|token| format!("Bearer {token}"))
    }
}

fn authorities(pem: &[u8]) -> Result<RootCerts, CollectError> {
    let unreadable = || CollectError::Settings("the file of authorities holds no PEM certificate".to_owned());
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|_| unreadable())? {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        return Err(unreadable());
    }
    Ok(RootCerts::new_with_certs(&found))
}

/// The pause that an answer asks for, in seconds; dates are not looked at.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(PAUSE_MAX))
}
