//! Latencies of requests that suspects made slow, and of the others.

use super::context::Context;
use laggard_report::LatencySplit;
use std::collections::BTreeSet;

const HISTOGRAM_BINS: usize = 40;

/// Latencies of requests in the suspects' categories, by whether a suspect hit them.
pub(crate) fn latency_split(context: &Context<'_>) -> Option<LatencySplit> {
    let hit: BTreeSet<_> =
        context.answer.suspects.iter().flat_map(|suspect| suspect.hit.iter().copied()).collect();
    let mut paying: BTreeSet<_> = hit.iter().map(|&(category, _)| category).collect();
    paying.extend(context.answer.suspects.iter().flat_map(|suspect| &suspect.categories));
    let requests = || {
        paying.iter().flat_map(|&category| {
            let rows = context.categories()[category].requests.iter().enumerate();
            rows.map(move |(row, request)| ((category, row as u32), (request.latency_ns as f64).max(1.0)))
        })
    };
    let low = requests().map(|(_, latency)| latency).reduce(f64::min)?;
    let high = requests().map(|(_, latency)| latency).fold(low * 1.01, f64::max);
    let step = (high / low).ln() / HISTOGRAM_BINS as f64;
    let mut out = LatencySplit {
        edges_ns: (0..=HISTOGRAM_BINS).map(|edge| low * (step * edge as f64).exp()).collect(),
        hit: vec![0; HISTOGRAM_BINS],
        unhit: vec![0; HISTOGRAM_BINS],
    };
    for (start, latency) in requests() {
        let bin = (((latency / low).ln() / step) as usize).min(HISTOGRAM_BINS - 1);
        let counts = if hit.contains(&start) { &mut out.hit } else { &mut out.unhit };
        counts[bin] += 1;
    }
    Some(out)
}
