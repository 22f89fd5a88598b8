//! Bodies with an end: requests that must arrive, answers that must be taken.

use super::progress::{Answer, InFlight};
use crate::settings::LimitSettings;
use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The slowest client that is waited for, in bytes a second.
const BYTES_PER_SECOND: u64 = 64 << 10;

/// How long so many bytes may take.
fn allowance(base: Duration, bytes: u64) -> Duration {
    base + Duration::from_millis(bytes.saturating_mul(1000) / BYTES_PER_SECOND)
}

/// A request's body; an error once it has taken too long.
pub(super) struct Arriving {
    body: Incoming,
    waiting: Waiting,
    bytes: u64,
    /// Only for bodies that were waited for at all: most are there at once.
    timer: Option<Pin<Box<Sleep>>>,
}

/// How long a client was waited for. Time in which the server itself has enough to do with what came before is
/// not the client's.
#[derive(Debug)]
struct Waiting {
    base: Duration,
    /// Stretches that are over.
    waited: Duration,
    since: Option<Instant>,
}

impl Waiting {
    fn new(base: Duration) -> Waiting {
        Waiting { base, waited: Duration::ZERO, since: None }
    }

    /// Nothing is there now: until when something has to come, after so many bytes.
    fn due(&mut self, now: Instant, bytes: u64) -> Instant {
        *self.since.get_or_insert(now) + allowance(self.base, bytes).saturating_sub(self.waited)
    }

    /// Something has come.
    fn is_over(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.waited += now - since;
        }
    }
}

/// A body did not arrive in time.
#[derive(Debug)]
pub(crate) struct BodyTooSlow;

impl fmt::Display for BodyTooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body of the request did not arrive in time")
    }
}

impl std::error::Error for BodyTooSlow {}

impl Arriving {
    pub(super) fn new(body: Incoming, limits: &LimitSettings) -> Arriving {
        Arriving { body, waiting: Waiting::new(limits.body_timeout.duration()), bytes: 0, timer: None }
    }

    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let due = self.waiting.due(Instant::now(), self.bytes);
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        if timer.deadline() != due {
            timer.as_mut().reset(due);
        }
        timer.as_mut().poll(context).is_ready()
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.waiting.is_over(Instant::now());
                self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(other) => Poll::Ready(other.map(|ended| ended.map_err(Into::into))),
            Poll::Pending if self.is_late(context) => Poll::Ready(Some(Err(BodyTooSlow.into()))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body; tells when its pieces were taken.
pub(super) struct Leaving {
    body: Body,
    base: Duration,
    in_flight: InFlight,
    answer: Arc<Answer>,
}

impl Leaving {
    pub(super) fn new(body: Body, in_flight: InFlight, limits: &LimitSettings) -> Leaving {
        let answer = in_flight.answer();
        Leaving { body, base: limits.send_timeout.duration(), in_flight, answer }
    }
}

impl HttpBody for Leaving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.answer.made_progress();
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(piece)) = &frame {
            let bytes = piece.data_ref().map_or(0, |data| data.len() as u64);
            let due = std::time::Instant::now() + allowance(self.base, bytes);
            self.in_flight.handed_over(&self.answer, due);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waiting_counts() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut waiting = Waiting::new(Duration::from_secs(10));
        assert_eq!(waiting.due(begun, 0), after(10));
        assert_eq!(waiting.due(after(4), 0), after(10), "it goes on waiting");
        waiting.is_over(after(4));
        // The server is busy for a minute with what came: 6 s are left, and one more for the bytes.
        assert_eq!(waiting.due(after(64), BYTES_PER_SECOND), after(71));
        waiting.is_over(after(71));
        assert_eq!(waiting.due(after(80), BYTES_PER_SECOND), after(80));
    }
}
