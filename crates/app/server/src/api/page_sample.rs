//! Which share of the requests of a window is read for a page, so that they fit in memory, and how the response says so.

use super::problem::{ApiError, ProblemKind};
use crate::operations::ProcessMemory;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use laggard_engine::RequestSlice;
use laggard_parallel::{CancelReason, Canceled};
use laggard_params::Window;
use laggard_store::View;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Header of a response about a sample: one in so many requests was read.
const SAMPLED_ONE_IN: HeaderName = HeaderName::from_static("laggard-sampled-one-in");

// Limit: share of requests that a page reads of a window that is too large for memory, one in | rejected: choose a shorter window
/// All are read for a sample, but only the sample is in memory: more would take too long.
const ONE_IN_MAX: u64 = 64;

/// Reads of more bytes take turns.
const AT_ONCE_BYTES: u64 = 8 << 20;

/// While memory is short, a page that has waited for so long has a sample of an eighth of what it would have.
const FEWER_LEVELS: u32 = 3;
const FEWER_AFTER: Duration = Duration::from_millis(600);

/// What is in memory beside a sample while all requests are read for it.
const BESIDE_SAMPLE_BYTES: u64 = 48 << 20;

tokio::task_local! {
    /// The level of the sample that this request is answered from: one in 2^level.
    static LEVEL: Cell<u32>;
}

/// Says in the response that it is about a sample, if it is.
pub(crate) async fn note_sample(request: Request, next: Next) -> Response {
    let answer = async {
        let mut response = next.run(request).await;
        if let Some(one_in) = sampled_one_in() {
            response.headers_mut().insert(SAMPLED_ONE_IN, HeaderValue::from(one_in));
        }
        response
    };
    LEVEL.scope(Cell::new(0), answer).await
}

/// The share of requests that the response to this request is about, if it is a sample: one in so many.
pub(crate) fn sampled_one_in() -> Option<u64> {
    let level = LEVEL.try_with(Cell::get).unwrap_or(0);
    (level > 0).then_some(1 << level)
}

/// Reads requests for pages. Large reads take turns.
pub(crate) struct PageReads {
    memory: Arc<ProcessMemory>,
    turn: tokio::sync::Mutex<()>,
}

impl PageReads {
    pub(crate) fn new(memory: Arc<ProcessMemory>) -> PageReads {
        PageReads { memory, turn: tokio::sync::Mutex::default() }
    }

    /// The slices of a window; where they are too large for memory, or for what is free of it until a time, a fair sample of their requests.
    pub(crate) async fn read(
        &self,
        view: View,
        window: Window,
        until: Instant,
    ) -> Result<Vec<Arc<RequestSlice>>, ApiError> {
        let bytes = view.slice_bytes_within(window.since, window.until);
        let level = level(bytes, self.memory.page_bytes())?;
        let fewer = (level + FEWER_LEVELS).min(ONE_IN_MAX.ilog2());
        let soon = until.min(Instant::now() + FEWER_AFTER);
        match self.read_sample(&view, window, (level, soon)).await? {
            Some(slices) => Ok(slices),
            None => match self.read_sample(&view, window, (fewer, until)).await? {
                Some(slices) => Ok(slices),
                None => Err(Canceled(CancelReason::Memory).into()),
            },
        }
    }

    /// One request in 2^level, if there is memory for them.
    async fn read_sample(
        &self,
        view: &View,
        Window { since, until }: Window,
        (level, deadline): (u32, Instant),
    ) -> Result<Option<Vec<Arc<RequestSlice>>>, ApiError> {
        let unread = || view.unread_bytes_within(since, until, level);
        let _turn = if unread() > AT_ONCE_BYTES { Some(self.turn.lock().await) } else { None };
        let bytes = unread();
        let beside = if level > 0 && bytes > AT_ONCE_BYTES { BESIDE_SAMPLE_BYTES } else { 0 };
        let Ok(_reserved) = self.memory.reserve_for_query(bytes + beside, deadline).await else {
            return Ok(None);
        };
        // Nothing is noted where no response has a header: in work of the server's own.
        let _ = LEVEL.try_with(|noted| noted.set(noted.get().max(level)));
        Ok(Some(view.sampled_requests(since, until, level).await?))
    }
}

/// The level at which slices of so many bytes fit.
fn level(bytes: u64, bytes_max: u64) -> Result<u32, ApiError> {
    let one_in = bytes.div_ceil(bytes_max.max(1)).max(1).next_power_of_two();
    if one_in > ONE_IN_MAX {
        return Err(ApiError::new(
            ProblemKind::TooMuchData,
            format_args!(
                "the requests of the window need about {} MiB, more than {ONE_IN_MAX} times the {} MiB that a page may have of \
                 `memory`; choose a shorter one",
                bytes >> 20,
                bytes_max >> 20,
            ),
        ));
    }
    Ok(one_in.ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_largest_share_that_fits() {
        let levels = [0, 100, 101, 200, 201, 6_400].map(|bytes| level(bytes, 100).unwrap());
        assert_eq!(levels, [0, 0, 1, 1, 2, 6]);
        assert_eq!(level(6_401, 100).unwrap_err().kind(), ProblemKind::TooMuchData);
    }
}
