//! What every method hands to the report.

use laggard_localize::{Gate, SuspectOperation};

/// The answer of a method over the categories it was given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    /// Suspect operations, the most suspicious first.
    pub(crate) suspects: Vec<SuspectOperation>,
    /// One a category, in the order given to the method.
    pub(crate) categories: Vec<JudgedCategory>,
    /// Sum over judged categories of every request's latency beyond the category's median, nanoseconds.
    pub(crate) excess_ns: f64,
    /// What the method looked at and found fine; whole sentences.
    pub(crate) ruled_out: Vec<String>,
    /// What limits trust in this answer in particular; whole sentences.
    pub(crate) cautions: Vec<String>,
}

/// What was found in one category.
#[derive(Clone, Debug, Default)]
pub(crate) struct JudgedCategory {
    /// Its latencies in numbers, and whether it was judged and is anomalous.
    pub(crate) gate: Gate,
    /// One a position of the call tree, when the method looked at them.
    pub(crate) positions: Option<Vec<JudgedPosition>>,
}

/// What was found at one position.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JudgedPosition {
    /// Requests that are slow there.
    pub(crate) slow_requests: u64,
    /// Cosine between the times and their low-rank part, where the method has one.
    pub(crate) cosine: Option<f64>,
    /// Share of the slow requests' excess that arises there, 0..1.
    pub(crate) share: f64,
}
