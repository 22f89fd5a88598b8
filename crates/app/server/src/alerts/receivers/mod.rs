//! Receivers of notifications: webhook, Alertmanager, program.

use super::program::Program;
use crate::settings::{AlertSettings, CheckedAlerts};
use laggard_model::{Nanos, Timestamp};
use laggard_system::http::{ClientOptions, bearer};
use laggard_system::printable;
use serde_json::Value;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use ureq::Agent;
use ureq::http::header;

/// One receiver of notifications.
pub(crate) struct Receiver {
    /// `webhook`, `alertmanager` or `exec`.
    pub(crate) name: &'static str,
    transport: Transport,
    /// The notification of an alert that still fires is repeated after this.
    pub(super) repeat_after: Nanos,
    pub(crate) figures: Figures,
    pub(super) woken: tokio::sync::Notify,
}

/// How a receiver gets messages.
enum Transport {
    Webhook(Endpoint),
    Alertmanager(Endpoint),
    Exec(Program),
}

/// Messages since the start of the server.
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

/// A URL that accepts JSON.
struct Endpoint {
    url: String,
    token: Option<String>,
    agent: Agent,
}

/// So much of a response is read, for the log.
const RESPONSE_BYTES_MAX: u64 = 1_000;

/// Alertmanager resolves an alert that was not repeated for so many times the usual pause.
const VALID_PAUSES: u64 = 4;

/// Shortest time after which a firing alert is sent to Alertmanager again.
const RESEND: Duration = Duration::from_secs(60);

/// All configured receivers.
///
/// # Errors
/// When `alerts.roots` contains no certificate.
pub(super) fn receivers(settings: &AlertSettings, checked: &CheckedAlerts) -> Result<Vec<Receiver>, String> {
    let options = ClientOptions {
        roots_pem: checked.roots.as_deref(),
        reuse_connections: false,
        ..ClientOptions::new(settings.send_timeout.duration())
    };
    let agent = options.agent().map_err(|error| format!("alerts.roots {error}"))?;
    let endpoint =
        |url: String, token: &Option<String>| Endpoint { url, token: token.clone(), agent: agent.clone() };
    let receiver = |name, transport, repeat_after| Receiver {
        name,
        transport,
        repeat_after,
        figures: Figures::default(),
        woken: tokio::sync::Notify::new(),
    };
    let mut all = Vec::new();
    let repeat_after = settings.repeat_after.nanos();
    if let Some(url) = &settings.webhook {
        let transport = Transport::Webhook(endpoint(url.clone(), &checked.webhook_token));
        all.push(receiver("webhook", transport, repeat_after));
    }
    if let Some(url) = &settings.alertmanager {
        let url = format!("{}/api/v2/alerts", url.trim_end_matches('/'));
        let transport = Transport::Alertmanager(endpoint(url, &checked.alertmanager_token));
        all.push(receiver("alertmanager", transport, resend(settings)));
    }
    if let Some(program) = &settings.exec {
        let program = Program {
            path: program.clone(),
            arguments: settings.exec_arguments.clone(),
            time_max: settings.exec_timeout.duration(),
        };
        all.push(receiver("exec", Transport::Exec(program), repeat_after));
    }
    Ok(all)
}

fn resend(settings: &AlertSettings) -> Nanos {
    Nanos::from_ns(RESEND.max(settings.every.duration()).as_nanos() as u64)
}

impl Receiver {
    /// Whether it has Alertmanager's API instead of its webhook's messages.
    pub(super) fn is_alertmanager(&self) -> bool {
        matches!(self.transport, Transport::Alertmanager(_))
    }

    /// When Alertmanager resolves an alert sent now, if it is not repeated.
    pub(super) fn valid_until(&self, at: Timestamp) -> Timestamp {
        at.plus(Nanos::from_ns(self.repeat_after.ns().saturating_mul(VALID_PAUSES)))
    }

    /// Sends one message; blocks.
    ///
    /// # Errors
    /// Why it could not be delivered.
    pub(super) fn send(&self, message: &Value) -> Result<(), String> {
        match &self.transport {
            Transport::Webhook(endpoint) | Transport::Alertmanager(endpoint) => endpoint.post(message),
            Transport::Exec(program) => program.run(message.to_string().as_bytes()),
        }
    }
}

impl Endpoint {
    fn post(&self, message: &Value) -> Result<(), String> {
        let mut request = self.agent.post(&self.url).header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, bearer(token));
        }
        let mut response = request.send(message.to_string()).map_err(|error| error.to_string())?;
        if response.status().is_success() {
            return Ok(());
        }
        let mut response_text = Vec::new();
        let _ = response.body_mut().as_reader().take(RESPONSE_BYTES_MAX).read_to_end(&mut response_text);
        let text = printable(&String::from_utf8_lossy(&response_text), usize::MAX);
        Err(format!("status {}: {text}", response.status().as_u16()))
    }
}

#[cfg(test)]
mod tests;
