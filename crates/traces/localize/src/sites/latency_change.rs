//! Whether requests got slower or the mix of requests changed.

use crate::sites::table::SiteTable;
use laggard_model::Fingerprint;
use std::collections::BTreeMap;

/// How much longer the window's requests took than the baseline's of the same shape, nanoseconds, weighted; and
/// how much the mean would have moved because the shares of shapes changed.
pub fn latency_change(baseline: &SiteTable, window: &SiteTable) -> LatencyChange {
    let mean = |table: &SiteTable| {
        let weight: f64 = table.requests.iter().map(|request| f64::from(request.weight)).sum();
        table.latency_total_ns() / weight.max(1e-9)
    };
    let mut sums: BTreeMap<Fingerprint, (f64, f64)> = BTreeMap::new();
    for request in &baseline.requests {
        let sum = sums.entry(baseline.categories[request.category as usize]).or_default();
        sum.0 += f64::from(request.weight) * request.latency_ns;
        sum.1 += f64::from(request.weight);
    }
    let overall = mean(baseline);
    let mut out =
        LatencyChange { baseline_mean_ns: overall, window_mean_ns: mean(window), ..Default::default() };
    let mut total = 0.0;
    for request in &window.requests {
        let weight = f64::from(request.weight);
        total += weight;
        let expected = match sums.get(&window.categories[request.category as usize]) {
            Some((time, count)) => time / count,
            None => overall,
        };
        out.slower_ns += weight * (request.latency_ns - expected);
        out.mix_ns += weight * (expected - overall);
    }
    out.slower_mean_ns = out.slower_ns / total.max(1e-9);
    out.mix_mean_ns = out.mix_ns / total.max(1e-9);
    out
}

/// A change of mean latency, split into slower requests and a different mix.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LatencyChange {
    /// Mean latency of the baseline, nanoseconds.
    pub baseline_mean_ns: f64,
    /// Mean latency of the window, nanoseconds.
    pub window_mean_ns: f64,
    /// Sum over the window's requests of latency minus the mean of baseline requests of the same shape (of all, for
    /// shapes that the baseline lacks), nanoseconds.
    pub slower_ns: f64,
    /// Sum attributed to the mix of shapes, nanoseconds.
    pub mix_ns: f64,
    /// `slower_ns` per request.
    pub slower_mean_ns: f64,
    /// `mix_ns` per request; with `slower_mean_ns` it is the total change.
    pub mix_mean_ns: f64,
}
