//! To a server, by its `/api/v1/import`.

use crate::client::{ClientSettings, retry_after};
use crate::failure::printable;
use crate::{Chunk, CollectError, Delivered, Destination};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Mutex;
use std::time::Duration;
use ureq::http::{Response, header};
use ureq::{Agent, Body};

/// Where to send, and as what.
#[derive(Clone, Debug)]
pub struct UploadSettings {
    /// `http://` or `https://`, with a path where the API is not at the root.
    pub url: String,
    /// Token, authorities and the longest time for an answer.
    pub client: ClientSettings,
    /// The tenant, sent as `X-Scope-OrgID`.
    pub tenant: Option<String>,
    /// The format, as `laggard formats` calls it; recognized if absent.
    pub format: Option<String>,
}

/// Sends pieces one after the other.
#[derive(Debug)]
pub struct Upload {
    agent: Agent,
    settings: UploadSettings,
    endpoint: String,
    /// A server takes few imports at a time, and others want some, too.
    turn: Mutex<()>,
}

/// Times that a piece is sent while the server has no room.
const TRIES: u32 = 3;

/// Longest pause between them, and the one where the server names none.
const PAUSE_MAX: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(1);

/// Most bytes of an answer that are looked at.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// What a server says of an import.
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
    /// [`CollectError::Settings`] when the address cannot be one, or the certificates cannot be read.
    pub fn new(settings: UploadSettings) -> Result<Upload, CollectError> {
        let wrong = |reason: &str| Err(CollectError::Settings(format!("--server {reason}")));
        let url = &settings.url;
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else {
            return wrong("takes an address like http://localhost:4316");
        };
        if rest.split('/').next().unwrap_or_default().contains('@') {
            return wrong("takes no user; put a token into a file for --token-file");
        }
        if rest.contains(|c: char| matches!(c, '?' | '#') || c.is_whitespace()) {
            return wrong("takes an address without a query");
        }
        let base = url.trim_end_matches('/');
        let endpoint = format!("{}/api/v1/import", base.strip_suffix("/api/v1").unwrap_or(base));
        Ok(Upload { agent: settings.client.agent()?, settings, endpoint, turn: Mutex::new(()) })
    }

    fn send(&self, piece: &Chunk<'_>) -> Result<Response<Body>, CollectError> {
        let name = format!("{}.{}.{}", piece.name, piece.generation, piece.ending);
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
        let header = piece.header.map(|header| format!("{header}\n")).unwrap_or_default();
        let body = [header.as_bytes(), piece.bytes].concat();
        let sent = request.header(header::CONTENT_TYPE, "application/octet-stream").send(&body[..]);
        sent.map_err(|error| CollectError::destination(format!("{}: {error}", self.endpoint)))
    }

    fn answer(&self, mut response: Response<Body>) -> Result<Delivered, CollectError> {
        let status = response.status();
        let mut body = Vec::new();
        let read = response.body_mut().as_reader().take(ANSWER_BYTES_MAX).read_to_end(&mut body);
        if status.is_success() {
            // Without its answer nobody knows whether it was a Laggard server that took it.
            read.map_err(|error| CollectError::destination(format!("{}: {error}", self.endpoint)))?;
            let imported: Imported = serde_json::from_slice(&body)
                .map_err(|_| CollectError::destination(format!("{}: no Laggard server", self.endpoint)))?;
            let losses = imported.losses.into_iter().map(|(name, lost)| (printable(&name), lost.count));
            return Ok(Delivered { losses: losses.collect(), caution: None });
        }
        let document: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let detail = document["detail"].as_str().map_or_else(String::new, |detail| format!(": {detail}"));
        let advice = match status.as_u16() {
            401 | 403 => "; give a token that may write with --token-file",
            _ => "",
        };
        let reason = printable(&format!("{}: status {status}{detail}{advice}", self.endpoint));
        Err(CollectError::Destination { reason, retry_after: retry_after(response.headers()) })
    }
}

impl Destination for Upload {
    fn take(&self, piece: &Chunk<'_>) -> Result<Delivered, CollectError> {
        let _turn = self.turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut left = TRIES;
        loop {
            left -= 1;
            let response = self.send(piece)?;
            let is_busy = matches!(response.status().as_u16(), 429 | 503);
            let pause = retry_after(response.headers()).unwrap_or(PAUSE).min(PAUSE_MAX);
            if !is_busy || left == 0 {
                return self.answer(response);
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
