//! Merged requests of the last windows: the next query is likely to use the same one.

use laggard_engine::{RequestSlice, Requests};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most cached windows.
const WINDOWS_MAX: usize = 4;

/// Bytes of their slices together, at most; the merged requests need some more. Slices are shared with the store's own cache.
pub(crate) const BYTES_MAX: usize = 512 << 20;

/// The last windows, the latest last.
pub(crate) struct RequestCache {
    bytes_max: usize,
    windows: Mutex<Vec<CachedWindow>>,
    /// Held while a large window is merged.
    merging: Mutex<()>,
}

/// Slices of more bytes are merged by one query at a time: another one probably needs the same ones.
const MERGED_AT_ONCE_BYTES: usize = 8 << 20;

struct CachedWindow {
    slices: Vec<Arc<RequestSlice>>,
    requests: Arc<Requests>,
    bytes: usize,
    used: Instant,
}

impl CachedWindow {
    fn is_of(&self, slices: &[Arc<RequestSlice>]) -> bool {
        // What belongs to no segment is in a slice of its own, which is new each time.
        let are_notes = |a: &RequestSlice, b: &RequestSlice| {
            a.requests.is_empty() && b.requests.is_empty() && a.facts == b.facts
        };
        self.slices.len() == slices.len()
            && (self.slices.iter().zip(slices))
                .all(|(mine, theirs)| Arc::ptr_eq(mine, theirs) || are_notes(mine, theirs))
    }
}

impl RequestCache {
    /// A cache for slices of so many bytes.
    pub(crate) fn new(bytes_max: usize) -> RequestCache {
        RequestCache { bytes_max, windows: Mutex::default(), merging: Mutex::default() }
    }

    /// The turn to merge slices, if they are many.
    pub(crate) fn merge_turn(&self, slices: &[Arc<RequestSlice>]) -> Option<MutexGuard<'_, ()>> {
        let bytes: usize = slices.iter().map(|slice| slice.estimated_bytes()).sum();
        // A query that is canceled while it merges leaves nothing behind.
        let turn = || self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        (bytes > MERGED_AT_ONCE_BYTES).then(turn)
    }

    /// The requests of these slices, if they are cached.
    pub(crate) fn get(&self, slices: &[Arc<RequestSlice>]) -> Option<Arc<Requests>> {
        let mut windows = self.windows();
        let index = windows.iter().position(|window| window.is_of(slices))?;
        let mut window = windows.remove(index);
        window.used = Instant::now();
        let requests = window.requests.clone();
        windows.push(window);
        Some(requests)
    }

    /// Caches requests, unless they are too many; the oldest windows are dropped.
    pub(crate) fn put(&self, slices: Vec<Arc<RequestSlice>>, requests: &Arc<Requests>) {
        let bytes = slices.iter().map(|slice| slice.estimated_bytes()).sum();
        if slices.is_empty() || bytes > self.bytes_max {
            return;
        }
        let mut windows = self.windows();
        windows.retain(|window| !window.is_of(&slices));
        windows.push(CachedWindow { slices, requests: requests.clone(), bytes, used: Instant::now() });
        while windows.len() > WINDOWS_MAX
            || windows.iter().map(|window| window.bytes).sum::<usize>() > self.bytes_max
        {
            windows.remove(0);
        }
    }

    /// Drops all windows.
    pub(crate) fn clear(&self) {
        self.windows().clear();
    }

    /// Drops windows that have not been used for this long.
    pub(crate) fn expire(&self, idle: Duration) {
        self.windows().retain(|window| window.used.elapsed() < idle);
    }

    fn windows(&self) -> MutexGuard<'_, Vec<CachedWindow>> {
        self.windows.lock().expect("no thread panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_engine::{SliceFacts, SlicedRequest, TreeStructure};
    use laggard_model::{AttributeSetId, Status, Timestamp, TraceId};
    use std::num::NonZeroUsize;

    fn slice() -> Arc<RequestSlice> {
        let request = SlicedRequest {
            start: Timestamp::MIN,
            trace: TraceId::from_value(1),
            structure: 0,
            first_call: 0,
            status: Status::Ok,
            complete: true,
            adjusted_count: None,
            attributes: AttributeSetId::default(),
        };
        let structures = vec![TreeStructure::default()];
        Arc::new(RequestSlice { requests: vec![request], structures, ..RequestSlice::default() })
    }

    fn notes(traces: u64) -> Arc<RequestSlice> {
        let facts = SliceFacts { traces, ..SliceFacts::default() };
        Arc::new(RequestSlice { facts, ..RequestSlice::default() })
    }

    #[test]
    fn notes_are_compared_by_their_facts() {
        let cache = RequestCache::new(BYTES_MAX);
        let slice = slice();
        let merged = Arc::new(Requests::default());
        cache.put(vec![slice.clone(), notes(1)], &merged);
        assert!(cache.get(&[slice.clone(), notes(1)]).is_some());
        assert!(cache.get(&[slice.clone(), notes(2)]).is_none() && cache.get(&[slice]).is_none());
    }

    #[test]
    fn the_same_slices_are_merged_once() {
        let cache = RequestCache::new(BYTES_MAX);
        let windows: Vec<Vec<Arc<RequestSlice>>> = (0..6).map(|_| vec![slice(), slice()]).collect();
        let made: Vec<Arc<Requests>> = windows
            .iter()
            .map(|slices| {
                let requests = Arc::new(Requests::from_slices(slices.clone(), NonZeroUsize::MIN));
                cache.put(slices.clone(), &requests);
                requests
            })
            .collect();
        assert!(Arc::ptr_eq(&cache.get(&windows[5]).unwrap(), &made[5]));
        assert!(cache.get(&windows[1]).is_none(), "only the latest are cached");
        assert!(cache.get(&windows[5][..1]).is_none() && cache.get(&[slice(), slice()]).is_none());
        cache.expire(Duration::from_secs(3600));
        assert!(cache.get(&windows[5]).is_some(), "it was used just now");
        cache.expire(Duration::ZERO);
        assert!(cache.get(&windows[5]).is_none());
    }
}
