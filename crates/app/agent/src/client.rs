//! Requests to the server.

use crate::error::AgentError;
use crate::protocol::{Poll, PollAnswer};
use laggard_system::http::{ClientOptions, bearer, server_endpoint};
use std::fs::File;
use std::io::Read;
use std::time::Duration;
use ureq::http::{Response, header};
use ureq::{Agent, Body};

/// The server and how it is reached.
#[derive(Clone, Debug)]
pub struct ServerAccess {
    /// `http://` or `https://`, with a path where the API is not at the root.
    pub url: String,
    /// A bearer token.
    pub token: Option<String>,
    /// The tenant, sent as `X-Scope-OrgID`.
    pub tenant: Option<String>,
    /// Certificates of authorities to trust instead of the well-known ones, as PEM.
    pub authorities_pem: Option<Vec<u8>>,
}

/// Longest time for a poll, and for an upload.
const POLL_TIMEOUT: Duration = Duration::from_secs(20);
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(300);

/// Most bytes that are read of an answer.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// Outcome of an upload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum UploadOutcome {
    /// The server has it, from now on or already.
    Stored,
    /// The server does not want it any more.
    Unwanted,
    /// The server rejects it permanently.
    Rejected(String),
}

/// A client of one server.
pub(crate) struct Client {
    polls: Agent,
    uploads: Agent,
    access: ServerAccess,
    poll_endpoint: String,
    recordings_endpoint: String,
}

impl Client {
    pub(crate) fn new(access: ServerAccess) -> Result<Client, AgentError> {
        let invalid = |reason: &str| AgentError::Settings(reason.to_owned());
        let endpoint = |path| server_endpoint(&access.url, path).map_err(invalid);
        let agent = |timeout| {
            let roots_pem = access.authorities_pem.as_deref();
            let options = ClientOptions { roots_pem, ..ClientOptions::new(timeout) };
            options
                .agent()
                .map_err(|error| AgentError::Settings(format!("the file with root certificates {error}")))
        };
        Ok(Client {
            polls: agent(POLL_TIMEOUT)?,
            uploads: agent(UPLOAD_TIMEOUT)?,
            poll_endpoint: endpoint("agent/poll")?,
            recordings_endpoint: endpoint("agent/recordings")?,
            access,
        })
    }

    /// Reports the state and fetches rule and requests.
    pub(crate) fn poll(&self, poll: &Poll<'_>) -> Result<PollAnswer, AgentError> {
        let mut request =
            self.polls.post(&self.poll_endpoint).header(header::CONTENT_TYPE, "application/json");
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        let body = serde_json::to_vec(poll).expect("texts are JSON");
        let sent = request.send(&body[..]);
        let answer = sent.map_err(|error| self.unreachable(error))?;
        if !answer.status().is_success() {
            return Err(self.rejected(answer));
        }
        let body = read(answer).map_err(|error| self.unreachable(error))?;
        serde_json::from_slice(&body)
            .map_err(|_| AgentError::server(format!("{}: not a Laggard server", self.poll_endpoint)))
    }

    /// Sends a recording. Sending it again does no harm.
    pub(crate) fn upload(&self, id: &str, recording: &File) -> Result<UploadOutcome, AgentError> {
        let bytes = recording.metadata().map_err(AgentError::server)?.len();
        let mut request = self.uploads.put(format!("{}/{id}", self.recordings_endpoint));
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        let request = request
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .header(header::CONTENT_LENGTH, bytes.to_string());
        let answer = request.send(recording).map_err(|error| self.unreachable(error))?;
        match answer.status().as_u16() {
            200..=299 => Ok(UploadOutcome::Stored),
            404 | 409 => Ok(UploadOutcome::Unwanted),
            400 | 413 | 422 => Ok(UploadOutcome::Rejected(detail(answer))),
            _ => Err(self.rejected(answer)),
        }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let authorization = self.access.token.as_deref().map(|token| ("Authorization", bearer(token)));
        let tenant = self.access.tenant.clone().map(|tenant| ("X-Scope-OrgID", tenant));
        authorization.into_iter().chain(tenant).collect()
    }

    fn unreachable(&self, error: impl std::fmt::Display) -> AgentError {
        AgentError::server(format!("{}: {error}", self.access.url))
    }

    fn rejected(&self, answer: Response<Body>) -> AgentError {
        let status = answer.status();
        let advice = match status.as_u16() {
            401 | 403 => "; --token-file needs a token with the scope write",
            404 => "; is it a Laggard server of this version?",
            _ => "",
        };
        AgentError::server(format!("{}: status {status}: {}{advice}", self.access.url, detail(answer)))
    }
}

fn read(mut answer: Response<Body>) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    answer.body_mut().as_reader().take(ANSWER_BYTES_MAX).read_to_end(&mut body)?;
    Ok(body)
}

/// The server's description of a problem.
fn detail(answer: Response<Body>) -> String {
    let document: serde_json::Value =
        read(answer).ok().and_then(|body| serde_json::from_slice(&body).ok()).unwrap_or_default();
    laggard_system::printable(document["detail"].as_str().unwrap_or_default(), 300)
}
