//! Collecting to a server, by its `/api/v1/import`.

use crate::client::{ClientSettings, retry_after};
use crate::error::printable;
use crate::{Chunk, CollectError, Delivered, Destination};
use laggard_system::http::server_endpoint;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Mutex;
use std::time::Duration;
use ureq::http::{Response, header};
use ureq::{Agent, Body};

/// Server and format.
#[derive(Clone, Debug)]
pub struct UploadSettings {
    /// `http://` or `https://`, with a path where the API is not at the root.
    pub url: String,
    /// Token, root certificates, and the longest time for a response.
    pub client: ClientSettings,
    /// The tenant, sent as `X-Scope-OrgID`.
    pub tenant: Option<String>,
    /// A name from `laggard formats`; recognized from the data if absent.
    pub format: Option<String>,
}

/// Sends chunks one after the other.
#[derive(Debug)]
pub struct Upload {
    agent: Agent,
    settings: UploadSettings,
    endpoint: String,
    /// A server accepts few imports at a time, and other clients need some of them.
    upload_lock: Mutex<()>,
}

/// How often a chunk is sent while the server is overloaded.
const TRIES: u32 = 3;

/// Longest pause between them, and the default one.
const PAUSE_MAX: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(1);

/// Most bytes that are read of a response.
const RESPONSE_BYTES_MAX: u64 = 1 << 20;

/// The response to an import.
#[derive(Deserialize)]
struct Imported {
    #[serde(default)]
    losses: BTreeMap<String, Lost>,
}

#[derive(Deserialize)]
struct Lost {
    count: u64,
}

impl Upload {
    /// A client; nothing is sent yet.
    ///
    /// # Errors
    /// [`CollectError::Settings`] when the URL is invalid, or the certificates cannot be read.
    pub fn new(settings: UploadSettings) -> Result<Upload, CollectError> {
        let invalid = |reason: &str| CollectError::Settings(reason.to_owned());
        let endpoint = server_endpoint(&settings.url, "import").map_err(invalid)?;
        Ok(Upload { agent: settings.client.agent()?, settings, endpoint, upload_lock: Mutex::new(()) })
    }

    fn send(&self, chunk: &Chunk<'_>) -> Result<Response<Body>, CollectError> {
        let name = format!("{}.{}.{}", chunk.name, chunk.generation, chunk.ending);
        let mut request = self.agent.post(&self.endpoint).query("name", name);
        if let Some(format) = &self.settings.format {
            request = request.query("format", format);
        }
        if let Some(authorization) = self.settings.client.authorization() {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        if let Some(tenant) = &self.settings.tenant {
            request = request.header("X-Scope-OrgID", tenant);
        }
        let header = chunk.header.map(|header| format!("{header}\n")).unwrap_or_default();
        let body = [header.as_bytes(), chunk.bytes].concat();
        let sent = request.header(header::CONTENT_TYPE, "application/octet-stream").send(&body[..]);
        sent.map_err(|error| CollectError::destination(format!("{}: {error}", self.endpoint)))
    }

    fn read_response(&self, mut response: Response<Body>) -> Result<Delivered, CollectError> {
        let status = response.status();
        let mut body = Vec::new();
        let read = response.body_mut().as_reader().take(RESPONSE_BYTES_MAX).read_to_end(&mut body);
        if status.is_success() {
            // Only the response shows whether it was a Laggard server that accepted it.
            read.map_err(|error| CollectError::destination(format!("{}: {error}", self.endpoint)))?;
            let imported: Imported = serde_json::from_slice(&body)
                .map_err(|_| CollectError::destination(format!("{}: not a Laggard server", self.endpoint)))?;
            let losses = imported.losses.into_iter().map(|(name, lost)| (printable(&name), lost.count));
            return Ok(Delivered { losses: losses.collect(), caution: None });
        }
        let document: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let detail = document["detail"].as_str().map_or_else(String::new, |detail| format!(": {detail}"));
        let advice = match status.as_u16() {
            401 | 403 => "; --token-file needs a token with the scope write",
            _ => "",
        };
        let reason = printable(&format!("{}: status {status}{detail}{advice}", self.endpoint));
        Err(CollectError::Destination { reason, retry_after: retry_after(response.headers()) })
    }
}

impl Destination for Upload {
    fn deliver(&self, chunk: &Chunk<'_>) -> Result<Delivered, CollectError> {
        let _lock = self.upload_lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut tries_left = TRIES;
        loop {
            tries_left -= 1;
            let response = self.send(chunk)?;
            let is_busy = matches!(response.status().as_u16(), 429 | 503);
            let pause = retry_after(response.headers()).unwrap_or(PAUSE).min(PAUSE_MAX);
            if !is_busy || tries_left == 0 {
                return self.read_response(response);
            }
            std::thread::sleep(pause);
        }
    }

    fn may_repeat(&self) -> bool {
        true
    }

    fn identity(&self) -> String {
        match &self.settings.tenant {
            Some(tenant) => format!("{} tenant {tenant}", self.endpoint),
            None => self.endpoint.clone(),
        }
    }
}
