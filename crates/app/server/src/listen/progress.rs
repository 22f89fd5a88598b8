//! The progress of a connection, to detect stalled ones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Requests and responses of one connection.
pub(super) struct Progress {
    opened: Instant,
    /// Requests that began, and those whose response was sent completely.
    begun: AtomicU64,
    ended: AtomicU64,
    /// When the latest of them ended, in ms since `opened`.
    ended_ms: AtomicU64,
    responses: Mutex<Vec<Weak<ResponseProgress>>>,
    /// Canceled when the connection has to make room for another one.
    displaced: CancellationToken,
}

/// A request in flight; dropping it ends it.
pub(super) struct InFlight {
    progress: Arc<Progress>,
}

/// A response being sent.
pub(super) struct ResponseProgress {
    /// Deadline for receiving the latest chunk, in ms since the connection was opened; 0 while none is being sent.
    deadline_ms: AtomicU64,
}

/// Why a connection should be closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stalled {
    /// No first request in time.
    NoRequest,
    /// No request for a while.
    Idle,
    /// The client does not receive its response.
    NotReceived,
    /// It is idle, and others need its place.
    Displaced,
}

/// The times after which a connection is stalled.
#[derive(Clone, Copy)]
pub(super) struct IdleLimits {
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
            responses: Mutex::default(),
            displaced: CancellationToken::new(),
        })
    }

    /// Since when no request is in flight; `None` while there is one, and of a connection
    /// that has to close already.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let is_busy = self.begun.load(Ordering::Acquire) != self.ended.load(Ordering::Acquire);
        let idle_since = self.opened + Duration::from_millis(self.ended_ms.load(Ordering::Acquire));
        (!is_busy && !self.is_displaced()).then_some(idle_since)
    }

    pub(super) fn displace(&self) {
        self.displaced.cancel();
    }

    pub(super) fn is_displaced(&self) -> bool {
        self.displaced.is_cancelled()
    }

    /// Returns once the connection has to make room.
    pub(super) async fn displaced(&self) {
        self.displaced.cancelled().await;
    }

    pub(super) fn begin(self: &Arc<Progress>) -> InFlight {
        self.begun.fetch_add(1, Ordering::AcqRel);
        InFlight { progress: self.clone() }
    }

    /// Why it should be closed, if it should.
    pub(super) fn stalled(&self, now: Instant, limits: IdleLimits) -> Option<Stalled> {
        let now_ms = self.since_opened_ms(now);
        let begun = self.begun.load(Ordering::Acquire);
        if begun == 0 {
            return (now_ms >= milliseconds(limits.first)).then_some(Stalled::NoRequest);
        }
        if begun == self.ended.load(Ordering::Acquire) {
            let idle_ms = now_ms.saturating_sub(self.ended_ms.load(Ordering::Acquire));
            return (idle_ms >= milliseconds(limits.idle)).then_some(Stalled::Idle);
        }
        let mut responses = self.responses.lock().expect("no thread panics while it holds the lock");
        responses.retain(|response| response.strong_count() > 0);
        let late = |response: &Weak<ResponseProgress>| {
            response.upgrade().is_some_and(|response| response.is_late(now_ms))
        };
        responses.iter().any(late).then_some(Stalled::NotReceived)
    }

    fn since_opened_ms(&self, now: Instant) -> u64 {
        milliseconds(now.saturating_duration_since(self.opened))
    }
}

impl InFlight {
    /// Registers its response.
    pub(super) fn response(&self) -> Arc<ResponseProgress> {
        let response = Arc::new(ResponseProgress { deadline_ms: AtomicU64::new(0) });
        let mut responses = self.progress.responses.lock().expect("no thread panics while it holds the lock");
        // A connection that closes before it is checked would collect them.
        if responses.len() == responses.capacity() {
            responses.retain(|response| response.strong_count() > 0);
        }
        responses.push(Arc::downgrade(&response));
        response
    }

    /// A chunk is being sent, which must be received by `deadline`.
    pub(super) fn chunk_sent(&self, response: &ResponseProgress, deadline: Instant) {
        let deadline_ms = self.progress.since_opened_ms(deadline).max(1);
        response.deadline_ms.store(deadline_ms, Ordering::Release);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.progress.ended_ms.store(self.progress.since_opened_ms(Instant::now()), Ordering::Release);
        self.progress.ended.fetch_add(1, Ordering::AcqRel);
    }
}

impl ResponseProgress {
    /// The next chunk is requested: the latest was received.
    pub(super) fn made_progress(&self) {
        self.deadline_ms.store(0, Ordering::Release);
    }

    fn is_late(&self, now_ms: u64) -> bool {
        let deadline_ms = self.deadline_ms.load(Ordering::Acquire);
        deadline_ms != 0 && now_ms > deadline_ms
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: IdleLimits = IdleLimits { first: Duration::from_secs(10), idle: Duration::from_secs(60) };

    /// So many seconds from now, with a little for the time of the test itself.
    fn after(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    #[test]
    fn the_first_request_has_a_shorter_limit_than_the_next() {
        let progress = Progress::new();
        assert_eq!(progress.stalled(after(8), LIMITS), None);
        assert_eq!(progress.stalled(after(10), LIMITS), Some(Stalled::NoRequest));
        let request = progress.begin();
        assert_eq!(progress.stalled(after(1000), LIMITS), None, "a query may run long");
        drop(request);
        assert_eq!(progress.stalled(after(58), LIMITS), None);
        assert_eq!(progress.stalled(after(60), LIMITS), Some(Stalled::Idle));
    }

    #[test]
    fn a_response_must_be_received() {
        let progress = Progress::new();
        let request = progress.begin();
        let response = request.response();
        assert_eq!(progress.stalled(after(1000), LIMITS), None, "nothing was sent yet");
        request.chunk_sent(&response, after(30));
        assert_eq!(progress.stalled(after(29), LIMITS), None);
        assert_eq!(progress.stalled(after(32), LIMITS), Some(Stalled::NotReceived));
        response.made_progress();
        assert_eq!(progress.stalled(after(32), LIMITS), None);
    }

    #[test]
    fn ended_responses_are_dropped() {
        let progress = Progress::new();
        for _ in 0..10_000 {
            let request = progress.begin();
            drop(request.response());
        }
        assert!(progress.responses.lock().unwrap().len() < 100);
    }
}
