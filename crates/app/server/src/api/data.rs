//! Reads the requests of a window from the store.

use super::cache::RequestCache;
use super::client_id::{ClientId, SharedPermit};
use super::problem::{ApiError, ProblemKind};
use super::running::{JobSize, Stop, blocking};
use crate::api::state::AppState;
use crate::operations::{ProcessMemory, QUERY_BYTES};
use crate::tenants::TenantStore;
use laggard_engine::{RequestSlice, Requests, StartRange};
use laggard_parallel::CancelReason;
use laggard_params::Window;
use laggard_store::View;
pub(crate) use laggard_system::available_threads as threads;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

// Limit: spans that another question than `diagnose` and `compare` reads from the store | rejected: choose a shorter window
/// Most spans that one question reads at once: 28 bytes each.
const SPANS_MAX: u64 = 100_000_000;

/// Most spans of the stored data around a window that serve as its baseline.
pub(crate) const REST_SPANS_MAX: u64 = 20_000_000;

/// How long a query waits for others to end.
const QUEUE_MAX: Duration = Duration::from_secs(20);

/// Answers a query about the requests of a window, or a sample of them, on a blocking thread. The number of concurrent queries is
/// limited; others wait for at most [`QUEUE_MAX`]. When the client goes away, the work ends.
pub(crate) async fn query<T, F>(
    state: &AppState,
    store: &TenantStore,
    window: Window,
    answer: F,
) -> Result<T, ApiError>
where
    T: Send + 'static,
    F: FnOnce(&Requests) -> Result<T, ApiError> + Send + 'static,
{
    query_beside(state, store, (window, 0), answer).await
}

/// The same for an answer that needs so many bytes beside those of every query, and no more than [`CALL_BESIDE_BYTES`] for each call.
pub(crate) async fn query_beside<T, F>(
    state: &AppState,
    store: &TenantStore,
    (window, beside): (Window, u64),
    answer: F,
) -> Result<T, ApiError>
where
    T: Send + 'static,
    F: FnOnce(&Requests) -> Result<T, ApiError> + Send + 'static,
{
    let permit = query_turn(state).await?;
    let stop = Stop::default();
    let _listed = state.api.running.begin(JobSize::Short, &stop);
    let until = ProcessMemory::query_deadline();
    let slices = stop.wait_for(state.api.page_reads.read(store.view(), window, until)).await?;
    let beside = beside.min(CALL_BESIDE_BYTES * calls_of(&slices));
    let memory = state.memory.reserve_for_query(QUERY_BYTES.of(&slices) + beside, until);
    let reserved = stop.wait_for(async { Ok(memory.await?) }).await?;
    let cache = state.api.cache.clone();
    cancelable(stop.clone(), move || {
        let answered = answer(&merge_slices(&cache, slices, threads()));
        drop((permit, reserved));
        answered
    })
    .await
}

/// Waits until a query of the client may run, for at most [`QUEUE_MAX`].
///
/// # Errors
/// When it may not.
pub(crate) async fn query_turn(state: &AppState) -> Result<SharedPermit, ApiError> {
    let busy = |_| ApiError::new(ProblemKind::Busy, "too many queries are waiting");
    let turn = state.api.queries.acquire(ClientId::current());
    tokio::time::timeout(QUEUE_MAX, turn).await.map_err(busy)
}

/// What an answer may retain of each call.
const CALL_BESIDE_BYTES: u64 = 16;

fn calls_of(slices: &[Arc<RequestSlice>]) -> u64 {
    slices.iter().map(|slice| slice.calls.replica.len() as u64).sum()
}

/// The requests of slices, with common names.
pub(crate) fn merge_slices(
    cache: &RequestCache,
    slices: Vec<Arc<RequestSlice>>,
    threads: NonZeroUsize,
) -> Arc<Requests> {
    if let Some(known) = cache.get(&slices) {
        return known;
    }
    let _turn = cache.merge_turn(&slices);
    if let Some(known) = cache.get(&slices) {
        return known;
    }
    let requests = Arc::new(Requests::from_slices(slices.clone(), threads));
    cache.put(slices, &requests);
    requests
}

/// The slices of some windows, if each window fits in memory.
pub(crate) async fn slices(
    view: View,
    windows: &[Window],
    calls_max: u64,
) -> Result<Vec<Arc<RequestSlice>>, ApiError> {
    // Checked before anything is read, since reading needs the memory that is limited.
    let spans = windows.iter().map(|window| view.spans_within(window.since, window.until)).max();
    let spans = spans.unwrap_or(0);
    let (spans_max, by) =
        if calls_max < SPANS_MAX { (calls_max, " within the limit of `memory`") } else { (SPANS_MAX, "") };
    if spans > spans_max {
        return Err(ApiError::new(
            ProblemKind::TooMuchData,
            format_args!(
                "the window is stored in slices of {spans} spans, and at most {spans_max} are read{by}; choose a shorter one"
            ),
        ));
    }
    let times: Vec<StartRange> = windows.iter().map(|window| window.since..=window.until).collect();
    Ok(view.requests_within(&times).await?)
}

/// Runs blocking work on another thread until it is stopped, or its client goes away.
pub(crate) async fn cancelable<T: Send + 'static>(
    stop: Stop,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let _canceled_when_dropped = CancelOnDrop(stop.clone());
    blocking(move || stop.run(work)).await?
}

/// Cancels work that nobody waits for: when it has ended, that changes nothing.
struct CancelOnDrop(Stop);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel(CancelReason::Unwanted);
    }
}
