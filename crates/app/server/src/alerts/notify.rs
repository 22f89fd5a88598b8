//! Sends pending notifications to each receiver, as long as the server runs.

use super::incidents::IncidentState;
use super::kind::{AlertKind, AlertSource};
use super::lifecycle::Alert;
use super::message::Writer;
use super::pending_notifications::{Recipient, mark_notified, pending};
use super::receivers::{Grouping, Receiver};
use super::state::Alerts;
use super::tenant_alerts::TenantAlerts;
use laggard_system::now;
use std::sync::Arc;
use std::time::Duration;

/// Pauses after failed messages: twice as long each time.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// How often repetitions are checked for, if nothing wakes the task.
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
                        reason,
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
) -> Option<Result<(), String>> {
    let at = now();
    // What fired before a restart may be resolved: wait for an evaluation.
    let state = tenant_alerts.state().clone();
    let is_evaluated = |kind: AlertKind| match kind.source() {
        AlertSource::Requests => state.last.is_some(),
        AlertSource::Servers => state.last_servers.is_some(),
        AlertSource::Objectives => state.objectives_evaluated,
    };
    let is_for = |alert: &Alert| receiver.is_for(alert, &alerts.owners);
    let recipient = Recipient { name: &receiver.name, repeat_after: receiver.repeat_after, is_for: &is_for };
    let mut notices = pending(&state.alerts, recipient, at);
    notices.retain(|notice| is_evaluated(notice.kind()));
    let first = notices.first()?.kind();
    match receiver.grouping() {
        Grouping::All => {}
        // A message of the webhook has one `alertname`; the other kinds follow in messages of their own.
        Grouping::ByKind => notices.retain(|notice| notice.kind() == first),
        Grouping::One => notices.truncate(1),
    }
    let writer = Writer { pages: &alerts.pages, tenant, owners: &alerts.owners };
    let sent = receiver.send(&writer, &notices, at);
    receiver.figures.count(sent.is_ok());
    if sent.is_ok() {
        let open = notices.iter().filter(|notice| notice.state == IncidentState::Open).count();
        tracing::debug!(receiver = receiver.name, open, closed = notices.len() - open, "notified");
        mark_notified(&mut tenant_alerts.state().alerts, &receiver.name, &notices, at);
        tenant_alerts.save();
    }
    Some(sent)
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
