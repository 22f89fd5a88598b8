//! A server that is killed before and after each step of a delivery, with receivers that count messages by id.

use super::super::incidents::IncidentState;
use super::super::lifecycle::tests::{evaluated, rules, time};
use super::super::pending_notifications::{Recipient, pending, unconfirmed};
use super::*;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// State that survives a kill: the stored list and the received messages.
#[derive(Default)]
struct Outside {
    stored: AlertList,
    /// Contents of messages and their number of arrivals, by id.
    received: BTreeMap<String, (Vec<(String, IncidentState)>, u32)>,
    /// Ids in order of their first arrival.
    order: Vec<String>,
}

/// When a kill happens: before or after a step takes effect.
struct Process<'a> {
    outside: &'a mut Outside,
    list: AlertList,
    /// Steps until the kill.
    left: u32,
    /// The response of the receiver.
    answer: Result<(), SendError>,
}

struct Killed;

impl Process<'_> {
    fn instant(&mut self) {
        match self.left.checked_sub(1) {
            Some(remaining) => self.left = remaining,
            // Suppresses the panic message.
            None => resume_unwind(Box::new(Killed)),
        }
    }

    /// One round of the notification task.
    fn deliver_all(&mut self, at: Timestamp) {
        while let Some(message) = self.next(at) {
            if deliver(self, "webhook", &message, false, at).is_err() {
                return;
            }
        }
    }

    fn next(&self, at: Timestamp) -> Option<OutgoingMessage> {
        let recipient =
            Recipient { name: "webhook", repeat_after: None, confirm_end: None, is_for: &|_| true };
        unconfirmed(&self.list, "webhook").or_else(|| {
            let notices = pending(&self.list, recipient, at);
            (!notices.is_empty()).then(|| OutgoingMessage::new("shop", "webhook", notices, at))
        })
    }

    fn evaluate(&mut self, operations: &[&str], minute: i64) {
        self.list.apply(&evaluated(operations, minute), rules(), time(minute));
        self.list.incidents.iter_mut().for_each(|incident| incident.was_examined = true);
        self.save();
    }
}

impl DeliverySteps for Process<'_> {
    fn change(&mut self, change: impl FnOnce(&mut AlertList)) {
        change(&mut self.list);
    }

    fn save(&mut self) {
        self.instant();
        self.outside.stored = self.list.clone();
        self.instant();
    }

    fn send(&mut self, message: &OutgoingMessage) -> Result<(), SendError> {
        self.instant();
        if matches!(self.answer, Ok(()) | Err(SendError::Unconfirmed(_))) {
            let content =
                message.notices.iter().map(|notice| (notice.incident.id.clone(), notice.state)).collect();
            let entry = self.outside.received.entry(message.id.clone()).or_default();
            assert!(entry.1 == 0 || entry.0 == content, "one id, two contents");
            *entry = (content, entry.1 + 1);
            if entry.1 == 1 {
                self.outside.order.push(message.id.clone());
            }
        }
        self.instant();
        self.answer.clone()
    }
}

/// An incident that opens and closes while the process is killed a number of steps after each start.
fn run(outside: &mut Outside, kills: &[u32]) {
    let mut kills = kills.iter().copied();
    let mut minute = 0;
    loop {
        let remaining = kills.next().unwrap_or(u32::MAX);
        let list = outside.stored.clone();
        let mut process = Process { outside, list, left: remaining, answer: Ok(()) };
        let done = catch_unwind(AssertUnwindSafe(|| {
            process.deliver_all(time(minute));
            while minute < 12 {
                let is_slow = minute < 5;
                process.evaluate(if is_slow { &["read"] } else { &[] }, minute);
                process.deliver_all(time(minute));
                minute += 1;
            }
        }));
        match done {
            Ok(()) => return,
            Err(payload) => assert!(payload.is::<Killed>(), "a test failed"),
        }
    }
}

fn states(outside: &Outside) -> Vec<Vec<IncidentState>> {
    let contents = outside.order.iter().map(|id| &outside.received[id].0);
    contents.map(|content| content.iter().map(|(_, state)| *state).collect()).collect()
}

#[test]
fn a_kill_at_any_instant_loses_no_message_and_resends_it_with_the_same_id() {
    let mut repeated = 0;
    // Twelve evaluations save, and two messages have three steps each, with an instant before and after each step.
    for first in 0..40 {
        for second in 0..8 {
            let mut outside = Outside::default();
            run(&mut outside, &[first, second]);
            assert_eq!(
                states(&outside),
                [[IncidentState::Open], [IncidentState::Closed]],
                "killed after {first}, then after {second} instants"
            );
            repeated += outside.received.values().map(|(_, count)| count - 1).sum::<u32>();
        }
    }
    assert!(repeated > 10, "no kill came between sending and saving");
}

/// An operation is slow for two minutes; the first message gets this response, and all later ones are acknowledged.
fn after_first_answer(answer: Result<(), SendError>) -> Outside {
    let mut outside = Outside::default();
    let mut process = Process { outside: &mut outside, list: AlertList::default(), left: u32::MAX, answer };
    for minute in 0..2 {
        process.evaluate(&["read"], minute);
    }
    process.deliver_all(time(2));
    for minute in 3..8 {
        process.evaluate(&[], minute);
    }
    process.answer = Ok(());
    process.deliver_all(time(8));
    outside
}

#[test]
fn an_unconfirmed_message_is_resent_before_later_ones() {
    let outside = after_first_answer(Err(SendError::Unconfirmed("timeout".to_owned())));
    assert_eq!(states(&outside), [[IncidentState::Open], [IncidentState::Closed]]);
    assert_eq!(outside.received[&outside.order[0]].1, 2, "the same id, twice");
}

#[test]
fn a_rejected_message_is_reevaluated() {
    let outside = after_first_answer(Err(SendError::Refused("status 503".to_owned())));
    assert_eq!(outside.order, Vec::<String>::new(), "nobody was notified of its beginning");
}

/// A first attempt whose outcome is unknown, further ones with these answers while the incident lasts and after its end, and an
/// acknowledged one.
fn after_later_answers(answer: SendError) -> Outside {
    let mut outside = Outside::default();
    let unknown = Err(SendError::Unconfirmed("timeout".to_owned()));
    let mut process =
        Process { outside: &mut outside, list: AlertList::default(), left: u32::MAX, answer: unknown };
    for minute in 0..2 {
        process.evaluate(&["read"], minute);
    }
    process.deliver_all(time(2));
    process.answer = Err(answer);
    process.deliver_all(time(2));
    for minute in 3..8 {
        process.evaluate(&[], minute);
        process.deliver_all(time(minute));
    }
    process.answer = Ok(());
    process.deliver_all(time(8));
    outside
}

#[test]
fn a_message_that_may_have_arrived_keeps_its_id_when_the_receiver_is_down() {
    let outside = after_later_answers(SendError::Refused("connection refused".to_owned()));
    assert_eq!(states(&outside), [[IncidentState::Open], [IncidentState::Closed]]);
    assert_eq!(outside.received[&outside.order[0]].1, 2, "the same id, twice");
}

#[test]
fn a_message_with_rejected_content_does_not_block_later_ones() {
    let outside = after_later_answers(SendError::Rejected("status 422".to_owned()));
    assert_eq!(states(&outside), [[IncidentState::Open]], "the end of what it was never told is not sent");
}
