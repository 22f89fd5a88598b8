//! Bodies with deadlines: requests must arrive, responses must be received.

use super::progress::{InFlight, ResponseProgress};
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

/// Maximum time for a number of bytes.
fn allowance(base: Duration, bytes: u64) -> Duration {
    base + Duration::from_millis(bytes.saturating_mul(1000) / BYTES_PER_SECOND)
}

/// A request's body; fails when it does not arrive in time.
pub(super) struct RequestBody {
    body: Incoming,
    waiting: Waiting,
    bytes: u64,
    /// Absent for bodies that arrived at once, as most do.
    timer: Option<Pin<Box<Sleep>>>,
}

/// Time spent waiting for a client. Time in which the server processes earlier chunks does not count.
#[derive(Debug)]
struct Waiting {
    base: Duration,
    /// Total of the intervals that are over.
    waited: Duration,
    since: Option<Instant>,
}

impl Waiting {
    fn new(base: Duration) -> Waiting {
        Waiting { base, waited: Duration::ZERO, since: None }
    }

    /// The deadline of the next chunk after a number of received bytes; starts waiting.
    fn deadline(&mut self, now: Instant, bytes: u64) -> Instant {
        *self.since.get_or_insert(now) + allowance(self.base, bytes).saturating_sub(self.waited)
    }

    /// A chunk arrived; stops waiting.
    fn arrived(&mut self, now: Instant) {
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

impl RequestBody {
    pub(super) fn new(body: Incoming, limits: &LimitSettings) -> RequestBody {
        RequestBody { body, waiting: Waiting::new(limits.body_timeout.duration()), bytes: 0, timer: None }
    }

    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let deadline = self.waiting.deadline(Instant::now(), self.bytes);
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(context).is_ready()
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.waiting.arrived(Instant::now());
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

/// A response's body; records when its chunks were received.
pub(super) struct ResponseBody {
    body: Body,
    base: Duration,
    in_flight: InFlight,
    response: Arc<ResponseProgress>,
}

impl ResponseBody {
    pub(super) fn new(body: Body, in_flight: InFlight, limits: &LimitSettings) -> ResponseBody {
        let response = in_flight.response();
        ResponseBody { body, base: limits.send_timeout.duration(), in_flight, response }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.response.made_progress();
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(chunk)) = &frame {
            let bytes = chunk.data_ref().map_or(0, |data| data.len() as u64);
            let deadline = std::time::Instant::now() + allowance(self.base, bytes);
            self.in_flight.chunk_sent(&self.response, deadline);
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
    fn only_time_spent_waiting_counts() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut waiting = Waiting::new(Duration::from_secs(10));
        assert_eq!(waiting.deadline(start, 0), after(10));
        assert_eq!(waiting.deadline(after(4), 0), after(10), "it continues waiting");
        waiting.arrived(after(4));
        // The server is busy for a minute with what came: 6 s are left, and one more for the bytes.
        assert_eq!(waiting.deadline(after(64), BYTES_PER_SECOND), after(71));
        waiting.arrived(after(71));
        assert_eq!(waiting.deadline(after(80), BYTES_PER_SECOND), after(80));
    }
}
