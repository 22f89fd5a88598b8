//! Reads the requests of a window from the store.

use super::cache::RequestCache;
use super::client_id::ClientId;
use super::problem::{ApiError, ProblemKind};
use crate::api::state::AppState;
use laggard_engine::{RequestSlice, Requests};
use laggard_parallel::{Canceled, Cancellation};
use laggard_params::Window;
use laggard_store::Store;
pub(crate) use laggard_system::available_threads as threads;
use std::sync::Arc;
use std::time::Duration;

// Limit: spans that one question to the server reads | rejected: choose a shorter window
/// Most spans that one question reads: 28 bytes each.
const SPANS_MAX: u64 = 100_000_000;

/// Most spans of the stored data around a window that serve as its baseline.
pub(crate) const REST_SPANS_MAX: u64 = 20_000_000;

/// How long a query waits for others to end.
const QUEUE_MAX: Duration = Duration::from_secs(20);

/// Answers a query about the requests of a window on a blocking thread. The number of concurrent queries is limited;
/// others wait for at most [`QUEUE_MAX`]. When the client goes away, the work ends.
pub(crate) async fn query<T, F>(
    state: &AppState,
    store: &Store,
    window: Window,
    answer: F,
) -> Result<T, ApiError>
where
    T: Send + 'static,
    F: FnOnce(&Requests) -> Result<T, ApiError> + Send + 'static,
{
    let busy = |_| ApiError::new(ProblemKind::Busy, "too many queries are waiting");
    let turn = state.api.queries.acquire(ClientId::current());
    let permit = tokio::time::timeout(QUEUE_MAX, turn).await.map_err(busy)?;
    let slices = slices(store, window).await?;
    let cache = state.api.cache.clone();
    cancelable(move || {
        let answered = answer(&merge_slices(&cache, slices));
        drop(permit);
        answered
    })
    .await?
}

/// The requests of slices, with common names.
pub(crate) fn merge_slices(cache: &RequestCache, slices: Vec<Arc<RequestSlice>>) -> Arc<Requests> {
    if let Some(known) = cache.get(&slices) {
        return known;
    }
    let requests = Arc::new(Requests::from_slices(slices.clone(), threads()));
    cache.put(slices, &requests);
    requests
}

/// The slices of a window.
pub(crate) async fn slices(store: &Store, window: Window) -> Result<Vec<Arc<RequestSlice>>, ApiError> {
    let view = store.view();
    // Checked before anything is read, since reading needs the memory that is limited.
    let spans = view.spans_within(window.since, window.until);
    if spans > SPANS_MAX {
        return Err(ApiError::new(
            ProblemKind::TooMuchData,
            format_args!(
                "the window is stored in slices of {spans} spans, and at most {SPANS_MAX} are read; choose a shorter one"
            ),
        ));
    }
    Ok(view.requests(window.since, window.until).await?)
}

/// Runs blocking work on another thread until its client goes away.
pub(crate) async fn cancelable<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let cancellation = Cancellation::default();
    let _canceled_when_dropped = CancelOnDrop(cancellation.clone());
    blocking(move || cancellation.run(work)).await?.map_err(|Canceled| ApiError::canceled())
}

/// Cancels work that nobody waits for: when it has ended, that changes nothing.
struct CancelOnDrop(Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs blocking work on another thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ApiError::new(ProblemKind::Internal, "the answer could not be computed; see the log"))
}
