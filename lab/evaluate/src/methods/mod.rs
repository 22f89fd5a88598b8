//! The methods under test: Laggard's own from its registry, two simple rankings, two published methods.

mod figures;
mod itemsets;
mod labels;
mod laggard;
mod micro_rank;
mod page_rank;
mod tail_latency;
mod trace_rca;
mod window_self_time;

pub use itemsets::{FrequentItemsets, jaccard, mine};
pub use labels::Labels;
pub(crate) use laggard::answer_from_report;
pub use micro_rank::{MicroRank, Spectrum, dstar2};
pub use page_rank::personalized_page_rank;
pub use tail_latency::TailLatency;
pub use trace_rca::TraceRca;
pub use window_self_time::WindowSelfTime;

use crate::case::Localizer;
use laggard_diagnose::METHODS;
use std::cmp::Ordering;

/// Every method, Laggard's first, its default foremost. Laggard's diagnose at most `calls_max` calls of a case.
pub fn localizers(calls_max: Option<u64>) -> Vec<Box<dyn Localizer>> {
    let ours = METHODS
        .iter()
        .map(|method| Box::new(laggard::Laggard { name: method.name, calls_max }) as Box<dyn Localizer>);
    let others: [Box<dyn Localizer>; 5] = [
        Box::new(TailLatency),
        Box::new(WindowSelfTime),
        Box::new(MicroRank { labels: Labels::Published }),
        Box::new(MicroRank { labels: Labels::SlowestTwentieth }),
        Box::new(TraceRca),
    ];
    ours.chain(others).collect()
}

/// Numbers of things by score, the largest first; equal scores by number, so that rankings are total.
pub(crate) fn ranked(scores: impl IntoIterator<Item = (u32, f64)>) -> Vec<u32> {
    let mut scores: Vec<(u32, f64)> = scores.into_iter().collect();
    scores.sort_by(|a, b| match b.1.total_cmp(&a.1) {
        Ordering::Equal => a.0.cmp(&b.0),
        unequal => unequal,
    });
    scores.into_iter().map(|(number, _)| number).collect()
}
