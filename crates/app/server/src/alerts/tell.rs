//! Tells each receiver what it has to be told, as long as the server runs.

use super::Alerts;
use super::book::AlertState;
use super::due::{due, mark};
use super::message::Writer;
use super::receivers::Receiver;
use super::watched::Watched;
use crate::api::now;
use crate::shared::AppState;
use std::sync::Arc;
use std::time::Duration;

/// Pauses after messages that did not arrive: twice as long each time.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// Looks for repetitions this often, if nothing wakes it.
const LOOK: Duration = Duration::from_secs(30);

/// What came of telling one receiver everything.
enum Outcome {
    Told,
    Failed,
}

/// Tells one receiver until the server stops.
pub(super) async fn run(state: AppState, at: usize) {
    let alerts = state.alerts.clone();
    let mut failures = 0;
    loop {
        let pause = if failures == 0 { LOOK } else { backoff(failures) };
        let receiver = &alerts.receivers[at];
        tokio::select! {
            () = state.stopping.cancelled() => return,
            // While it cannot be reached, news do not make it come back sooner.
            () = receiver.woken.notified(), if failures == 0 => {}
            () = tokio::time::sleep(pause) => {}
        }
        let telling = alerts.clone();
        let told = tokio::task::spawn_blocking(move || tell_all(&telling, at)).await;
        failures = match told {
            Ok(Outcome::Told) => 0,
            Ok(Outcome::Failed) | Err(_) => failures + 1,
        };
    }
}

fn backoff(failures: u32) -> Duration {
    PAUSE_MAX.min(PAUSE_MIN * 2_u32.saturating_pow((failures - 1).min(16)))
}

/// Everything it has to be told, message by message; ends at the first that does not arrive.
fn tell_all(alerts: &Alerts, at: usize) -> Outcome {
    let receiver = &alerts.receivers[at];
    for (tenant, watched) in alerts.watched.all() {
        while !alerts.stopping.is_cancelled() {
            match tell(alerts, receiver, &tenant, &watched) {
                Some(Ok(())) => {}
                Some(Err(reason)) => {
                    tracing::warn!(
                        receiver = receiver.name,
                        reason,
                        "a notification did not arrive; it is tried again"
                    );
                    return Outcome::Failed;
                }
                None => break,
            }
        }
    }
    Outcome::Told
}

/// One message; `None` when there is nothing to tell.
fn tell(
    alerts: &Alerts,
    receiver: &Receiver,
    tenant: &str,
    watched: &Arc<Watched>,
) -> Option<Result<(), String>> {
    let at = now();
    // What fired before a restart may be over: first it is looked at.
    watched.standing().last.as_ref()?;
    let notices = due(&watched.standing().book, receiver.name, receiver.repeat_after, at);
    if notices.is_empty() {
        return None;
    }
    let writer = Writer { pages: &alerts.pages, tenant };
    let message = match receiver.is_alertmanager() {
        true => writer.alertmanager(&notices, receiver.valid_until(at)),
        false => writer.webhook(receiver.name, &notices),
    };
    let sent = receiver.send(&message);
    receiver.figures.count(sent.is_ok());
    if sent.is_ok() {
        let firing = notices.iter().filter(|notice| notice.state == AlertState::Firing).count();
        tracing::debug!(receiver = receiver.name, firing, resolved = notices.len() - firing, "told");
        mark(&mut watched.standing().book, receiver.name, &notices, at);
        watched.save();
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
