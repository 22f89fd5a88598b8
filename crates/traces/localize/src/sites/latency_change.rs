//! Whether requests got slower or the mix of requests changed.

use crate::sites::table::{SiteRequest, SiteTable};
use laggard_model::{Fingerprint, OperationId};
use laggard_numeric::{mean, sample_std, student_upper_tail};
use std::collections::BTreeMap;

/// How much longer the window's requests took than the baseline's of the same shape, nanoseconds, weighted; and
/// how much the mean would have moved because the shares of shapes changed. `entries` has the entry operation of shapes:
/// requests whose shape the baseline lacks, such as those that fail early, are compared with those of the same entry.
pub fn latency_change(
    baseline: &SiteTable,
    window: &SiteTable,
    entries: &BTreeMap<Fingerprint, OperationId>,
) -> LatencyChange {
    let mean_latency = |table: &SiteTable| {
        let weight: f64 = table.requests.iter().map(|request| f64::from(request.weight)).sum();
        table.latency_total_ns() / weight.max(1e-9)
    };
    let mut sums: BTreeMap<Fingerprint, (f64, f64)> = BTreeMap::new();
    for request in &baseline.requests {
        let sum = sums.entry(baseline.categories[request.category as usize]).or_default();
        sum.0 += f64::from(request.weight) * request.latency_ns;
        sum.1 += f64::from(request.weight);
    }
    let overall = mean_latency(baseline);
    let mut out = LatencyChange {
        baseline_mean_ns: overall,
        window_mean_ns: mean_latency(window),
        ..Default::default()
    };
    let mut by_entry: BTreeMap<OperationId, (f64, f64)> = BTreeMap::new();
    for (entry, (time, count)) in sums.iter().filter_map(|(id, sum)| Some((entries.get(id)?, sum))) {
        let sum = by_entry.entry(*entry).or_default();
        *sum = (sum.0 + time, sum.1 + count);
    }
    let expected = |id: &Fingerprint| {
        let sum = sums.get(id).or_else(|| by_entry.get(entries.get(id)?));
        sum.map_or(overall, |(time, count)| time / count)
    };
    let by_category: Vec<f64> = window.categories.iter().map(expected).collect();
    let mut total = 0.0;
    for request in &window.requests {
        let weight = f64::from(request.weight);
        total += weight;
        let expected = by_category[request.category as usize];
        out.slower_ns += weight * (request.latency_ns - expected);
        out.mix_ns += weight * (expected - overall);
    }
    out.slower_mean_ns = out.slower_ns / total.max(1e-9);
    out.mix_mean_ns = out.mix_ns / total.max(1e-9);
    let by_category: Vec<f64> = baseline.categories.iter().map(expected).collect();
    out.is_unusual =
        is_unusual(out.slower_mean_ns, &batch_means(baseline, window.requests.len(), &by_category));
    out
}

/// How much longer requests take than expected in every batch of so many requests, nanoseconds.
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
    /// `mix_ns` per request; with `slower_mean_ns` it is the total change.
    pub mix_mean_ns: f64,
}
