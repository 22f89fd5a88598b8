//! Pending notifications of each receiver: a function of the incidents, the silences, and the last notifications. There is no
//! other queue, so that nothing overflows and nothing is lost by a restart.

use super::delivery::OutgoingMessage;
use super::incidents::{
    IncidentNotification, IncidentRecord, IncidentSize, IncidentState, LINES_MAX, REOPENED_WITHIN,
    UnconfirmedNotification,
};
use super::kind::AlertKind;
use super::lifecycle::{Alert, AlertList};
use super::message::Notice;
use crate::settings::AlertSettings;
use laggard_model::{Nanos, Timestamp};

/// Most incidents in one message.
pub(super) const NOTICES_MAX: usize = 100;

/// An incident that got worse is notified again no sooner than this after the last message about it: its alerts begin to fire
/// one after the other.
const WORSE_AFTER: Nanos = Nanos::from_secs(600);

/// Settings that determine the notifications of one receiver.
#[derive(Clone, Copy)]
pub(super) struct Recipient<'a> {
    /// The receiver's name.
    pub(super) name: &'a str,
    /// An open incident is sent again after this.
    pub(super) repeat_after: Option<Nanos>,
    /// The end of an incident is sent when it has been closed for this long. An incident that reopens within half an hour after that
    /// message is sent only if it is still open then. `None`: each change is sent at once.
    pub(super) confirm_end: Option<Nanos>,
    /// Whether the receiver is to be notified of an alert's service.
    pub(super) is_for: &'a dyn Fn(&Alert) -> bool,
}

/// Notices that are pending for a receiver, the earliest incidents first.
pub(super) fn pending(list: &AlertList, recipient: Recipient<'_>, at: Timestamp) -> Vec<Notice> {
    let due = list.incidents.iter().filter_map(|incident| {
        let state = pending_state(list, incident, recipient, at)?;
        Some(Notice::new(list, incident, state, incident.size(list)))
    });
    due.take(NOTICES_MAX).collect()
}

/// The message to a receiver whose outcome is unknown: the same incidents in the same states, with the same id.
pub(super) fn unconfirmed(list: &AlertList, receiver: &str) -> Option<OutgoingMessage> {
    let mut all = list.incidents.iter().filter_map(|incident| {
        let unconfirmed = incident.unconfirmed.get(receiver)?;
        list.of_incident(incident).next().map(|_| (incident, unconfirmed))
    });
    let (_, first) = all.clone().next()?;
    let id = first.message.clone();
    let notices = all.by_ref().filter(|(_, unconfirmed)| unconfirmed.message == id);
    let notice = |(incident, unconfirmed): (&IncidentRecord, &UnconfirmedNotification)| {
        let IncidentNotification { state, size, .. } = unconfirmed.notification;
        Notice::new(list, incident, state, size)
    };
    Some(OutgoingMessage { notices: notices.map(notice).collect(), id, may_have_arrived: true })
}

/// The number of pending notices of a receiver.
pub(super) fn waiting(list: &AlertList, recipient: Recipient<'_>, at: Timestamp) -> usize {
    let all = list.incidents.iter();
    let is_pending = |incident: &&IncidentRecord| {
        incident.unconfirmed.contains_key(recipient.name)
            || pending_state(list, incident, recipient, at).is_some()
    };
    all.filter(is_pending).count()
}

fn pending_state(
    list: &AlertList,
    incident: &IncidentRecord,
    recipient: Recipient<'_>,
    at: Timestamp,
) -> Option<IncidentState> {
    let lead = list.of_incident(incident).next()?;
    let last = incident.notified.get(recipient.name);
    let was_notified = last.is_some_and(|last| last.state == IncidentState::Open);
    match incident.state {
        // A receiver that was never notified of it needs no notice that it is over. The others do even if it is silenced by now.
        IncidentState::Closed => {
            let closed_for = incident.closed_for(at).unwrap_or(Nanos::ZERO);
            let is_over = recipient.confirm_end.is_none_or(|after| closed_for >= after);
            (was_notified && is_over).then_some(IncidentState::Closed)
        }
        IncidentState::Open => {
            let is_wanted = incident.was_examined && (recipient.is_for)(lead);
            if !is_wanted
                || list.silences.iter().any(|silence| silence.covers(&incident.id, &lead.finding, at))
            {
                return None;
            }
            let is_due = match last {
                None => true,
                Some(last) if was_notified => {
                    is_repeated(last, incident.size(list), recipient.repeat_after, at)
                }
                Some(over) => recipient.confirm_end.is_none() || age(over, at) >= REOPENED_WITHIN,
            };
            is_due.then_some(IncidentState::Open)
        }
    }
}

/// The time since a notification.
fn age(last: &IncidentNotification, at: Timestamp) -> Nanos {
    at.since(Timestamp::from_unix_ns(last.at_ns)).non_negative().unwrap_or(Nanos::ZERO)
}

fn is_repeated(
    last: &IncidentNotification,
    size: IncidentSize,
    repeat_after: Option<Nanos>,
    at: Timestamp,
) -> bool {
    let age = age(last, at);
    repeat_after.is_some_and(|repeat_after| age >= repeat_after)
        || (age >= WORSE_AFTER && size.is_worse_than(last.size))
}

/// Notifies a receiver without an owner of everything that is pending, as a server does whose messages arrive at once: ids of
/// incidents with their states. For simulations.
pub fn notify_at_once(
    list: &mut AlertList,
    settings: &AlertSettings,
    at: Timestamp,
) -> Vec<(String, IncidentState)> {
    list.incidents.iter_mut().for_each(|incident| incident.was_examined = true);
    let confirm_end = Some(settings.confirm_end.nanos());
    let recipient = Recipient { name: "simulated", repeat_after: None, confirm_end, is_for: &|_| true };
    let notices = pending(list, recipient, at);
    mark_notified(list, recipient.name, &notices, at);
    notices.into_iter().map(|notice| (notice.incident.id, notice.state)).collect()
}

/// Records that a message is about to be sent.
pub(super) fn mark_unconfirmed(
    list: &mut AlertList,
    receiver: &str,
    message: &OutgoingMessage,
    at: Timestamp,
) {
    for notice in &message.notices {
        if let Some(incident) = list.incident_mut(&notice.incident.id) {
            let notification =
                IncidentNotification { state: notice.state, at_ns: at.unix_ns(), size: notice.size };
            let unconfirmed = UnconfirmedNotification { message: message.id.clone(), notification };
            incident.unconfirmed.insert(receiver.to_owned(), unconfirmed);
        }
    }
}

/// Records that a receiver does not have a message, so that what is pending is decided anew.
pub(super) fn mark_refused(list: &mut AlertList, receiver: &str, message: &OutgoingMessage) {
    for notice in &message.notices {
        if let Some(incident) = list.incident_mut(&notice.incident.id) {
            incident.unconfirmed.remove(receiver);
        }
    }
}

/// Records that a receiver was notified.
pub(super) fn mark_notified(list: &mut AlertList, receiver: &str, notices: &[Notice], at: Timestamp) {
    for notice in notices {
        if let Some(incident) = list.incident_mut(&notice.incident.id) {
            let last = IncidentNotification { state: notice.state, at_ns: at.unix_ns(), size: notice.size };
            incident.notified.insert(receiver.to_owned(), last);
            incident.unconfirmed.remove(receiver);
        }
    }
}

impl Notice {
    fn new(list: &AlertList, incident: &IncidentRecord, state: IncidentState, size: IncidentSize) -> Notice {
        Notice {
            state,
            headline: incident.headline(list),
            text: incident.text(list, LINES_MAX - 1),
            alerts: list.of_incident(incident).cloned().collect(),
            incident: incident.clone(),
            size,
        }
    }

    /// The kind of the alert that opened the incident.
    pub(super) fn kind(&self) -> AlertKind {
        self.lead().kind()
    }

    /// The alert that opened the incident.
    pub(super) fn lead(&self) -> &Alert {
        self.alerts.first().expect("an incident without alerts is not notified")
    }
}

#[cfg(test)]
mod tests {
    use super::super::lifecycle::tests::{evaluated, rules, time};
    use super::*;

    const REPEAT: Nanos = Nanos::from_secs(4 * 3600);

    fn everything(name: &str) -> Recipient<'_> {
        Recipient { name, repeat_after: Some(REPEAT), confirm_end: None, is_for: &|_| true }
    }

    fn evaluate(list: &mut AlertList, operations: &[&str], minute: i64) {
        list.apply(&evaluated(operations, minute), rules(), time(minute));
        list.incidents.iter_mut().for_each(|incident| incident.was_examined = true);
    }

    fn notify(list: &mut AlertList, receiver: &str, minute: i64) -> Vec<IncidentState> {
        let notices = pending(list, everything(receiver), time(minute));
        assert_eq!(notices.len(), waiting(list, everything(receiver), time(minute)));
        mark_notified(list, receiver, &notices, time(minute));
        notices.iter().map(|notice| notice.state).collect()
    }

    #[test]
    fn each_receiver_is_notified_once_of_each_change() {
        let mut list = AlertList::default();
        evaluate(&mut list, &["read"], 0);
        assert_eq!(notify(&mut list, "webhook", 0), [], "a pending alert is no incident");
        evaluate(&mut list, &["read"], 1);
        assert_eq!(notify(&mut list, "webhook", 1), [IncidentState::Open]);
        assert_eq!(notify(&mut list, "webhook", 1), []);
        assert_eq!(notify(&mut list, "exec", 1), [IncidentState::Open], "receivers are independent");
        evaluate(&mut list, &["read"], 2);
        assert_eq!(notify(&mut list, "webhook", 239), []);
        assert_eq!(notify(&mut list, "webhook", 241), [IncidentState::Open], "again after four hours");
        for minute in 242..246 {
            evaluate(&mut list, &[], minute);
        }
        assert_eq!(notify(&mut list, "webhook", 246), [IncidentState::Closed]);
        assert_eq!(notify(&mut list, "webhook", 247), []);
        assert_eq!(notify(&mut list, "late", 247), [], "it was never notified of the incident");
    }

    #[test]
    fn no_notification_is_sent_before_the_first_verdict() {
        let mut list = AlertList::default();
        for minute in 0..2 {
            list.apply(&evaluated(&["read"], minute), rules(), time(minute));
        }
        assert_eq!(notify(&mut list, "webhook", 2), []);
        evaluate(&mut list, &["read"], 3);
        assert_eq!(notify(&mut list, "webhook", 3), [IncidentState::Open]);
    }

    #[test]
    fn a_worsening_incident_is_notified_once_more() {
        let mut list = AlertList::default();
        for minute in 0..3 {
            evaluate(&mut list, &["read"], minute);
        }
        assert_eq!(notify(&mut list, "webhook", 3), [IncidentState::Open]);
        // Its category is that of the first alert, and it began in the same window.
        for minute in 3..6 {
            evaluate(&mut list, &["read", "cart write"], minute);
        }
        assert_eq!(list.incidents.len(), 1);
        assert_eq!(notify(&mut list, "webhook", 6), [], "the alerts of an incident fire one after the other");
        evaluate(&mut list, &["read", "cart write"], 14);
        assert_eq!(notify(&mut list, "webhook", 14), [IncidentState::Open]);
        for minute in 15..40 {
            evaluate(&mut list, &["read", "cart write"], minute);
            assert_eq!(notify(&mut list, "webhook", minute), []);
        }
    }

    #[test]
    fn the_end_is_notified_once_certain_and_a_quick_return_is_not() {
        let mut list = AlertList::default();
        let recipient = Recipient { confirm_end: Some(Nanos::from_secs(300)), ..everything("webhook") };
        let mut sent = Vec::new();
        // Slow from 0 to 4, from 8 to 9, and from 20 to 59; over two minutes after each, which is too early for the first.
        for minute in 0..80 {
            let is_slow = matches!(minute, 0..5 | 8..10 | 20..60);
            evaluate(&mut list, if is_slow { &["read"] } else { &[] }, minute);
            let notices = pending(&list, recipient, time(minute));
            mark_notified(&mut list, "webhook", &notices, time(minute));
            sent.extend(notices.iter().map(|notice| (minute, notice.state)));
        }
        assert_eq!(list.incidents.len(), 1);
        let (open, closed) = (IncidentState::Open, IncidentState::Closed);
        assert_eq!(sent, [(1, open), (16, closed), (46, open), (66, closed)]);
    }

    #[test]
    fn a_clock_set_back_repeats_no_notification() {
        let mut list = AlertList::default();
        for minute in 100..102 {
            evaluate(&mut list, &["read"], minute);
        }
        assert_eq!(notify(&mut list, "webhook", 102), [IncidentState::Open]);
        assert_eq!(notify(&mut list, "webhook", 0), []);
    }

    #[test]
    fn a_message_has_at_most_a_hundred_incidents() {
        let mut list = AlertList::default();
        for number in 0..250 {
            let mut evaluation = evaluated(&[&format!("service-{number} read")], 0);
            evaluation.findings[0].categories[0].id = number.to_string();
            evaluation.findings[0].replicas.clear();
            list.active.push(list_of(&evaluation));
        }
        list.follow_incidents(time(1));
        list.incidents.iter_mut().for_each(|incident| incident.was_examined = true);
        for expected in [100, 100, 50, 0] {
            let notices = pending(&list, everything("webhook"), time(2));
            assert_eq!(notices.len(), expected);
            mark_notified(&mut list, "webhook", &notices, time(2));
        }
    }

    /// The alert of an evaluation, firing.
    fn list_of(evaluation: &super::super::evaluate::Evaluation) -> Alert {
        let mut list = AlertList::default();
        for minute in 0..2 {
            list.apply(evaluation, rules(), time(minute));
        }
        list.active.remove(0)
    }
}
