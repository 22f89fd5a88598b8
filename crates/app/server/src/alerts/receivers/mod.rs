//! Receivers of notifications: webhook, chats, email, Alertmanager, program.

mod email;

use super::chat::PersonalMessage;
use super::delivery::{OutgoingMessage, SendError};
use super::lifecycle::Alert;
use super::message::Writer;
use super::owners::Owners;
use super::pending_notifications::Recipient;
use super::program::Program;
use crate::settings::{AlertSettings, CheckedAlerts};
use email::Mailer;
use laggard_model::{Nanos, Timestamp};
use laggard_system::http::{ClientOptions, bearer};
use laggard_system::printable;
use serde_json::Value;
use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use ureq::Agent;
use ureq::http::{StatusCode, header};

/// One receiver of notifications.
pub(crate) struct Receiver {
    /// `webhook`, `slack`, `teams`, `email`, `alertmanager`, or `exec`; one of an owner with its name: `slack team-cart`.
    pub(crate) name: String,
    /// Whose incidents it gets; `None` for those without an owner that has receivers.
    owner: Option<String>,
    transport: Transport,
    /// The notification of an open incident is repeated after this.
    pub(super) repeat_after: Option<Nanos>,
    pub(crate) figures: Figures,
    pub(super) woken: tokio::sync::Notify,
}

/// How a receiver gets messages.
enum Transport {
    Webhook(Endpoint),
    Slack(Endpoint),
    Teams(Endpoint),
    Email(Mailer),
    Alertmanager(Endpoint),
    Exec(Program),
}

/// Which notices go into one message.
pub(super) enum Grouping {
    /// All.
    All,
    /// Those of one kind.
    ByKind,
    /// One.
    One,
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

/// The header with the id of a message, as in draft-ietf-httpapi-idempotency-key-header.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// So much of a response is read, for the log.
const RESPONSE_BYTES_MAX: u64 = 1_000;

/// Alertmanager resolves an alert that was not repeated for this multiple of the usual pause.
const VALID_PAUSES: u64 = 4;

/// Shortest time after which a firing alert is sent to Alertmanager again.
const RESEND: Duration = Duration::from_secs(60);

/// All configured receivers.
///
/// # Errors
/// When `alerts.roots` contains no certificate, or the mail server's settings are invalid.
pub(super) fn receivers(settings: &AlertSettings, checked: &CheckedAlerts) -> Result<Vec<Receiver>, String> {
    let mut all = Receivers { settings, checked, agent: agent(settings, checked)?, list: Vec::new() };
    if let Some(url) = &settings.webhook {
        all.add(None, Transport::Webhook(all.endpoint(url.clone(), &checked.webhook_token)));
    }
    if let Some(url) = &settings.alertmanager {
        let url = format!("{}/api/v2/alerts", url.trim_end_matches('/'));
        all.add(None, Transport::Alertmanager(all.endpoint(url, &checked.alertmanager_token)));
    }
    if let Some(program) = &settings.exec {
        let program = Program {
            path: program.clone(),
            arguments: settings.exec_arguments.clone(),
            time_max: settings.exec_timeout.duration(),
        };
        all.add(None, Transport::Exec(program));
    }
    all.add_personal(None, &checked.slack_url, &checked.teams_url, &settings.email_to)?;
    for (owner, urls) in checked.owners.all.iter().zip(&checked.owner_urls) {
        all.add_personal(Some(&owner.name), &urls.slack, &urls.teams, &owner.email)?;
    }
    Ok(all.list)
}

fn agent(settings: &AlertSettings, checked: &CheckedAlerts) -> Result<Agent, String> {
    let options = ClientOptions {
        roots_pem: checked.roots.as_deref(),
        reuse_connections: false,
        ..ClientOptions::new(settings.send_timeout.duration())
    };
    options.agent().map_err(|error| format!("alerts.roots {error}"))
}

/// Receivers while they are collected.
struct Receivers<'a> {
    settings: &'a AlertSettings,
    checked: &'a CheckedAlerts,
    agent: Agent,
    list: Vec<Receiver>,
}

impl Receivers<'_> {
    fn endpoint(&self, url: String, token: &Option<String>) -> Endpoint {
        Endpoint { url, token: token.clone(), agent: self.agent.clone() }
    }

    /// Receivers for people.
    fn add_personal(
        &mut self,
        owner: Option<&str>,
        slack: &Option<String>,
        teams: &Option<String>,
        email: &[String],
    ) -> Result<(), String> {
        if let Some(url) = slack {
            self.add(owner, Transport::Slack(self.endpoint(url.clone(), &None)));
        }
        if let Some(url) = teams {
            self.add(owner, Transport::Teams(self.endpoint(url.clone(), &None)));
        }
        if !email.is_empty() {
            let mailer = Mailer::new(self.settings, self.checked, email)?;
            self.add(owner, Transport::Email(mailer));
        }
        Ok(())
    }

    fn add(&mut self, owner: Option<&str>, transport: Transport) {
        let name = transport.name();
        let repeat_after = match transport {
            Transport::Alertmanager(_) => Some(resend(self.settings)),
            _ => self.settings.repeat_after.map(|length| length.nanos()),
        };
        self.list.push(Receiver {
            name: owner.map_or_else(|| name.to_owned(), |owner| format!("{name} {owner}")),
            owner: owner.map(str::to_owned),
            transport,
            repeat_after,
            figures: Figures::default(),
            woken: tokio::sync::Notify::new(),
        });
    }
}

fn resend(settings: &AlertSettings) -> Nanos {
    Nanos::from_ns(RESEND.max(settings.every.duration()).as_nanos() as u64)
}

impl Transport {
    const fn name(&self) -> &'static str {
        match self {
            Transport::Webhook(_) => "webhook",
            Transport::Slack(_) => "slack",
            Transport::Teams(_) => "teams",
            Transport::Email(_) => "email",
            Transport::Alertmanager(_) => "alertmanager",
            Transport::Exec(_) => "exec",
        }
    }
}

impl Receiver {
    /// Which notices one of its messages has.
    pub(super) const fn grouping(&self) -> Grouping {
        match self.transport {
            Transport::Alertmanager(_) => Grouping::All,
            Transport::Webhook(_) | Transport::Exec(_) => Grouping::ByKind,
            Transport::Slack(_) | Transport::Teams(_) | Transport::Email(_) => Grouping::One,
        }
    }

    /// Whether it is notified of what an alert is about: programs of everything, since they route by labels; people of what
    /// they own, or of what nobody owns who has receivers.
    pub(super) fn receives(&self, alert: &Alert, owners: &Owners) -> bool {
        let routes_itself = !matches!(self.grouping(), Grouping::One);
        let owner = owners.of_alert(alert).filter(|owner| owner.has_receivers());
        routes_itself || owner.map(|owner| owner.name.as_str()) == self.owner.as_deref()
    }

    /// Settings that determine its notifications.
    pub(super) fn recipient<'a>(
        &'a self,
        settings: &AlertSettings,
        is_for: &'a dyn Fn(&Alert) -> bool,
    ) -> Recipient<'a> {
        // Alertmanager expects each state as it is, and decides itself whom it notifies when.
        let confirm_end = (!self.is_idempotent()).then(|| settings.confirm_end.nanos());
        Recipient { name: &self.name, repeat_after: self.repeat_after, confirm_end, is_for }
    }

    /// Whether a message has the same content as one that the receiver has already, regardless of its id.
    pub(super) const fn is_idempotent(&self) -> bool {
        matches!(self.transport, Transport::Alertmanager(_))
    }

    /// Sends one message; blocks.
    ///
    /// # Errors
    /// Why it could not be delivered, or is not known to be.
    pub(super) fn send(
        &self,
        writer: &Writer<'_>,
        message: &OutgoingMessage,
        at: Timestamp,
    ) -> Result<(), SendError> {
        let OutgoingMessage { id, notices, .. } = message;
        let Some(first) = notices.first() else { return Ok(()) };
        let personal = || PersonalMessage::new(writer, first);
        let webhook = || writer.webhook(&self.name, message);
        match &self.transport {
            Transport::Webhook(endpoint) => endpoint.post(id, &webhook()),
            Transport::Slack(endpoint) => endpoint.post(id, &personal().slack()),
            Transport::Teams(endpoint) => endpoint.post(id, &personal().teams()),
            Transport::Email(mailer) => mailer.send(id, &personal(), &first.incident.id),
            Transport::Alertmanager(endpoint) => {
                endpoint.post(id, &writer.alertmanager(notices, self.valid_until(at)))
            }
            // A program may fail after it has passed the message on.
            Transport::Exec(program) => {
                program.run(webhook().to_string().as_bytes()).map_err(SendError::Unconfirmed)
            }
        }
    }

    /// When Alertmanager resolves an alert sent now, if it is not repeated.
    fn valid_until(&self, at: Timestamp) -> Timestamp {
        let pause = self.repeat_after.unwrap_or(Nanos::ZERO);
        at.plus(Nanos::from_ns(pause.ns().saturating_mul(VALID_PAUSES)))
    }
}

impl Endpoint {
    fn post(&self, id: &str, message: &Value) -> Result<(), SendError> {
        let mut request = self.agent.post(&self.url).header(header::CONTENT_TYPE, "application/json");
        request = request.header(IDEMPOTENCY_KEY, id);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, bearer(token));
        }
        let mut response = request.send(message.to_string()).map_err(|error| {
            let text = error.to_string();
            if was_not_connected(&error) { SendError::Refused(text) } else { SendError::Unconfirmed(text) }
        })?;
        if response.status().is_success() {
            return Ok(());
        }
        let mut response_text = Vec::new();
        let _ = response.body_mut().as_reader().take(RESPONSE_BYTES_MAX).read_to_end(&mut response_text);
        let text = printable(&String::from_utf8_lossy(&response_text), usize::MAX);
        let status = response.status();
        let reason = format!("status {}: {text}", status.as_u16());
        Err(match status {
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
                SendError::Rejected(reason)
            }
            StatusCode::SERVICE_UNAVAILABLE => SendError::Refused(reason),
            // It still works on an attempt with the same key.
            StatusCode::CONFLICT => SendError::Unconfirmed(reason),
            _ if status.is_redirection() || status.is_client_error() => SendError::Refused(reason),
            // A proxy may answer 500, 502, or 504 after it has passed the message on.
            _ => SendError::Unconfirmed(reason),
        })
    }
}

/// Whether nothing can have been sent.
fn was_not_connected(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
        ureq::Error::Io(error) => error.kind() == ErrorKind::ConnectionRefused,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
