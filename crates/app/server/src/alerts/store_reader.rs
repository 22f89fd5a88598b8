//! Reads the requests of an evaluation from the store, within a limit of memory.

use crate::operations::ProcessMemory;
use laggard_engine::{RequestSlice, Requests};
use laggard_model::{Nanos, Timestamp, TraceId};
use laggard_params::Window;
use laggard_store::{StoreError, View};
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Memory per call during an evaluation: 28 bytes in its slice, and its share of derived data.
pub(super) const CALL_BYTES: u64 = 32;

/// Beyond this multiple of the limit, reading everything for a sample would use too much processor time.
const READ_FACTOR_MAX: u64 = 4;

/// Why windows were not read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// Number of spans in the windows.
    TooMuch(u64),
    /// The store could not be read.
    Store(StoreError),
}

/// A view of a store, read from a blocking thread.
pub(super) struct StoreReader {
    pub(super) view: View,
    pub(super) handle: Handle,
    /// Memory for all requests, bytes.
    pub(super) memory_bytes: u64,
    /// Of which windows of samples and kernel graphs have their parts.
    pub(super) memory: Arc<ProcessMemory>,
    /// Length of the intervals that are read one by one for a sample.
    pub(super) interval: Nanos,
    pub(super) threads: NonZeroUsize,
}

/// Requests, or a fair sample of them.
pub(super) struct RequestSample {
    pub(super) requests: Arc<Requests>,
    /// One in this number of traces was read.
    pub(super) sampled_one_in: u64,
}

impl StoreReader {
    /// Requests that start in some windows, and perhaps others near them. Where they would not fit, traces are selected
    /// by a hash of their ids, which is a fair sample.
    ///
    /// # Errors
    /// When the windows have far more than fits, or the store cannot be read.
    pub(super) fn requests(&self, windows: &[Window]) -> Result<RequestSample, ReadError> {
        let windows = &merge_overlapping(windows);
        let spans: u64 = windows.iter().map(|window| self.spans(*window)).sum();
        let fits = (self.memory_bytes / CALL_BYTES).max(1);
        if spans > fits.saturating_mul(READ_FACTOR_MAX) {
            return Err(ReadError::TooMuch(spans));
        }
        let sampled_one_in = spans.div_ceil(fits).max(1).next_power_of_two();
        let slices =
            if sampled_one_in == 1 { self.all(windows)? } else { self.sample(windows, sampled_one_in)? };
        let requests = Arc::new(Requests::from_slices(slices, self.threads));
        Ok(RequestSample { requests, sampled_one_in })
    }

    /// Spans of the segments that meet a window.
    pub(super) fn spans(&self, window: Window) -> u64 {
        self.view.spans_within(window.since, window.until)
    }

    fn all(&self, windows: &[Window]) -> Result<Vec<Arc<RequestSlice>>, ReadError> {
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

    fn slices(&self, window: Window) -> Result<Vec<Arc<RequestSlice>>, ReadError> {
        let read = self.view.requests(window.since, window.until);
        self.handle.block_on(read).map_err(ReadError::Store)
    }

    /// Interval by interval, so that only one of them is in memory completely.
    fn sample(&self, windows: &[Window], one_in: u64) -> Result<Vec<Arc<RequestSlice>>, ReadError> {
        let mut selected = Vec::new();
        let mut seen = HashSet::new();
        for interval in windows.iter().flat_map(|window| intervals(*window, self.interval)) {
            for slice in self.slices(interval)? {
                let inside = slice.requests.iter().filter(|request| {
                    (interval.since..=interval.until).contains(&request.start)
                        && is_selected(request.trace, one_in)
                });
                // A trace that lies in two intervals or windows is read once.
                let traces: HashSet<TraceId> =
                    inside.map(|request| request.trace).filter(|trace| seen.insert(*trace)).collect();
                if !traces.is_empty() {
                    selected.push(Arc::new(slice.retain_traces(|trace| traces.contains(&trace))));
                }
            }
        }
        Ok(selected)
    }
}

fn merge_overlapping(windows: &[Window]) -> Vec<Window> {
    let mut sorted = windows.to_vec();
    sorted.sort_by_key(|window| window.since);
    let mut merged: Vec<Window> = Vec::new();
    for window in sorted {
        match merged.last_mut() {
            Some(last) if window.since <= last.until => *last = last.join(window),
            _ => merged.push(window),
        }
    }
    merged
}

/// Selects the same traces in every evaluation and window.
fn is_selected(trace: TraceId, one_in: u64) -> bool {
    let hash = laggard_model::Fingerprint::from_bytes(&trace.value().to_le_bytes()).value() as u64;
    hash.is_multiple_of(one_in)
}

fn intervals(window: Window, length: Nanos) -> impl Iterator<Item = Window> {
    let last = move |since: Timestamp| since.plus(length).minus(Nanos::from_ns(1)).min(window.until);
    let next = move |interval: &Window| {
        (interval.until < window.until).then(|| {
            let since = interval.until.plus(Nanos::from_ns(1));
            Window { since, until: last(since) }
        })
    };
    std::iter::successors(Some(Window { since: window.since, until: last(window.since) }), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_tile_a_window() {
        let time = Timestamp::from_unix_ns;
        let window = Window { since: time(5), until: time(27) };
        let bounds: Vec<(i64, i64)> = intervals(window, Nanos::from_ns(10))
            .map(|interval| (interval.since.unix_ns(), interval.until.unix_ns()))
            .collect();
        assert_eq!(bounds, [(5, 14), (15, 24), (25, 27)]);
        let instant = Window { since: time(5), until: time(5) };
        assert_eq!(intervals(instant, Nanos::from_ns(10)).count(), 1);
    }

    #[test]
    fn overlapping_windows_are_read_once() {
        let window = |since, until| Window {
            since: Timestamp::from_unix_ns(since),
            until: Timestamp::from_unix_ns(until),
        };
        let merged = merge_overlapping(&[window(50, 60), window(0, 10), window(5, 20), window(20, 30)]);
        assert_eq!(merged, [window(0, 30), window(50, 60)]);
    }

    #[test]
    fn one_trace_in_n_is_selected() {
        let selected = (1..=40_000_u128).filter(|&id| is_selected(TraceId::from_value(id), 4)).count();
        assert!((9_700..10_300).contains(&selected), "{selected}");
        assert!((1..100_u128).all(|id| is_selected(TraceId::from_value(id), 1)));
    }
}
