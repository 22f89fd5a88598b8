//! Reads the requests of an evaluation from the store, within a limit of memory.

use crate::operations::{ProcessMemory, QUESTION_BYTES, ReservedMemory};
use laggard_engine::{Levels, RequestSlice, Requests, StartRange, Take};
use laggard_params::Window;
use laggard_store::{StoreError, View};
use std::num::NonZeroUsize;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Memory per call during an evaluation: 28 bytes in its slice, and its share of derived data.
pub(super) const CALL_BYTES: u64 = 32;

/// Beyond this multiple of the limit, reading everything for a sample would use too much processor time.
const READ_FACTOR_MAX: u64 = 16;

/// Why windows were not read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// Number of spans in the windows.
    TooMuch(u64),
    /// So many bytes that are needed beside the requests are not free.
    NoMemory(u64),
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
    pub(super) threads: NonZeroUsize,
}

/// Requests, or a fair sample of them.
pub(super) struct RequestSample {
    pub(super) requests: Arc<Requests>,
    /// One in this number of requests was read: a power of 2.
    pub(super) sampled_one_in: u64,
    /// For what is derived from them, as long as they are used.
    _reserved: ReservedMemory,
}

impl StoreReader {
    /// Requests that start in some windows, and perhaps others near them. Where they would not fit, a fair sample of them
    /// is, by their hashes.
    ///
    /// # Errors
    /// When the windows have far more than fits, there is no memory for what is derived from them, or the store cannot be read.
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
        // Tens of thousands of names need more than their requests.
        let bytes = QUESTION_BYTES.of(&slices);
        let reserved = self.memory.reserve_in_background(bytes).ok_or(ReadError::NoMemory(bytes))?;
        let requests = Arc::new(Requests::from_slices(slices, self.threads));
        Ok(RequestSample { requests, sampled_one_in, _reserved: reserved })
    }

    /// Spans of the segments that meet a window.
    pub(super) fn spans(&self, window: Window) -> u64 {
        self.view.spans_within(window.since, window.until)
    }

    fn all(&self, windows: &[Window]) -> Result<Vec<Arc<RequestSlice>>, ReadError> {
        let times: Vec<StartRange> = windows.iter().map(|window| window.since..=window.until).collect();
        self.handle.block_on(self.view.requests_within(&times)).map_err(ReadError::Store)
    }

    /// A few segments at a time, so that all of them are never in memory.
    fn sample(&self, windows: &[Window], one_in: u64) -> Result<Vec<Arc<RequestSlice>>, ReadError> {
        let times: Vec<_> = windows.iter().map(|window| window.since..=window.until).collect();
        let take = Take { read: times.clone(), levels: Levels::uniform(one_in.ilog2()) };
        let mut units = self.view.units(times);
        let mut selected = self.handle.block_on(units.fold(take)).map_err(ReadError::Store)?;
        units.facts().for_each(|facts| selected.add_facts(facts));
        Ok(selected.into_slices().into_iter().map(Arc::new).collect())
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

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Timestamp;

    #[test]
    fn overlapping_windows_are_read_once() {
        let window = |since, until| Window {
            since: Timestamp::from_unix_ns(since),
            until: Timestamp::from_unix_ns(until),
        };
        let merged = merge_overlapping(&[window(50, 60), window(0, 10), window(5, 20), window(20, 30)]);
        assert_eq!(merged, [window(0, 30), window(50, 60)]);
    }
}
