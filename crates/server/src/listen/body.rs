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
    base: Duration,
    begun: Instant,
    bytes: u64,
    /// Only for bodies that were waited for at all: most are there at once.
    timer: Option<Pin<Box<Sleep>>>,
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
        let base = limits.body_timeout.duration();
        Arriving { body, base, begun: Instant::now(), bytes: 0, timer: None }
    }

    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let due = self.begun + allowance(self.base, self.bytes);
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
        self.answer.taken();
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
