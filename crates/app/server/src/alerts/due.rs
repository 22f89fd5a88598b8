//! Whom has to be told what: a function of the alerts and of what was told. There is no other queue, so nothing can
//! overflow and nothing is forgotten by a restart.

use super::book::{Alert, AlertBook, AlertState, Told};
use super::message::Notice;
use laggard_model::{Nanos, Timestamp};

/// Most alerts of one message.
pub(super) const NOTICES_MAX: usize = 100;

/// What a receiver has to be told now, the earliest alerts first.
pub(super) fn due(book: &AlertBook, receiver: &str, repeat_after: Nanos, at: Timestamp) -> Vec<Notice> {
    let notice = |alert: &Alert| {
        let told = alert.told.get(receiver);
        let state = wanted(alert, told, repeat_after, at)?;
        Some(Notice { alert: alert.clone(), state })
    };
    book.over.iter().chain(&book.active).filter_map(notice).take(NOTICES_MAX).collect()
}

/// How many alerts a receiver has to be told of.
pub(super) fn waiting(book: &AlertBook, receiver: &str, repeat_after: Nanos, at: Timestamp) -> usize {
    let all = book.over.iter().chain(&book.active);
    all.filter(|alert| wanted(alert, alert.told.get(receiver), repeat_after, at).is_some()).count()
}

fn wanted(alert: &Alert, told: Option<&Told>, repeat_after: Nanos, at: Timestamp) -> Option<AlertState> {
    match (alert.state, told) {
        (AlertState::Firing, None) => Some(AlertState::Firing),
        (AlertState::Firing, Some(told)) => {
            let age = at.since(Timestamp::from_unix_ns(told.at_ns)).non_negative().unwrap_or(Nanos::ZERO);
            (age >= repeat_after).then_some(AlertState::Firing)
        }
        // Who never heard of it need not hear that it is over.
        (AlertState::Resolved, Some(told)) if told.state == AlertState::Firing => Some(AlertState::Resolved),
        _ => None,
    }
}

/// Notes that a receiver was told.
pub(super) fn mark(book: &mut AlertBook, receiver: &str, notices: &[Notice], at: Timestamp) {
    for notice in notices {
        let mut all = book.active.iter_mut().chain(&mut book.over);
        if let Some(alert) = all.find(|alert| alert.id == notice.alert.id) {
            alert.told.insert(receiver.to_owned(), Told { state: notice.state, at_ns: at.unix_ns() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::book::tests::{judged, rules, time};
    use super::*;

    const REPEAT: Nanos = Nanos::from_secs(4 * 3600);

    fn told(book: &mut AlertBook, receiver: &str, minute: i64) -> Vec<AlertState> {
        let notices = due(book, receiver, REPEAT, time(minute));
        assert_eq!(notices.len(), waiting(book, receiver, REPEAT, time(minute)));
        mark(book, receiver, &notices, time(minute));
        notices.iter().map(|notice| notice.state).collect()
    }

    #[test]
    fn each_receiver_is_told_once_of_each_change() {
        let mut book = AlertBook::default();
        book.take(&judged(&["read"], 0), rules(), time(0));
        assert_eq!(told(&mut book, "webhook", 0), [], "pending ones are nobody's business");
        book.take(&judged(&["read"], 1), rules(), time(1));
        assert_eq!(told(&mut book, "webhook", 1), [AlertState::Firing]);
        assert_eq!(told(&mut book, "webhook", 1), []);
        assert_eq!(told(&mut book, "exec", 1), [AlertState::Firing], "receivers are told apart");
        book.take(&judged(&["read"], 2), rules(), time(2));
        assert_eq!(told(&mut book, "webhook", 239), []);
        assert_eq!(told(&mut book, "webhook", 241), [AlertState::Firing], "again after four hours");
        for minute in 242..246 {
            book.take(&judged(&[], minute), rules(), time(minute));
        }
        assert_eq!(told(&mut book, "webhook", 246), [AlertState::Resolved]);
        assert_eq!(told(&mut book, "webhook", 247), []);
        assert_eq!(told(&mut book, "late", 247), [], "who never heard of it");
    }

    #[test]
    fn a_clock_that_goes_back_repeats_nothing() {
        let mut book = AlertBook::default();
        for minute in 100..102 {
            book.take(&judged(&["read"], minute), rules(), time(minute));
        }
        assert_eq!(told(&mut book, "webhook", 102), [AlertState::Firing]);
        assert_eq!(told(&mut book, "webhook", 0), []);
    }

    #[test]
    fn a_message_has_at_most_a_hundred() {
        let mut book = AlertBook::default();
        let names: Vec<String> = (0..250).map(|at| format!("operation {at}")).collect();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        for minute in 0..2 {
            book.take(&judged(&all, minute), rules(), time(minute));
        }
        for wanted in [100, 100, 50, 0] {
            let notices = due(&book, "webhook", REPEAT, time(2));
            assert_eq!(notices.len(), wanted);
            mark(&mut book, "webhook", &notices, time(2));
        }
    }
}
