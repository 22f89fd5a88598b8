//! What a connection is doing, so that somebody can tell when it does nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// Requests and answers of one connection.
pub(super) struct Progress {
    opened: Instant,
    /// Requests that were begun, and those that were answered to the last byte handed over.
    begun: AtomicU64,
    ended: AtomicU64,
    /// When the latest of them ended, in ms since `opened`.
    ended_ms: AtomicU64,
    answers: Mutex<Vec<Weak<Answer>>>,
}

/// A request in flight; dropping it ends it.
pub(super) struct InFlight {
    progress: Arc<Progress>,
}

/// An answer being sent.
pub(super) struct Answer {
    /// By when the client must have taken the latest piece, in ms since the connection was opened; 0 while no piece
    /// waits for it.
    due_ms: AtomicU64,
}

/// Why a connection should be closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stalled {
    /// It was not asked for anything in time.
    NeverAsked,
    /// It was not asked for anything for a while.
    Idle,
    /// A client does not take its answer.
    NotTaken,
}

/// The times after which a connection is stalled.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    pub(super) first: Duration,
    pub(super) idle: Duration,
}

impl Progress {
    pub(super) fn new() -> Arc<Progress> {
        Arc::new(Progress {
            opened: Instant::now(),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            ended_ms: AtomicU64::new(0),
            answers: Mutex::default(),
        })
    }

    pub(super) fn begin(self: &Arc<Progress>) -> InFlight {
        self.begun.fetch_add(1, Ordering::AcqRel);
        InFlight { progress: self.clone() }
    }

    /// Whether something should end it.
    pub(super) fn stalled(&self, now: Instant, patience: Patience) -> Option<Stalled> {
        let now_ms = self.since_opened_ms(now);
        let begun = self.begun.load(Ordering::Acquire);
        if begun == 0 {
            return (now_ms >= milliseconds(patience.first)).then_some(Stalled::NeverAsked);
        }
        if begun == self.ended.load(Ordering::Acquire) {
            let idle_ms = now_ms.saturating_sub(self.ended_ms.load(Ordering::Acquire));
            return (idle_ms >= milliseconds(patience.idle)).then_some(Stalled::Idle);
        }
        let mut answers = self.answers.lock().expect("no thread panics while it holds the lock");
        answers.retain(|answer| answer.strong_count() > 0);
        let late = |answer: &Weak<Answer>| answer.upgrade().is_some_and(|answer| answer.is_late(now_ms));
        answers.iter().any(late).then_some(Stalled::NotTaken)
    }

    fn since_opened_ms(&self, now: Instant) -> u64 {
        milliseconds(now.saturating_duration_since(self.opened))
    }
}

impl InFlight {
    /// Watches how its answer is taken.
    pub(super) fn answer(&self) -> Arc<Answer> {
        let answer = Arc::new(Answer { due_ms: AtomicU64::new(0) });
        let mut answers = self.progress.answers.lock().expect("no thread panics while it holds the lock");
        // Without this a connection that is never looked at (a fast one) would collect them.
        if answers.len() == answers.capacity() {
            answers.retain(|answer| answer.strong_count() > 0);
        }
        answers.push(Arc::downgrade(&answer));
        answer
    }

    /// A piece was handed over, which must be taken by `due`.
    pub(super) fn handed_over(&self, answer: &Answer, due: Instant) {
        let due_ms = self.progress.since_opened_ms(due).max(1);
        answer.due_ms.store(due_ms, Ordering::Release);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.progress.ended_ms.store(self.progress.since_opened_ms(Instant::now()), Ordering::Release);
        self.progress.ended.fetch_add(1, Ordering::AcqRel);
    }
}

impl Answer {
    /// Whoever sends asks for the next piece: the latest was taken.
    pub(super) fn made_progress(&self) {
        self.due_ms.store(0, Ordering::Release);
    }

    fn is_late(&self, now_ms: u64) -> bool {
        let due_ms = self.due_ms.load(Ordering::Acquire);
        due_ms != 0 && now_ms > due_ms
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience { first: Duration::from_secs(10), idle: Duration::from_secs(60) };

    /// So many seconds from now, with a little for what the test itself takes.
    fn after(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    #[test]
    fn a_first_request_must_come_soon_and_the_next_may_take_longer() {
        let progress = Progress::new();
        assert_eq!(progress.stalled(after(8), PATIENCE), None);
        assert_eq!(progress.stalled(after(10), PATIENCE), Some(Stalled::NeverAsked));
        let request = progress.begin();
        assert_eq!(progress.stalled(after(1000), PATIENCE), None, "a question may take long");
        drop(request);
        assert_eq!(progress.stalled(after(58), PATIENCE), None);
        assert_eq!(progress.stalled(after(60), PATIENCE), Some(Stalled::Idle));
    }

    #[test]
    fn an_answer_must_be_taken() {
        let progress = Progress::new();
        let request = progress.begin();
        let answer = request.answer();
        assert_eq!(progress.stalled(after(1000), PATIENCE), None, "nothing was handed over yet");
        request.handed_over(&answer, after(30));
        assert_eq!(progress.stalled(after(29), PATIENCE), None);
        assert_eq!(progress.stalled(after(32), PATIENCE), Some(Stalled::NotTaken));
        answer.made_progress();
        assert_eq!(progress.stalled(after(32), PATIENCE), None);
    }

    #[test]
    fn ended_answers_are_forgotten() {
        let progress = Progress::new();
        for _ in 0..10_000 {
            let request = progress.begin();
            drop(request.answer());
        }
        assert!(progress.answers.lock().unwrap().len() < 100);
    }
}
