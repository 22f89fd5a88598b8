//! Who is told, and how it is reached.

use super::program::Program;
use crate::AlertSettings;
use crate::settings::CheckedAlerts;
use laggard_model::{Nanos, Timestamp};
use serde_json::Value;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use ureq::Agent;
use ureq::http::header;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// One receiver of notifications.
pub(crate) struct Receiver {
    /// `webhook`, `alertmanager` or `exec`.
    pub(crate) name: &'static str,
    way: Way,
    /// Who was told of an alert that still fires is told again after this.
    pub(super) repeat_after: Nanos,
    pub(crate) figures: Figures,
    pub(super) woken: tokio::sync::Notify,
}

/// How a receiver is reached.
enum Way {
    Webhook(Endpoint),
    Alertmanager(Endpoint),
    Exec(Program),
}

/// What became of messages, since the start.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) sent: AtomicU64,
    pub(crate) failed: AtomicU64,
}

impl Figures {
    pub(super) fn count(&self, sent: bool) {
        if sent { &self.sent } else { &self.failed }.fetch_add(1, Ordering::Relaxed);
    }
}

/// An address that takes JSON.
struct Endpoint {
    url: String,
    token: Option<String>,
    agent: Agent,
}

/// Of an answer so much is read; it only goes into the log.
const ANSWER_BYTES_MAX: u64 = 1_000;

/// Alertmanager forgets an alert that it was not told of for so many times the usual pause.
const VALID_PAUSES: u64 = 4;

/// How often Alertmanager is told of what still fires, at most.
const RESEND: Duration = Duration::from_secs(60);

/// All that the settings name.
///
/// # Errors
/// When the roots are no certificates.
pub(super) fn receivers(settings: &AlertSettings, checked: &CheckedAlerts) -> Result<Vec<Receiver>, String> {
    let agent = agent(settings.send_timeout.duration(), checked.roots.as_deref())?;
    let endpoint =
        |url: String, token: &Option<String>| Endpoint { url, token: token.clone(), agent: agent.clone() };
    let receiver = |name, way, repeat_after| Receiver {
        name,
        way,
        repeat_after,
        figures: Figures::default(),
        woken: tokio::sync::Notify::new(),
    };
    let mut all = Vec::new();
    let repeat_after = settings.repeat_after.nanos();
    if let Some(url) = &settings.webhook {
        let way = Way::Webhook(endpoint(url.clone(), &checked.webhook_token));
        all.push(receiver("webhook", way, repeat_after));
    }
    if let Some(url) = &settings.alertmanager {
        let url = format!("{}/api/v2/alerts", url.trim_end_matches('/'));
        let way = Way::Alertmanager(endpoint(url, &checked.alertmanager_token));
        all.push(receiver("alertmanager", way, resend(settings)));
    }
    if let Some(program) = &settings.exec {
        let program = Program {
            path: program.clone(),
            arguments: settings.exec_arguments.clone(),
            time_max: settings.exec_timeout.duration(),
        };
        all.push(receiver("exec", Way::Exec(program), repeat_after));
    }
    Ok(all)
}

fn resend(settings: &AlertSettings) -> Nanos {
    Nanos::from_ns(RESEND.max(settings.every.duration()).as_nanos() as u64)
}

impl Receiver {
    /// Whether it takes Alertmanager's API instead of its webhook's messages.
    pub(super) fn is_alertmanager(&self) -> bool {
        matches!(self.way, Way::Alertmanager(_))
    }

    /// Until when Alertmanager takes an alert to fire that it is told of now.
    pub(super) fn valid_until(&self, at: Timestamp) -> Timestamp {
        at.plus(Nanos::from_ns(self.repeat_after.ns().saturating_mul(VALID_PAUSES)))
    }

    /// Hands over one message; on a thread that may wait.
    ///
    /// # Errors
    /// Why it did not arrive.
    pub(super) fn send(&self, message: &Value) -> Result<(), String> {
        match &self.way {
            Way::Webhook(endpoint) | Way::Alertmanager(endpoint) => endpoint.post(message),
            Way::Exec(program) => program.run(message.to_string().as_bytes()),
        }
    }
}

impl Endpoint {
    fn post(&self, message: &Value) -> Result<(), String> {
        let mut request = self.agent.post(&self.url).header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let mut response = request.send(message.to_string()).map_err(|error| error.to_string())?;
        if response.status().is_success() {
            return Ok(());
        }
        let mut answer = Vec::new();
        // What cannot be read is not needed.
        let _ = response.body_mut().as_reader().take(ANSWER_BYTES_MAX).read_to_end(&mut answer);
        let answer: String =
            String::from_utf8_lossy(&answer).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        Err(format!("status {}: {answer}", response.status().as_u16()))
    }
}

/// Follows no redirects, so that a token goes nowhere else.
fn agent(timeout: Duration, roots: Option<&[u8]>) -> Result<Agent, String> {
    let mut tls = TlsConfig::builder();
    if let Some(pem) = roots {
        tls = tls.root_certs(root_certificates(pem)?);
    }
    Ok(Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(0)
        .tls_config(tls.build())
        .user_agent(concat!("laggard/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent())
}

/// Certificates out of PEM.
pub(crate) fn root_certificates(pem: &[u8]) -> Result<RootCerts, String> {
    let unreadable = || "alerts.roots holds no PEM certificate".to_owned();
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|_| unreadable())? {
            found.push(certificate);
        }
    }
    if found.is_empty() { Err(unreadable()) } else { Ok(RootCerts::new_with_certs(&found)) }
}

#[cfg(test)]
mod tests;
