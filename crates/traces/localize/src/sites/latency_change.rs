//! Whether requests got slower or the mix of requests changed.

use crate::sites::change::latency_shift;
use crate::sites::table::{SiteRequest, SiteTable};
use laggard_model::{Fingerprint, OperationId};
use laggard_numeric::{mean, sample_std, student_upper_tail};
use std::collections::BTreeMap;

/// Mean latencies of the baseline's requests.
pub struct UsualLatency<'a> {
    entries: &'a BTreeMap<Fingerprint, OperationId>,
    /// Weighted time and number of requests.
    by_shape: BTreeMap<Fingerprint, (f64, f64)>,
    by_entry: BTreeMap<OperationId, (f64, f64)>,
    overall_ns: f64,
}

impl UsualLatency<'_> {
    /// Of the requests of a baseline. `entries` has the entry operation of shapes.
    pub fn new<'a>(
        baseline: &SiteTable,
        entries: &'a BTreeMap<Fingerprint, OperationId>,
    ) -> UsualLatency<'a> {
        let mut by_shape: BTreeMap<Fingerprint, (f64, f64)> = BTreeMap::new();
        for request in &baseline.requests {
            let sum = by_shape.entry(baseline.categories[request.category as usize]).or_default();
            sum.0 += f64::from(request.weight) * request.latency_ns;
            sum.1 += f64::from(request.weight);
        }
        let mut by_entry: BTreeMap<OperationId, (f64, f64)> = BTreeMap::new();
        for (entry, (time, count)) in by_shape.iter().filter_map(|(id, sum)| Some((entries.get(id)?, sum))) {
            let sum = by_entry.entry(*entry).or_default();
            *sum = (sum.0 + time, sum.1 + count);
        }
        UsualLatency { entries, by_shape, by_entry, overall_ns: mean_latency_ns(baseline) }
    }

    /// The mean latency of requests of a shape, nanoseconds. Those whose shape the baseline lacks, such as requests that fail
    /// early, are as usual as those of the same entry, or as all.
    pub fn of(&self, shape: &Fingerprint) -> f64 {
        let sum = self.by_shape.get(shape).or_else(|| self.by_entry.get(self.entries.get(shape)?));
        sum.map_or(self.overall_ns, |(time, count)| time / count)
    }
}

fn mean_latency_ns(table: &SiteTable) -> f64 {
    let weight: f64 = table.requests.iter().map(|request| f64::from(request.weight)).sum();
    table.latency_total_ns() / weight.max(1e-9)
}

/// How much longer the window's requests took than the baseline's of the same shape, nanoseconds, weighted; and
/// how much the mean would have moved because the shares of shapes changed. `usual` is that of the baseline.
pub fn latency_change(baseline: &SiteTable, window: &SiteTable, usual: &UsualLatency<'_>) -> LatencyChange {
    let mut out = LatencyChange {
        baseline_mean_ns: usual.overall_ns,
        window_mean_ns: mean_latency_ns(window),
        ..Default::default()
    };
    let by_category: Vec<f64> = window.categories.iter().map(|shape| usual.of(shape)).collect();
    let mut total = 0.0;
    for request in &window.requests {
        let weight = f64::from(request.weight);
        total += weight;
        let expected = by_category[request.category as usize];
        out.slower_ns += weight * (request.latency_ns - expected);
        out.mix_ns += weight * (expected - usual.overall_ns);
    }
    out.slower_mean_ns = out.slower_ns / total.max(1e-9);
    out.mix_mean_ns = out.mix_ns / total.max(1e-9);
    let by_category: Vec<f64> = baseline.categories.iter().map(|shape| usual.of(shape)).collect();
    out.is_unusual =
        is_unusual(out.slower_mean_ns, &batch_means(baseline, window.requests.len(), &by_category));
    let expected_ns = out.window_mean_ns - out.slower_mean_ns;
    let is_material = out.slower_mean_ns >= MATERIAL_PART_MIN * expected_ns;
    out.is_certain = is_material
        && latency_shift(baseline, window).is_some_and(|shift| shift.p_value(0.0) <= CERTAIN_LEVEL);
    out
}

/// How much longer requests take than expected in every batch of a number of requests, nanoseconds.
fn batch_means(table: &SiteTable, batch: usize, expected: &[f64]) -> Vec<f64> {
    let batches = table.requests.chunks_exact(batch.max(1));
    let batch_mean = |requests: &[SiteRequest]| {
        let weight: f64 = requests.iter().map(|request| f64::from(request.weight)).sum();
        let excess = |request: &SiteRequest| {
            f64::from(request.weight) * (request.latency_ns - expected[request.category as usize])
        };
        requests.iter().map(excess).sum::<f64>() / weight.max(1e-9)
    };
    batches.map(batch_mean).collect()
}

/// Requests are certainly slower if they take longer by at least this part of what was expected …
const MATERIAL_PART_MIN: f64 = 0.05;
/// … and their level differs at this one-sided level.
const CERTAIN_LEVEL: f64 = 0.005;
/// Fewest batches that show how much a mean varies.
const BATCHES_MIN: usize = 3;
/// One-sided level of the test of the mean.
const UNUSUAL_LEVEL: f64 = 0.01;

fn is_unusual(slower_mean_ns: f64, batches: &[f64]) -> bool {
    if batches.len() < BATCHES_MIN {
        return true;
    }
    let count = batches.len() as f64;
    let error = sample_std(batches) * (1.0 + 1.0 / count).sqrt();
    student_upper_tail((slower_mean_ns - mean(batches)) / error.max(1.0), count - 1.0) <= UNUSUAL_LEVEL
}

/// A change of mean latency, split into slower requests and a different mix.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LatencyChange {
    /// Mean latency of the baseline, nanoseconds.
    pub baseline_mean_ns: f64,
    /// Mean latency of the window, nanoseconds.
    pub window_mean_ns: f64,
    /// Sum over the window's requests of latency minus the mean of baseline requests of the same shape (of the same entry,
    /// or else of all, for shapes that the baseline lacks), nanoseconds.
    pub slower_ns: f64,
    /// Sum attributed to the mix of shapes, nanoseconds.
    pub mix_ns: f64,
    /// `slower_ns` per request.
    pub slower_mean_ns: f64,
    /// Whether the requests are slower than those of the same shape are from one part of the baseline to the next; also
    /// without enough parts to say so.
    pub is_unusual: bool,
    /// Whether the requests are slower by a material amount, and by more than levels drift.
    pub is_certain: bool,
    /// `mix_ns` per request; with `slower_mean_ns` it is the total change.
    pub mix_mean_ns: f64,
}
