//! Pending notifications of each receiver: a function of the alerts and of the last notifications. There is no other
//! queue, so that nothing overflows and nothing is lost by a restart.

use super::lifecycle::{Alert, AlertList, AlertState, LastNotification};
use super::message::Notice;
use laggard_model::{Nanos, Timestamp};

/// Most alerts in one message.
pub(super) const NOTICES_MAX: usize = 100;

/// Notices that are pending for a receiver, the earliest alerts first.
pub(super) fn pending(alerts: &AlertList, receiver: &str, repeat_after: Nanos, at: Timestamp) -> Vec<Notice> {
    let notice = |alert: &Alert| {
        let state = pending_state(alert, alert.notified.get(receiver), repeat_after, at)?;
        Some(Notice { alert: alert.clone(), state })
    };
    alerts.resolved.iter().chain(&alerts.active).filter_map(notice).take(NOTICES_MAX).collect()
}

/// The number of pending notices of a receiver.
pub(super) fn waiting(alerts: &AlertList, receiver: &str, repeat_after: Nanos, at: Timestamp) -> usize {
    let all = alerts.resolved.iter().chain(&alerts.active);
    all.filter(|alert| pending_state(alert, alert.notified.get(receiver), repeat_after, at).is_some()).count()
}

fn pending_state(
    alert: &Alert,
    last: Option<&LastNotification>,
    repeat_after: Nanos,
    at: Timestamp,
) -> Option<AlertState> {
    match (alert.state, last) {
        (AlertState::Firing, None) => Some(AlertState::Firing),
        (AlertState::Firing, Some(last)) => {
            let age = at.since(Timestamp::from_unix_ns(last.at_ns)).non_negative().unwrap_or(Nanos::ZERO);
            (age >= repeat_after).then_some(AlertState::Firing)
        }
        // A receiver that was never notified of it needs no notice that it is resolved.
        (AlertState::Resolved, Some(last)) if last.state == AlertState::Firing => Some(AlertState::Resolved),
        _ => None,
    }
}

/// Records that a receiver was notified.
pub(super) fn mark_notified(alerts: &mut AlertList, receiver: &str, notices: &[Notice], at: Timestamp) {
    for notice in notices {
        let mut all = alerts.active.iter_mut().chain(&mut alerts.resolved);
        if let Some(alert) = all.find(|alert| alert.id == notice.alert.id) {
            alert
                .notified
                .insert(receiver.to_owned(), LastNotification { state: notice.state, at_ns: at.unix_ns() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lifecycle::tests::{evaluated, rules, time};
    use super::*;

    const REPEAT: Nanos = Nanos::from_secs(4 * 3600);

    fn notify(alerts: &mut AlertList, receiver: &str, minute: i64) -> Vec<AlertState> {
        let notices = pending(alerts, receiver, REPEAT, time(minute));
        assert_eq!(notices.len(), waiting(alerts, receiver, REPEAT, time(minute)));
        mark_notified(alerts, receiver, &notices, time(minute));
        notices.iter().map(|notice| notice.state).collect()
    }

    #[test]
    fn each_receiver_is_notified_once_of_each_change() {
        let mut alerts = AlertList::default();
        alerts.apply(&evaluated(&["read"], 0), rules(), time(0));
        assert_eq!(notify(&mut alerts, "webhook", 0), [], "pending alerts send no notifications");
        alerts.apply(&evaluated(&["read"], 1), rules(), time(1));
        assert_eq!(notify(&mut alerts, "webhook", 1), [AlertState::Firing]);
        assert_eq!(notify(&mut alerts, "webhook", 1), []);
        assert_eq!(notify(&mut alerts, "exec", 1), [AlertState::Firing], "receivers are independent");
        alerts.apply(&evaluated(&["read"], 2), rules(), time(2));
        assert_eq!(notify(&mut alerts, "webhook", 239), []);
        assert_eq!(notify(&mut alerts, "webhook", 241), [AlertState::Firing], "again after four hours");
        for minute in 242..246 {
            alerts.apply(&evaluated(&[], minute), rules(), time(minute));
        }
        assert_eq!(notify(&mut alerts, "webhook", 246), [AlertState::Resolved]);
        assert_eq!(notify(&mut alerts, "webhook", 247), []);
        assert_eq!(notify(&mut alerts, "late", 247), [], "it was never notified of the alert");
    }

    #[test]
    fn a_clock_that_goes_back_repeats_no_notification() {
        let mut alerts = AlertList::default();
        for minute in 100..102 {
            alerts.apply(&evaluated(&["read"], minute), rules(), time(minute));
        }
        assert_eq!(notify(&mut alerts, "webhook", 102), [AlertState::Firing]);
        assert_eq!(notify(&mut alerts, "webhook", 0), []);
    }

    #[test]
    fn a_message_has_at_most_a_hundred_alerts() {
        let mut alerts = AlertList::default();
        let names: Vec<String> = (0..250).map(|at| format!("service-{at} read")).collect();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        for minute in 0..2 {
            alerts.apply(&evaluated(&all, minute), rules(), time(minute));
        }
        for wanted in [100, 100, 50, 0] {
            let notices = pending(&alerts, "webhook", REPEAT, time(2));
            assert_eq!(notices.len(), wanted);
            mark_notified(&mut alerts, "webhook", &notices, time(2));
        }
    }
}
