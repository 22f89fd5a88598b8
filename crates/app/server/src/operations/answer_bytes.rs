//! How much memory an answer about stored requests needs, before it is computed.

use laggard_engine::{CallCount, RequestSlice, SLICED_CALL_BYTES};
use std::sync::Arc;

/// Bytes that an answer about slices needs beside them.
pub(crate) struct AnswerBytes {
    call: u64,
    request: u64,
    name: u64,
}

/// A question: rows and tables for each call, request, and name.
pub(crate) const QUESTION_BYTES: AnswerBytes = AnswerBytes { call: 28, request: 300, name: 1600 };
/// A query of a page: the order of the requests, common names, and a few figures.
pub(crate) const QUERY_BYTES: AnswerBytes = AnswerBytes { call: 4, request: 24, name: 400 };

impl AnswerBytes {
    /// Of an answer about some slices.
    pub(crate) fn of(&self, slices: &[Arc<RequestSlice>]) -> u64 {
        let sum =
            |count: fn(&RequestSlice) -> usize| slices.iter().map(|slice| count(slice) as u64).sum::<u64>();
        let names =
            |slice: &RequestSlice| slice.names.services() + slice.names.operations() + slice.names.replicas();
        // Slices have mostly the same names.
        let most_names = slices.iter().map(|slice| names(slice) as u64).max().unwrap_or(0);
        self.call * sum(|slice| slice.calls.replica.len())
            + self.request * sum(|slice| slice.requests.len())
            + self.name * most_names
    }

    /// Of an answer about requests that are to be selected from slices, with these requests.
    pub(crate) fn of_selected(&self, selected: CallCount) -> u64 {
        (self.call + SLICED_CALL_BYTES as u64) * selected.calls + self.request * selected.requests
    }
}
