//! The HTTP client of Prometheus's query API, with limits of size, time, and tries.

use crate::answer::{Matrix, label_values, matrix, response_error};
use crate::error::quoted;
use crate::{Credentials, PrometheusError};
use laggard_system::http::{BaseUrlError, ClientOptions, base_url, retry_after};
use laggard_system::{FailedAttempt, with_retries};
use std::io::Read;
use std::time::Duration;
use ureq::http::{Response, header};
use ureq::{Agent, Body};

/// How to reach a server.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// `http://` or `https://`, with a path where the API is not at the root; `/api/v1` is added.
    pub url: String,
    /// Credentials, if any.
    pub credentials: Option<Credentials>,
    /// Certificates of authorities to trust instead of the well-known ones, as PEM.
    pub authorities_pem: Option<Vec<u8>>,
    /// Longest time for one answer.
    pub timeout: Duration,
    /// Largest answer in bytes, decompressed.
    pub answer_bytes_max: u64,
    /// Number of attempts while the server is overloaded or unreachable, from 1.
    pub tries: u32,
    /// Pause before the second try; twice as long before each further one.
    pub pause: Duration,
}

impl ClientSettings {
    /// A minute and 256 MiB for an answer; four tries, with pauses of half a second, one and two.
    pub fn new(url: impl Into<String>) -> ClientSettings {
        ClientSettings {
            url: url.into(),
            credentials: None,
            authorities_pem: None,
            timeout: Duration::from_secs(60),
            answer_bytes_max: 256 << 20,
            tries: 4,
            pause: Duration::from_millis(500),
        }
    }
}

/// Longer questions are sent in the body, because many servers limit addresses.
const ADDRESS_BYTES_MAX: usize = 2_000;

/// Queries one server. Does not follow redirects, so credentials are sent nowhere else.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    settings: ClientSettings,
    endpoint: String,
}

/// A range query as the API takes it; times in ns since the epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeQuery<'q> {
    pub(crate) promql: &'q str,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) step: i64,
}

/// An answer with its size.
pub(crate) struct QueryResult {
    pub(crate) matrix: Matrix,
    pub(crate) bytes: u64,
}

impl Client {
    /// A client; nothing is sent yet.
    ///
    /// # Errors
    /// When the address is not an HTTP address, or holds a password; when the certificates cannot be read.
    pub fn new(settings: ClientSettings) -> Result<Client, PrometheusError> {
        let endpoint = endpoint(&settings.url)?;
        let options = ClientOptions {
            roots_pem: settings.authorities_pem.as_deref(),
            ..ClientOptions::new(settings.timeout)
        };
        let agent = options
            .agent()
            .map_err(|error| PrometheusError::Settings(format!("the file of authorities {error}")))?;
        Ok(Client { agent, settings, endpoint })
    }

    /// Where questions go.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Sends a query, with retries.
    pub(crate) fn query_range(&self, query: &RangeQuery<'_>) -> Result<QueryResult, PrometheusError> {
        with_retries(self.settings.tries, self.settings.pause, || self.query_once(query))
    }

    fn query_once(&self, query: &RangeQuery<'_>) -> Result<QueryResult, FailedAttempt<PrometheusError>> {
        let sent = self.send(query);
        let mut response = sent.map_err(|error| FailedAttempt::passing(self.unreachable(&error)))?;
        let status = response.status().as_u16();
        let body = self.body(&mut response, query)?;
        if response.status().is_success() {
            let matrix = matrix(&body, &self.endpoint, query.promql).map_err(FailedAttempt::permanent)?;
            return Ok(QueryResult { matrix, bytes: body.len() as u64 });
        }
        let retryable = matches!(status, 429 | 502 | 503 | 504);
        let error = match response_error(&body, query.promql) {
            Some(refused) if !retryable => refused,
            Some(PrometheusError::Refused { message, .. }) => self.status(status, message),
            _ => self.status(status, error_message(&response, &body)),
        };
        Err(FailedAttempt { error, is_passing: retryable, pause: retry_after(response.headers()) })
    }

    /// The names of all metrics the server knows.
    ///
    /// # Errors
    /// As for a query; there is one attempt only.
    pub fn metric_names(&self) -> Result<Vec<String>, PrometheusError> {
        let endpoint = self.endpoint.replace("/query_range", "/label/__name__/values");
        let mut request = self.agent.get(&endpoint);
        if let Some(credentials) = &self.settings.credentials {
            request = request.header(header::AUTHORIZATION, credentials.header());
        }
        let mut response = request.call().map_err(|error| self.unreachable(&error))?;
        let limit = self.settings.answer_bytes_max;
        let mut body = Vec::new();
        let read = response.body_mut().as_reader().take(limit + 1).read_to_end(&mut body);
        read.map_err(|error| self.unreachable(&ureq::Error::from(error)))?;
        if body.len() as u64 > limit {
            return Err(PrometheusError::TooLarge { query: endpoint, limit });
        }
        label_values(&body, &endpoint)
    }

    fn send(&self, query: &RangeQuery<'_>) -> Result<Response<Body>, ureq::Error> {
        let seconds = |ns: i64| {
            format!("{}.{:03}", ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000) / 1_000_000)
        };
        let [start, end, step] = [query.start, query.end, query.step].map(seconds);
        let fields = [("query", query.promql), ("start", &start), ("end", &end), ("step", &step)];
        let credentials = self.settings.credentials.as_ref().map(Credentials::header);
        if query.promql.len() > ADDRESS_BYTES_MAX {
            let mut request = self.agent.post(&self.endpoint);
            if let Some(header) = credentials {
                request = request.header(header::AUTHORIZATION, header);
            }
            return request.send_form(fields);
        }
        let mut request = self.agent.get(&self.endpoint).query_pairs(fields);
        if let Some(header) = credentials {
            request = request.header(header::AUTHORIZATION, header);
        }
        request.call()
    }

    fn body(
        &self,
        response: &mut Response<Body>,
        query: &RangeQuery<'_>,
    ) -> Result<Vec<u8>, FailedAttempt<PrometheusError>> {
        let limit = self.settings.answer_bytes_max;
        let mut body = Vec::new();
        let read = response.body_mut().as_reader().take(limit + 1).read_to_end(&mut body);
        if let Err(error) = read {
            return Err(FailedAttempt::passing(self.unreachable(&ureq::Error::from(error))));
        }
        if body.len() as u64 > limit {
            let query = query.promql.to_owned();
            return Err(FailedAttempt::permanent(PrometheusError::TooLarge { query, limit }));
        }
        Ok(body)
    }

    fn unreachable(&self, error: &ureq::Error) -> PrometheusError {
        let reason = match error {
            ureq::Error::Timeout(_) => format!("no answer within {} s", self.settings.timeout.as_secs_f64()),
            error => quoted(&error.to_string()),
        };
        PrometheusError::Unreachable { url: self.endpoint.clone(), reason }
    }

    fn status(&self, status: u16, message: String) -> PrometheusError {
        PrometheusError::Status { url: self.endpoint.clone(), status, message }
    }
}

/// The error message of an unsuccessful response.
fn error_message(response: &Response<Body>, body: &[u8]) -> String {
    if let Some(location) = response.headers().get(header::LOCATION) {
        return format!("it redirects to {}", quoted(&String::from_utf8_lossy(location.as_bytes())));
    }
    let text = quoted(&String::from_utf8_lossy(&body[..body.len().min(300)]));
    if text.is_empty() {
        response.status().canonical_reason().unwrap_or("no reason given").to_owned()
    } else {
        text
    }
}

fn endpoint(url: &str) -> Result<String, PrometheusError> {
    let base = base_url(url).map_err(|error| {
        PrometheusError::Settings(match error {
            // Not quoted: it may hold a password.
            BaseUrlError::User => {
                "the address holds a user; put user:password into a file for --basic-auth-file".to_owned()
            }
            BaseUrlError::NotHttp => {
                format!("{}: write an address like http://localhost:9090, without a query", quoted(url))
            }
        })
    })?;
    let base =
        base.strip_suffix("/api/v1/query_range").or_else(|| base.strip_suffix("/api/v1")).unwrap_or(&base);
    Ok(format!("{base}/api/v1/query_range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_api_is_added_once() {
        for url in [
            "h:9090",
            "http://h:9090",
            "http://h:9090/",
            "http://h:9090/api/v1",
            "http://h:9090/api/v1/query_range",
        ] {
            assert_eq!(endpoint(url).unwrap(), "http://h:9090/api/v1/query_range");
        }
        assert_eq!(endpoint("https://h/prom/").unwrap(), "https://h/prom/api/v1/query_range");
    }

    #[test]
    fn invalid_addresses_are_rejected_without_revealing_passwords() {
        for url in ["localhost", "ftp://h", "http://", "http://h?x=1", "http://h a"] {
            assert!(endpoint(url).is_err(), "{url}");
        }
        let refused = endpoint("http://me:secret@h").unwrap_err().to_string();
        assert!(refused.contains("--basic-auth-file") && !refused.contains("secret"), "{refused}");
    }

    #[test]
    fn authorities_must_be_certificates() {
        let settings =
            ClientSettings { authorities_pem: Some(b"none".to_vec()), ..ClientSettings::new("http://h") };
        assert!(Client::new(settings).unwrap_err().to_string().contains("PEM"));
    }
}
