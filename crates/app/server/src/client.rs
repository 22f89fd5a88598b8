//! The client of another server: `laggard diagnose --server`.

use laggard_mcp::{CallRequest, RpcError, result_of};
use laggard_parallel::check_canceled;
use laggard_system::http::{ClientOptions, bearer, server_endpoint};
use laggard_system::printable;
use serde_json::{Map, Value};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::time::Duration;
use ureq::http::header;
use ureq::typestate::WithBody;
use ureq::{Agent, RequestBuilder};

/// A server and its credentials.
#[derive(Clone, Debug, Default)]
pub struct ServerAddress {
    /// `http://` or `https://`, with a path where the API is not at the root.
    pub url: String,
    /// A bearer token.
    pub token: Option<String>,
    /// The tenant, sent as `X-Scope-OrgID`.
    pub tenant: Option<String>,
    /// Root certificates to trust instead of the well-known ones, as PEM.
    pub authorities_pem: Option<Vec<u8>>,
}

impl ServerAddress {
    /// Checks what can be checked without the server.
    ///
    /// # Errors
    /// A URL that is none, and a file without certificates.
    pub fn check(&self) -> Result<(), QueryError> {
        self.endpoint("").and(agent(self).map(|_| ()))
    }

    /// A URL of the API.
    fn endpoint(&self, path: &str) -> Result<String, QueryError> {
        server_endpoint(&self.url, path).map_err(|reason| QueryError::Invalid(reason.to_owned()))
    }

    /// A request with the credentials.
    fn authorized(&self, mut request: RequestBuilder<WithBody>) -> RequestBuilder<WithBody> {
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, bearer(token));
        }
        if let Some(tenant) = &self.tenant {
            request = request.header("X-Scope-OrgID", tenant);
        }
        request
    }
}

/// The requested form of the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WantedForm {
    /// `json`, `text`, `markdown` or `html`.
    pub output: &'static str,
    /// Columns of text; clamped to 40 to 500.
    pub width: u16,
    /// Whether text has colors.
    pub color: bool,
}

/// A report of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerAnswer {
    /// The verdict in one word.
    pub verdict: String,
    /// The report in the requested form.
    pub report: Vec<u8>,
}

/// Why there is no report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QueryError {
    /// The settings or the URL are invalid.
    Invalid(String),
    /// There is too little data for a verdict.
    TooLittleData(String),
    /// The server cannot be reached, rejected the request, or failed.
    Unanswered(String),
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (QueryError::Invalid(text) | QueryError::TooLittleData(text) | QueryError::Unanswered(text)) =
            self;
        f.write_str(text)
    }
}

impl std::error::Error for QueryError {}

// Limit: bytes of a report that `--server` returns | rejected
/// Largest report, in bytes.
const REPORT_BYTES_MAX: u64 = 256 << 20;

/// Longest detail of an error that is shown, in characters.
const DETAIL_CHARS_MAX: usize = 2_000;

/// Longest time for a response.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// Sends a question (`diagnose`, `compare`, ...) with its settings as JSON, and waits for the report. Redirects are not
/// followed, so that the token is sent to this server only.
///
/// # Errors
/// See [`QueryError`].
pub fn query_server(
    server: &ServerAddress,
    question: &str,
    settings: &Value,
    form: WantedForm,
) -> Result<ServerAnswer, QueryError> {
    let url = server.endpoint(question)?;
    let width = form.width.clamp(40, 500).to_string();
    let color = form.color.to_string();
    let parameters = [("wait", "true"), ("output", form.output), ("width", &width), ("color", &color)];
    let request = server.authorized(agent(server)?.post(&url).query_pairs(parameters));
    let request = request.header(header::CONTENT_TYPE, "application/json");
    let body = settings.to_string();
    let unreachable = |error: &dyn fmt::Display| QueryError::Unanswered(format!("{url}: {error}"));
    let mut response = request.send(body.as_bytes()).map_err(|error| unreachable(&error))?;
    let mut report = Vec::new();
    let read = response.body_mut().as_reader().take(REPORT_BYTES_MAX + 1).read_to_end(&mut report);
    read.map_err(|error| unreachable(&error))?;
    if report.len() as u64 > REPORT_BYTES_MAX {
        return Err(unreachable(&"the report is larger than 256 MiB"));
    }
    if !response.status().is_success() {
        return Err(error_from_response(&url, response.status().as_u16(), &report));
    }
    let verdict = response.headers().get("laggard-verdict").and_then(|word| word.to_str().ok());
    let verdict = verdict.ok_or_else(|| unreachable(&"not a Laggard server"))?.to_owned();
    Ok(ServerAnswer { verdict, report })
}

/// Calls a tool of a server (`POST /api/v1/mcp`). While it waits, it checks whether the work of this thread is canceled
/// ([`laggard_parallel::Cancellation`]); the connection closes then, and the server ends its work.
///
/// # Errors
/// See [`QueryError`]; inside, an error of the protocol, such as a tool that this server does not have.
pub fn call_tool(
    server: &ServerAddress,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<Result<Value, RpcError>, QueryError> {
    let url = server.endpoint("mcp")?;
    let unreachable = |error: &dyn fmt::Display| QueryError::Unanswered(format!("{url}: {error}"));
    let call = CallRequest::new(tool, arguments);
    let mut request = server.authorized(agent(server)?.post(&url));
    request = request.header(header::CONTENT_TYPE, "application/json");
    request = request.header(header::ACCEPT, "application/json, text/event-stream");
    for (name, value) in call.headers {
        request = request.header(name, value);
    }
    let mut response = request.send(call.body.as_bytes()).map_err(|error| unreachable(&error))?;
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().to_owned();
    let mut body = BufReader::new(response.body_mut().as_reader().take(REPORT_BYTES_MAX));
    if kind.starts_with("text/event-stream") {
        let message = event_data(body).map_err(|error| unreachable(&error))?;
        return Ok(result_of(&message));
    }
    let mut message = Vec::new();
    body.read_to_end(&mut message).map_err(|error| unreachable(&error))?;
    match kind.as_str() {
        "application/json" => Ok(result_of(&message)),
        _ => Err(error_from_response(&url, response.status().as_u16(), &message)),
    }
}

/// The data of the first event of a stream.
fn event_data(mut stream: impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        check_canceled();
        line.clear();
        if stream.read_until(b'\n', &mut line)? == 0 {
            return Err(io::Error::other("the server closed the connection before it answered"));
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            return Ok(data.trim_ascii().to_vec());
        }
    }
}

/// The error in a response: a problem document, or only a status.
fn error_from_response(url: &str, status: u16, body: &[u8]) -> QueryError {
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let kind = document["type"].as_str().and_then(|uri| uri.strip_prefix("urn:laggard:"));
    let detail = document["detail"]
        .as_str()
        .map_or_else(|| format!("status {status}"), |detail| printable(detail, DETAIL_CHARS_MAX));
    match kind {
        Some("invalid") => QueryError::Invalid(detail),
        Some("too-little-data") => QueryError::TooLittleData(detail),
        _ if matches!(status, 401 | 403) => {
            QueryError::Unanswered(format!("{url}: {detail}; --token-file needs a token with the scope read"))
        }
        _ => QueryError::Unanswered(format!("{url}: {detail}")),
    }
}

fn agent(server: &ServerAddress) -> Result<Agent, QueryError> {
    let options =
        ClientOptions { roots_pem: server.authorities_pem.as_deref(), ..ClientOptions::new(TIMEOUT) };
    options.agent().map_err(|error| QueryError::Invalid(format!("the file with root certificates {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_follow_from_problem_documents() {
        let body = |kind: &str| format!(r#"{{"type": "urn:laggard:{kind}", "detail": "so\u001b[2J"}}"#);
        let error = |status, kind: &str| error_from_response("u", status, body(kind).as_bytes());
        assert_eq!(error(400, "invalid"), QueryError::Invalid("so [2J".to_owned()));
        assert_eq!(error(422, "too-little-data"), QueryError::TooLittleData("so [2J".to_owned()));
        assert_eq!(error(503, "busy"), QueryError::Unanswered("u: so [2J".to_owned()));
        assert_eq!(
            error_from_response("u", 502, b"<html>"),
            QueryError::Unanswered("u: status 502".to_owned())
        );
        assert!(error_from_response("u", 401, b"").to_string().contains("--token-file"));
    }
}
