//! The data of a shop, cut at will along a time line.

use super::minutes::{NS_PER_S, QUARTER_S, SLICE_S};
use crate::calls::{CaseCalls, NameTable, RequestCalls, requests};
use crate::case::{Case, Question, Truth};
use crate::measure::{Cost, measured};
use crate::select::{each_trace, select};
use laggard_engine::Traces;
use laggard_model::SpanRow;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A slice with fewer traces is the ragged end of the data.
const SLICE_TRACES_MIN: usize = 20;

/// A complete data set, for slicing.
pub struct Shop {
    pub(super) traces: Arc<Traces>,
    pub(super) names: Arc<NameTable>,
    pub(super) requests: Vec<Arc<RequestCalls>>,
    cost: Cost,
    threads: NonZeroUsize,
    /// Start of the earliest trace, nanoseconds.
    first_ns: i64,
    /// Traces by the start of their slice, seconds.
    pub(super) slices: BTreeMap<i64, usize>,
}

impl Shop {
    /// Assembles the requests of a data set.
    pub fn new(traces: Traces, threads: NonZeroUsize) -> Shop {
        let mut names = NameTable::default();
        let (requests, cost) = measured(|| requests(&traces, &mut names));
        let first_ns = each_trace(&traces).map(start_ns).min().unwrap_or(0);
        let mut slices: BTreeMap<i64, usize> = BTreeMap::new();
        for rows in each_trace(&traces) {
            *slices.entry(slice_of(start_ns(rows), first_ns)).or_default() += 1;
        }
        slices.retain(|_, traces| *traces >= SLICE_TRACES_MIN);
        Shop { traces: Arc::new(traces), names: Arc::new(names), requests, cost, threads, first_ns, slices }
    }

    pub(super) fn slice_of(&self, ns: i64) -> i64 {
        slice_of(ns, self.first_ns)
    }

    /// Start of the quarter of an hour of a slice, in seconds, counted like slices.
    pub(super) fn quarter_of(&self, slice_s: i64) -> i64 {
        let first_s = self.first_ns.div_euclid(NS_PER_S);
        first_s + (slice_s - first_s).div_euclid(QUARTER_S) * QUARTER_S
    }

    fn traces_at(&self, wants: impl Fn(i64) -> bool) -> Arc<Traces> {
        Arc::new(select(&self.traces, self.threads, |rows| wants(start_ns(rows))))
    }

    fn requests_at(&self, wants: impl Fn(i64) -> bool) -> Vec<Arc<RequestCalls>> {
        self.requests.iter().filter(|request| wants(request.start_ns)).cloned().collect()
    }

    /// A case of some times against others; a request counts by its start, in nanoseconds.
    pub fn case(
        &self,
        name: String,
        truth: Truth,
        now: impl Fn(i64) -> bool,
        usual: impl Fn(i64) -> bool,
    ) -> Case {
        let (target, baseline) = (self.requests_at(&now), self.requests_at(&usual));
        // Assembled once for all cases; each pays for what it uses.
        let part = (target.len() + baseline.len()) as f64 / self.requests.len().max(1) as f64;
        let cost = Cost { wall_s: self.cost.wall_s * part, processor_s: self.cost.processor_s * part };
        let calls = CaseCalls { names: Arc::clone(&self.names), target, baseline: Some(baseline), cost };
        Case {
            name,
            target: self.traces_at(now),
            baseline: Some(self.traces_at(usual)),
            calls,
            truth,
            question: Question::Explain,
        }
    }
}

fn start_ns(rows: &[SpanRow]) -> i64 {
    rows[0].start.unix_ns()
}

/// Start of the slice, in seconds. Slices are counted from the earliest trace.
fn slice_of(ns: i64, first_ns: i64) -> i64 {
    let first_s = first_ns.div_euclid(NS_PER_S);
    first_s + (ns - first_s * NS_PER_S).div_euclid(SLICE_S * NS_PER_S) * SLICE_S
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_counted_from_the_second_of_the_earliest_trace() {
        let first = 100 * NS_PER_S + 700;
        assert_eq!(slice_of(first, first), 100);
        assert_eq!(slice_of(160 * NS_PER_S - 1, first), 100);
        assert_eq!(slice_of(160 * NS_PER_S, first), 160);
    }
}
