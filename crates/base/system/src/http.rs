//! The HTTP client: it follows no redirects, so that tokens go nowhere else, and returns every status as a response.

use std::fmt;
use std::time::Duration;
use ureq::Agent;
use ureq::http::{HeaderMap, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// How requests are sent.
#[derive(Clone, Copy, Debug)]
pub struct ClientOptions<'a> {
    /// Longest time for a request and its response.
    pub timeout: Duration,
    /// Longest time until a connection is established; `timeout` if longer.
    pub connect_timeout: Duration,
    /// Certificates of the authorities to trust instead of the well-known ones, as PEM.
    pub roots_pem: Option<&'a [u8]>,
    /// Whether responses may be compressed.
    pub compression: bool,
    /// Whether connections are kept open for further requests.
    pub reuse_connections: bool,
}

impl ClientOptions<'_> {
    /// Ten seconds to connect, well-known authorities, compressed responses, connections that are reused.
    pub const fn new(timeout: Duration) -> ClientOptions<'static> {
        ClientOptions {
            timeout,
            connect_timeout: Duration::from_secs(10),
            roots_pem: None,
            compression: true,
            reuse_connections: true,
        }
    }

    /// A client with these options.
    ///
    /// # Errors
    /// When `roots_pem` contains no certificate.
    pub fn agent(&self) -> Result<Agent, PemError> {
        let mut tls = TlsConfig::builder();
        if let Some(pem) = self.roots_pem {
            tls = tls.root_certs(root_certificates(pem)?);
        }
        let mut config = Agent::config_builder()
            .timeout_global(Some(self.timeout))
            .timeout_connect(Some(self.connect_timeout.min(self.timeout)))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(tls.build())
            .user_agent(concat!("laggard/", env!("CARGO_PKG_VERSION")));
        if !self.compression {
            config = config.accept_encoding("identity");
        }
        if !self.reuse_connections {
            config = config.max_idle_connections(0);
        }
        Ok(config.build().new_agent())
    }
}

/// Text that contains no PEM certificate, or a damaged one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PemError;

impl fmt::Display for PemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("contains no PEM certificate")
    }
}

impl std::error::Error for PemError {}

/// Root certificates from PEM; other items of the text are skipped.
///
/// # Errors
/// When it contains no certificate, or an item that cannot be read.
pub fn root_certificates(pem: &[u8]) -> Result<RootCerts, PemError> {
    let mut certificates = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|_| PemError)? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() { Err(PemError) } else { Ok(RootCerts::new_with_certs(&certificates)) }
}

/// Why a text cannot be the URL that a server's API is below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BaseUrlError {
    /// It has neither `http://` or `https://` and a host, nor a host and a port; or it has a query or white space.
    NotHttp,
    /// It has a user, and perhaps a password: it must not be shown.
    User,
}

/// A URL that a server's API is below, as a user gives it, without slashes at its end. `host:port` is `http://host:port`, as in curl.
///
/// # Errors
/// When it is not an HTTP URL, has a user, or has a query.
pub fn base_url(url: &str) -> Result<String, BaseUrlError> {
    let url = if has_only_a_port(url) { format!("http://{url}") } else { url.to_owned() };
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(BaseUrlError::User);
    }
    let is_outside = |c: char| matches!(c, '?' | '#') || c.is_whitespace();
    if authority.is_empty() || rest.contains(is_outside) {
        return Err(BaseUrlError::NotHttp);
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// Whether a text begins with a host and a port instead of a scheme.
fn has_only_a_port(url: &str) -> bool {
    let authority = url.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// The endpoint of a Laggard server's API below the URL that a user gives with `--server`.
///
/// # Errors
/// When it is not an HTTP URL, has a user, or has a query.
pub fn server_endpoint(url: &str, path: &str) -> Result<String, &'static str> {
    let base = base_url(url).map_err(|error| match error {
        BaseUrlError::User => "--server: the URL has a user; put a token into a file for --token-file",
        BaseUrlError::NotHttp => "--server is not a URL like http://localhost:4316 without a query",
    })?;
    Ok(format!("{}/api/v1/{path}", base.strip_suffix("/api/v1").unwrap_or(&base)))
}

/// The pause that `Retry-After` requests in seconds; dates are ignored.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The value of an `Authorization` header for a bearer token.
pub fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_follow_from_urls() {
        for url in ["http://h:4316", "http://h:4316/", "http://h:4316/api/v1/", "h:4316", "h:4316/"] {
            assert_eq!(server_endpoint(url, "diagnose").unwrap(), "http://h:4316/api/v1/diagnose");
        }
        assert_eq!(
            server_endpoint("https://h/laggard", "compare").unwrap(),
            "https://h/laggard/api/v1/compare"
        );
        for url in [
            "localhost",
            ":4316",
            "localhost:http",
            "me:secret@h:4316",
            "ftp://h",
            "ftp://h:21",
            "http://",
            "http:///x",
            "http://h?x=1",
            "http://h/a b",
            "http://me:secret@h",
        ] {
            assert!(!server_endpoint(url, "diagnose").unwrap_err().contains("secret"), "{url}");
        }
    }

    #[test]
    fn certificates_are_read_and_text_without_any_is_an_error() {
        let signed = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let options = ClientOptions::new(Duration::from_secs(1));
        let pem = signed.cert.pem();
        assert!(ClientOptions { roots_pem: Some(pem.as_bytes()), ..options }.agent().is_ok());
        for wrong in ["", "no certificate", &signed.signing_key.serialize_pem()] {
            assert_eq!(root_certificates(wrong.as_bytes()).err(), Some(PemError), "{wrong}");
        }
    }
}
