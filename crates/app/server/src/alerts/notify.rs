//! Sends pending notifications to each receiver, as long as the server runs.

use super::delivery::{DeliverySteps, OutgoingMessage, SendError, deliver};
use super::incidents::IncidentState;
use super::kind::AlertSource;
use super::lifecycle::{Alert, AlertList};
use super::message::{Notice, Writer};
use super::pending_notifications::{pending, unconfirmed};
use super::receivers::{Grouping, Receiver};
use super::state::Alerts;
use super::tenant_alerts::TenantAlerts;
use laggard_model::Timestamp;
use laggard_system::now;
use std::sync::Arc;
use std::time::Duration;

/// Pauses after failed messages: twice as long each time.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// Interval at which repetitions are due if no change wakes the task.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// The outcome of sending all pending notifications of a receiver.
enum SendOutcome {
    Sent,
    Failed,
}

/// Notifies the receiver with this index until the server stops.
pub(super) async fn run(alerts: Arc<Alerts>, index: usize) {
    let mut failures = 0;
    loop {
        let pause = if failures == 0 { CHECK_INTERVAL } else { backoff(failures) };
        let receiver = &alerts.receivers[index];
        tokio::select! {
            () = alerts.stopping.cancelled() => return,
            // While a receiver fails, new alerts do not shorten the pause.
            () = receiver.woken.notified(), if failures == 0 => {}
            () = tokio::time::sleep(pause) => {}
        }
        let sending = alerts.clone();
        let sent = tokio::task::spawn_blocking(move || send_all(&sending, index)).await;
        failures = match sent {
            Ok(SendOutcome::Sent) => 0,
            Ok(SendOutcome::Failed) | Err(_) => failures + 1,
        };
    }
}

fn backoff(failures: u32) -> Duration {
    PAUSE_MAX.min(PAUSE_MIN * 2_u32.saturating_pow((failures - 1).min(16)))
}

/// Sends all pending notifications, message by message, until one fails.
fn send_all(alerts: &Alerts, index: usize) -> SendOutcome {
    let receiver = &alerts.receivers[index];
    for (tenant, tenant_alerts) in alerts.tenant_alerts.all() {
        while !alerts.stopping.is_cancelled() {
            match send_next(alerts, receiver, &tenant, &tenant_alerts) {
                Some(Ok(())) => {}
                Some(Err(reason)) => {
                    tracing::warn!(
                        receiver = receiver.name,
                        %reason,
                        "a notification failed; it will be retried"
                    );
                    return SendOutcome::Failed;
                }
                None => break,
            }
        }
    }
    SendOutcome::Sent
}

/// Sends one message; `None` when none is pending.
fn send_next(
    alerts: &Alerts,
    receiver: &Receiver,
    tenant: &str,
    tenant_alerts: &Arc<TenantAlerts>,
) -> Option<Result<(), SendError>> {
    let now = now();
    let message = next_message(alerts, receiver, tenant, tenant_alerts, now)?;
    let writer = Writer { pages: &alerts.pages, tenant, owners: &alerts.owners };
    let mut steps = Sending { receiver, writer, tenant_alerts, at: now };
    let sent = deliver(&mut steps, &receiver.name, &message, receiver.is_idempotent(), now);
    receiver.figures.count(sent.is_ok());
    if sent.is_ok() {
        let open = message.notices.iter().filter(|notice| notice.state == IncidentState::Open).count();
        tracing::debug!(receiver = receiver.name, open, closed = message.notices.len() - open, "notified");
    }
    Some(sent)
}

/// The message to send next: the one whose outcome is unknown, or what is pending.
fn next_message(
    alerts: &Alerts,
    receiver: &Receiver,
    tenant: &str,
    tenant_alerts: &TenantAlerts,
    at: Timestamp,
) -> Option<OutgoingMessage> {
    let state = tenant_alerts.state().clone();
    if let Some(message) = unconfirmed(&state.alerts, &receiver.name) {
        return Some(message);
    }
    // An alert that fired before a restart may be resolved by now: wait for an evaluation.
    let is_evaluated = |notice: &Notice| match notice.kind().source() {
        AlertSource::Requests => state.last.is_some(),
        AlertSource::Servers => state.last_servers.is_some(),
        AlertSource::Objectives => state.objectives_evaluated,
    };
    let is_for = |alert: &Alert| receiver.receives(alert, &alerts.owners);
    let recipient = receiver.recipient(&alerts.settings, &is_for);
    let mut notices = pending(&state.alerts, recipient, at);
    notices.retain(is_evaluated);
    let first = notices.first()?.kind();
    match receiver.grouping() {
        Grouping::All => {}
        // A message of the webhook has one `alertname`; the other kinds follow in messages of their own.
        Grouping::ByKind => notices.retain(|notice| notice.kind() == first),
        Grouping::One => notices.truncate(1),
    }
    Some(OutgoingMessage::new(tenant, &receiver.name, notices, at))
}

/// The steps of a delivery by a running server.
struct Sending<'a> {
    receiver: &'a Receiver,
    writer: Writer<'a>,
    tenant_alerts: &'a TenantAlerts,
    at: Timestamp,
}

impl DeliverySteps for Sending<'_> {
    fn change(&mut self, change: impl FnOnce(&mut AlertList)) {
        change(&mut self.tenant_alerts.state().alerts);
    }

    fn save(&mut self) {
        // Notifications are sent even if the disk is full.
        self.tenant_alerts.save();
    }

    fn send(&mut self, message: &OutgoingMessage) -> Result<(), SendError> {
        self.receiver.send(&self.writer, message, self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_minutes() {
        let seconds: Vec<u64> =
            [1, 2, 3, 4, 9, 10, 100, u32::MAX].iter().map(|&failures| backoff(failures).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 256, 300, 300, 300]);
    }
}
