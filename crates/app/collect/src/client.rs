//! The HTTP client.

use crate::CollectError;
use laggard_system::http::{ClientOptions, bearer};
use std::time::Duration;
use ureq::Agent;
use ureq::http::HeaderMap;

/// How requests are sent.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// A bearer token.
    pub token: Option<String>,
    /// Certificates of authorities to trust instead of the well-known ones, as PEM.
    pub authorities_pem: Option<Vec<u8>>,
    /// Longest time for a request and its response.
    pub timeout: Duration,
}

/// Longest time until a connection is established.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest pause that a server may request.
const PAUSE_MAX: Duration = Duration::from_secs(600);

impl ClientSettings {
    /// Responses are not compressed, since ranges of bytes are requested.
    pub(crate) fn agent(&self) -> Result<Agent, CollectError> {
        let options = ClientOptions {
            connect_timeout: CONNECT_TIMEOUT,
            roots_pem: self.authorities_pem.as_deref(),
            compression: false,
            ..ClientOptions::new(self.timeout)
        };
        options
            .agent()
            .map_err(|error| CollectError::Settings(format!("the file with root certificates {error}")))
    }

    /// The value of the `Authorization` header.
    pub(crate) fn authorization(&self) -> Option<String> {
        self.token.as_deref().map(bearer)
    }
}

/// The pause that `Retry-After` requests, at most ten minutes.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    laggard_system::http::retry_after(headers).map(|pause| pause.min(PAUSE_MAX))
}
