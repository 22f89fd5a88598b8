//! The HTTP client of query APIs, with limits of size, time, and tries.

use crate::error::SourceError;
use crate::row::SourceRow;
use laggard_system::http::{BaseUrlError, ClientOptions, base_url, retry_after};
use laggard_system::{Credentials, FailedAttempt, printable, with_retries};
use serde_json::Value;
use std::io::Read;
use std::time::Duration;
use ureq::http::{Response, header};
use ureq::{Agent, Body, RequestBuilder};

// Limit: bytes of one answer of a trace server | the slice of time is halved; rejected if it cannot be
/// Largest answer in bytes, decompressed.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// Largest list of services or traces, in bytes.
const LIST_BYTES_MAX: u64 = 32 << 20;

/// How to reach a server.
#[derive(Clone, Debug)]
pub struct SourceSettings {
    /// The kind of server.
    pub row: &'static SourceRow,
    /// `http://` or `https://`, with a path where the API is not at the root.
    pub url: String,
    /// Credentials, if any.
    pub credentials: Option<Credentials>,
    /// The tenant, sent as `X-Scope-OrgID`.
    pub tenant: Option<String>,
    /// The table, or pattern of indices, instead of the usual one.
    pub table: Option<String>,
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

impl SourceSettings {
    /// A minute for an answer; four tries, with pauses of half a second, one and two.
    pub fn new(row: &'static SourceRow, url: impl Into<String>) -> SourceSettings {
        SourceSettings {
            row,
            url: url.into(),
            credentials: None,
            tenant: None,
            table: None,
            authorities_pem: None,
            timeout: Duration::from_secs(60),
            answer_bytes_max: ANSWER_BYTES_MAX,
            tries: 4,
            pause: Duration::from_millis(500),
        }
    }
}

/// Queries one server. Does not follow redirects, so credentials are sent nowhere else.
#[derive(Debug)]
pub struct SourceClient {
    agent: Agent,
    settings: SourceSettings,
    base: String,
}

impl SourceClient {
    /// A client; nothing is sent yet.
    ///
    /// # Errors
    /// When the URL is not an HTTP URL, or has a password; when the certificates cannot be read.
    pub fn new(settings: SourceSettings) -> Result<SourceClient, SourceError> {
        let base = base_of(settings.row, &settings.url)?;
        if settings.table.is_some() && settings.row.table.is_none() {
            return Err(SourceError::Settings(format!(
                "--source-table: {} has no tables",
                settings.row.title
            )));
        }
        let options = ClientOptions {
            roots_pem: settings.authorities_pem.as_deref(),
            ..ClientOptions::new(settings.timeout)
        };
        let agent = options
            .agent()
            .map_err(|error| SourceError::Settings(format!("the file with root certificates {error}")))?;
        Ok(SourceClient { agent, settings, base })
    }

    /// The kind of server.
    pub fn row(&self) -> &'static SourceRow {
        self.settings.row
    }

    /// The URL that the API is below.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The table, or pattern of indices, that has the spans.
    pub(crate) fn table(&self) -> &str {
        self.settings.table.as_deref().or(self.settings.row.table).unwrap_or_default()
    }

    /// The JSON at a path, with retries.
    pub(crate) fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Vec<u8>, SourceError> {
        let answer = self.get_rows(path, query)?;
        if answer.is_empty() { Err(self.unexpected(path, "the answer is empty")) } else { Ok(answer) }
    }

    /// Rows of JSON at a path, perhaps none, with retries.
    pub(crate) fn get_rows(&self, path: &str, query: &[(&str, &str)]) -> Result<Vec<u8>, SourceError> {
        self.send(path, query, None)
    }

    /// The JSON that answers a posted one, with retries.
    pub(crate) fn post(
        &self,
        path: &str,
        query: &[(&str, &str)],
        body: &Value,
    ) -> Result<Vec<u8>, SourceError> {
        self.send(path, query, Some(body.to_string().as_bytes()))
    }

    /// Checks the size of an answer in several parts.
    pub(crate) fn check_size(&self, bytes: usize) -> Result<(), SourceError> {
        let limit = self.settings.answer_bytes_max;
        if bytes as u64 <= limit {
            Ok(())
        } else {
            Err(SourceError::TooLarge { url: self.base.clone(), limit })
        }
    }

    fn send(&self, path: &str, query: &[(&str, &str)], body: Option<&[u8]>) -> Result<Vec<u8>, SourceError> {
        let url = format!("{}{path}", self.base);
        with_retries(self.settings.tries, self.settings.pause, || {
            let response = match body {
                None => self.with_headers(self.agent.get(&url).query_pairs(query.iter().copied())).call(),
                Some(body) => {
                    let request = self.agent.post(&url).query_pairs(query.iter().copied());
                    self.with_headers(request).header(header::CONTENT_TYPE, "application/json").send(body)
                }
            };
            self.read(&url, response)
        })
    }

    fn with_headers<B>(&self, mut request: RequestBuilder<B>) -> RequestBuilder<B> {
        request = request.header(header::ACCEPT, "application/json");
        if let Some(credentials) = &self.settings.credentials {
            request = request.header(header::AUTHORIZATION, credentials.header());
        }
        if let Some(tenant) = &self.settings.tenant {
            request = request.header("X-Scope-OrgID", tenant);
        }
        request
    }

    /// The JSON at a path as a value.
    pub(crate) fn get_value(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, SourceError> {
        let body = self.get(path, query)?;
        if body.len() as u64 > LIST_BYTES_MAX {
            let url = format!("{}{path}", self.base);
            return Err(SourceError::TooLarge { url, limit: LIST_BYTES_MAX });
        }
        serde_json::from_slice(&body).map_err(|error| self.unexpected(path, &error.to_string()))
    }

    /// The error of an answer that another server gives.
    pub(crate) fn unexpected(&self, path: &str, reason: &str) -> SourceError {
        SourceError::Unexpected {
            title: self.settings.row.title,
            url: format!("{}{path}", self.base),
            reason: printable(reason, 300),
        }
    }

    fn read(
        &self,
        url: &str,
        response: Result<Response<Body>, ureq::Error>,
    ) -> Result<Vec<u8>, FailedAttempt<SourceError>> {
        let unreachable = |error: &ureq::Error| FailedAttempt::passing(self.unreachable(url, error));
        let mut response = response.map_err(|error| unreachable(&error))?;
        let limit = self.settings.answer_bytes_max;
        let mut body = Vec::new();
        let read = response.body_mut().as_reader().take(limit + 1).read_to_end(&mut body);
        read.map_err(|error| unreachable(&ureq::Error::from(error)))?;
        if !response.status().is_success() {
            return Err(self.status(url, &response, &body));
        }
        if body.len() as u64 > limit {
            return Err(FailedAttempt::permanent(SourceError::TooLarge { url: url.to_owned(), limit }));
        }
        self.check_json(url, &body).map_err(FailedAttempt::permanent)?;
        Ok(body)
    }

    fn unreachable(&self, url: &str, error: &ureq::Error) -> SourceError {
        let reason = match error {
            ureq::Error::Timeout(_) => format!("no answer within {} s", self.settings.timeout.as_secs_f64()),
            error => printable(&error.to_string(), 300),
        };
        SourceError::Unreachable { title: self.settings.row.title, url: url.to_owned(), reason }
    }

    fn status(&self, url: &str, response: &Response<Body>, body: &[u8]) -> FailedAttempt<SourceError> {
        let status = response.status().as_u16();
        let error = SourceError::Status {
            title: self.settings.row.title,
            url: url.to_owned(),
            example: self.settings.row.example,
            status,
            message: message_of(response, body),
        };
        let is_passing = matches!(status, 429 | 502 | 503 | 504);
        FailedAttempt { error, is_passing, pause: retry_after(response.headers()) }
    }

    fn check_json(&self, url: &str, body: &[u8]) -> Result<(), SourceError> {
        let (title, url) = (self.settings.row.title, url.to_owned());
        match body.trim_ascii_start().first() {
            Some(b'{' | b'[') => Ok(()),
            Some(b'<') => Err(SourceError::WebPage { title, url, example: self.settings.row.example }),
            None => Ok(()),
            Some(_) => {
                let reason = format!("the answer begins with {:?}", text_of(body, 80));
                Err(SourceError::Unexpected { title, url, reason })
            }
        }
    }
}

/// Longest message of a server that is shown, in characters.
const MESSAGE_CHARS_MAX: usize = 300;

/// The server's message in an unsuccessful response: Jaeger's `errors`, a `message`, Elasticsearch's reason, or a short text.
fn message_of(response: &Response<Body>, body: &[u8]) -> String {
    if let Some(location) = response.headers().get(header::LOCATION) {
        return format!("it redirects to {}", text_of(location.as_bytes(), MESSAGE_CHARS_MAX));
    }
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = [&document["errors"][0]["msg"], &document["message"], &document["error"]["reason"]];
    let message = message.iter().find_map(|message| message.as_str());
    if let Some(message) = message {
        return printable(message, MESSAGE_CHARS_MAX);
    }
    if body.trim_ascii_start().starts_with(b"<") {
        return "a web page".to_owned();
    }
    text_of(body, MESSAGE_CHARS_MAX)
}

fn text_of(bytes: &[u8], chars_max: usize) -> String {
    let bytes = &bytes[..bytes.len().min(4 * chars_max)];
    printable(&String::from_utf8_lossy(bytes), chars_max).trim().to_owned()
}

/// The URL that the API is below: without what people copy with it from a browser.
fn base_of(row: &SourceRow, url: &str) -> Result<String, SourceError> {
    let base = base_url(url).map_err(|error| {
        SourceError::Settings(match error {
            // Not quoted: it may hold a password.
            BaseUrlError::User => format!(
                "--{}: the URL has a user; set the environment variable {} to user:password instead",
                row.name,
                crate::error::BASIC_VARIABLE
            ),
            BaseUrlError::NotHttp => format!(
                "--{}: {:?} is not a URL like {}, without a query",
                row.name,
                printable(url, 200),
                row.example
            ),
        })
    })?;
    let known = row.known_paths.iter().find_map(|path| base.strip_suffix(path));
    Ok(known.unwrap_or(&base).trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SOURCES;

    fn base(name: &str, url: &str) -> Result<String, String> {
        let row = SOURCES.iter().find(|row| row.name == name).unwrap();
        base_of(row, url).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_of_the_api_and_its_pages_are_not_part_of_the_base() {
        for url in
            ["http://h:1", "http://h:1/", "http://h:1/search", "http://h:1/api/traces", "http://h:1/api"]
        {
            assert_eq!(base("jaeger", url).unwrap(), "http://h:1", "{url}");
        }
        assert_eq!(base("jaeger", "https://h/jaeger/api/").unwrap(), "https://h/jaeger");
        assert_eq!(base("zipkin", "http://h:9411/api/v2/traces").unwrap(), "http://h:9411");
        assert_eq!(base("tempo", "http://h/tempo/api/search").unwrap(), "http://h/tempo");
    }

    #[test]
    fn invalid_urls_are_rejected_without_revealing_passwords() {
        for url in ["localhost", "ftp://h", "http://", "http://h?x=1"] {
            assert!(base("jaeger", url).unwrap_err().contains("http://localhost:16686"), "{url}");
        }
        let rejected = base("tempo", "http://me:secret@h").unwrap_err();
        assert!(rejected.contains("LAGGARD_SOURCE_BASIC") && !rejected.contains("secret"), "{rejected}");
    }
}
