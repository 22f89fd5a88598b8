//! Requests of one look, out of the store, within a limit of memory.

use laggard_engine::{RequestSlice, Requests};
use laggard_model::{Nanos, Timestamp, TraceId};
use laggard_params::Window;
use laggard_store::{StoreError, View};
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use tokio::runtime::Handle;

/// What one call takes while a window is judged: 28 bytes in its slice, and its share of what is made of it.
pub(super) const CALL_BYTES: u64 = 32;

/// Beyond so many times what fits, reading it all to keep a sample would take the processors away from others.
const READ_FACTOR_MAX: u64 = 4;

/// Why a stretch of time was not read.
#[derive(Debug)]
pub(super) enum ReadProblem {
    /// It holds so many spans.
    TooMuch(u64),
    /// The store did not answer.
    Store(StoreError),
}

/// A store at one moment, read by a thread that may wait.
pub(super) struct Reading {
    pub(super) view: View,
    pub(super) handle: Handle,
    /// Memory for all of it.
    pub(super) memory_bytes: u64,
    /// Stretches that are read at a time when not everything is kept.
    pub(super) stretch: Nanos,
    pub(super) threads: NonZeroUsize,
}

/// Requests, or a fair sample of them.
pub(super) struct Read {
    pub(super) requests: Arc<Requests>,
    /// Of so many traces one was kept.
    pub(super) kept_one_in: u64,
}

impl Reading {
    /// Requests that start in some windows, and perhaps others. Where they would not fit, whole traces are left out by
    /// a hash of their ids, so that what is kept is a fair sample.
    ///
    /// # Errors
    /// When there is far more than fits, or the store does not answer.
    pub(super) fn requests(&self, windows: &[Window]) -> Result<Read, ReadProblem> {
        let windows = &apart(windows);
        let spans: u64 = windows.iter().map(|window| self.spans(*window)).sum();
        let fits = (self.memory_bytes / CALL_BYTES).max(1);
        if spans > fits.saturating_mul(READ_FACTOR_MAX) {
            return Err(ReadProblem::TooMuch(spans));
        }
        let kept_one_in = spans.div_ceil(fits).max(1).next_power_of_two();
        let slices = if kept_one_in == 1 { self.all(windows)? } else { self.sample(windows, kept_one_in)? };
        let requests = Arc::new(Requests::from_slices(slices, self.threads));
        Ok(Read { requests, kept_one_in })
    }

    /// Spans of the segments that meet a window.
    pub(super) fn spans(&self, window: Window) -> u64 {
        self.view.spans_near(window.since, window.until)
    }

    fn all(&self, windows: &[Window]) -> Result<Vec<Arc<RequestSlice>>, ReadProblem> {
        let mut all: Vec<Arc<RequestSlice>> = Vec::new();
        for window in windows {
            for slice in self.slices(*window)? {
                if !all.iter().any(|known| Arc::ptr_eq(known, &slice)) {
                    all.push(slice);
                }
            }
        }
        Ok(all)
    }

    fn slices(&self, window: Window) -> Result<Vec<Arc<RequestSlice>>, ReadProblem> {
        let read = self.view.requests(window.since, window.until);
        self.handle.block_on(read).map_err(ReadProblem::Store)
    }

    /// Stretch by stretch, so that no more than one of them is there as a whole.
    fn sample(&self, windows: &[Window], one_in: u64) -> Result<Vec<Arc<RequestSlice>>, ReadProblem> {
        let mut kept = Vec::new();
        let mut seen = HashSet::new();
        for stretch in windows.iter().flat_map(|window| stretches(*window, self.stretch)) {
            for slice in self.slices(stretch)? {
                let inside = slice.requests.iter().filter(|request| {
                    (stretch.since..=stretch.until).contains(&request.start) && is_kept(request.trace, one_in)
                });
                // A trace that reaches over two stretches, or is in two windows, is taken once.
                let wanted: HashSet<TraceId> =
                    inside.map(|request| request.trace).filter(|trace| seen.insert(*trace)).collect();
                if !wanted.is_empty() {
                    kept.push(Arc::new(slice.retain_traces(|trace| wanted.contains(&trace))));
                }
            }
        }
        Ok(kept)
    }
}

/// Windows that overlap become one.
fn apart(windows: &[Window]) -> Vec<Window> {
    let mut sorted = windows.to_vec();
    sorted.sort_by_key(|window| window.since);
    let mut apart: Vec<Window> = Vec::new();
    for window in sorted {
        match apart.last_mut() {
            Some(last) if window.since <= last.until => *last = last.join(window),
            _ => apart.push(window),
        }
    }
    apart
}

/// The same traces at every look and in every window.
fn is_kept(trace: TraceId, one_in: u64) -> bool {
    let hash = laggard_model::Fingerprint::of(&trace.value().to_le_bytes()).value() as u64;
    hash.is_multiple_of(one_in)
}

fn stretches(window: Window, length: Nanos) -> impl Iterator<Item = Window> {
    let last = move |since: Timestamp| since.plus(length).minus(Nanos::from_ns(1)).min(window.until);
    let next = move |stretch: &Window| {
        (stretch.until < window.until).then(|| {
            let since = stretch.until.plus(Nanos::from_ns(1));
            Window { since, until: last(since) }
        })
    };
    std::iter::successors(Some(Window { since: window.since, until: last(window.since) }), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_tile_a_window() {
        let time = Timestamp::from_unix_ns;
        let window = Window { since: time(5), until: time(27) };
        let found: Vec<(i64, i64)> = stretches(window, Nanos::from_ns(10))
            .map(|stretch| (stretch.since.unix_ns(), stretch.until.unix_ns()))
            .collect();
        assert_eq!(found, [(5, 14), (15, 24), (25, 27)]);
        let instant = Window { since: time(5), until: time(5) };
        assert_eq!(stretches(instant, Nanos::from_ns(10)).count(), 1);
    }

    #[test]
    fn windows_that_overlap_are_read_once() {
        let window = |since, until| Window {
            since: Timestamp::from_unix_ns(since),
            until: Timestamp::from_unix_ns(until),
        };
        let found = apart(&[window(50, 60), window(0, 10), window(5, 20), window(20, 30)]);
        assert_eq!(found, [window(0, 30), window(50, 60)]);
    }

    #[test]
    fn one_trace_in_so_many_is_kept() {
        let kept = (1..=40_000_u128).filter(|&id| is_kept(TraceId::from_value(id), 4)).count();
        assert!((9_700..10_300).contains(&kept), "{kept}");
        assert!((1..100_u128).all(|id| is_kept(TraceId::from_value(id), 1)));
    }
}
