//! Keeps the process within its memory, and ends what runs for too long.

use super::state::AppState;
use std::time::{Duration, Instant};

/// How often the memory is measured. What is needed within this time may exceed the limit.
const EVERY: Duration = Duration::from_millis(50);
/// Canceled work ends, and returns its memory, before the next is canceled.
const SETTLED: Duration = Duration::from_secs(1);
/// Caches are dropped at most once in this time; while memory is tight, what has not been used for this long is.
const CACHES_DROPPED: Duration = Duration::from_secs(5);
/// What has not been used for this long is dropped from caches, so that an idle server needs little memory.
const IDLE: Duration = Duration::from_secs(45);
/// How often that is looked for.
const EXPIRED: Duration = Duration::from_secs(5);

/// Runs until the server stops.
pub(crate) async fn supervise(state: AppState, run_time: Duration, return_freed_memory: fn(soon: bool)) {
    let (mut ended, mut dropped, mut expired) = (None, None, None);
    let mut was_tight = false;
    return_freed_memory(was_tight);
    let may_again = |last: Option<Instant>, after: Duration| last.is_none_or(|last| last.elapsed() > after);
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = state.stopping.cancelled() => return,
        }
        state.api.running.end_overdue(run_time);
        state.memory.measure();
        state.tenants.store_memory().set_compaction_bytes(state.memory.free_in_background());
        if may_again(expired, EXPIRED) {
            expire_caches(&state, IDLE);
            expired = Some(Instant::now());
        }
        let is_tight = state.memory.is_tight();
        if is_tight != was_tight {
            return_freed_memory(is_tight);
            was_tight = is_tight;
        }
        if is_tight {
            expire_caches(&state, CACHES_DROPPED);
        }
        if (state.memory.is_short() || state.memory.is_wanted()) && may_again(dropped, CACHES_DROPPED) {
            drop_caches(&state);
            dropped = Some(Instant::now());
        }
        let is_exhausted = state.memory.is_exhausted();
        if state.memory.is_short() && may_again(ended, SETTLED) && state.api.running.end_newest(is_exhausted)
        {
            ended = Some(Instant::now());
            let limit = state.memory.limit();
            tracing::warn!(limit, "a question was ended: the process is close to its limit of memory");
        }
    }
}

fn expire_caches(state: &AppState, idle: Duration) {
    state.api.cache.expire(idle);
    state.tenants.all().iter().for_each(|tenant| tenant.store.expire_memory(idle));
}

fn drop_caches(state: &AppState) {
    state.api.cache.clear();
    state.tenants.all().iter().for_each(|tenant| tenant.store.release_memory());
}
