//! What every method hands to the report.

use laggard_localize::{Gate, SuspectOperation};
use laggard_model::{OperationId, TraceId};
use laggard_report::{Baseline, Between, CulpritReplica, Incident, Onset, Shift};
use std::collections::BTreeMap;

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
    /// What only some methods know of a suspect.
    pub(crate) details: BTreeMap<OperationId, Detail>,
    /// What the window was compared with.
    pub(crate) baseline: Option<Baseline>,
    /// Slow periods inside the window.
    pub(crate) incidents: Vec<Incident>,
    /// Whether requests outside the judged categories were enough for an answer as well.
    pub(crate) enough: bool,
}

/// What only some methods know of a suspect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Detail {
    /// Requests it made slow and requests that called it, over all categories, judged or not.
    pub(crate) requests: Option<RequestCounts>,
    /// The slowest example traces.
    pub(crate) traces: Vec<TraceId>,
    /// Where the time is spent, if between two operations.
    pub(crate) between: Option<Between>,
    /// What speaks against it.
    pub(crate) evidence: Vec<&'static str>,
    /// Its culprits against their peers.
    pub(crate) culprits: Vec<CulpritReplica>,
    /// How it compares with the baseline.
    pub(crate) shift: Option<Shift>,
    /// Since when.
    pub(crate) onset: Option<Onset>,
    /// What it is ranked by.
    pub(crate) score: f64,
}

/// Requests of a suspect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestCounts {
    pub(crate) hit: u64,
    /// What they stand for.
    pub(crate) hit_estimated: f64,
    pub(crate) seen: u64,
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
