//! Rare, very long calls, against a baseline.

use crate::sites::table::{Observation, Site, SiteTable};
use laggard_model::{Fingerprint, OperationId};
use laggard_numeric::{binomial_upper_tail, mean, median, sample_std};
use std::collections::BTreeMap;

/// The window is cut into this many parts with equally many requests, and the baseline into parts as long.
const PARTS: usize = 16;
// Limit: parts of a baseline in which long calls are counted | longer parts
/// Most parts of a baseline.
const BASELINE_PARTS_MAX: usize = 512;
/// One-sided level of the test of one operation.
const LEVEL: f64 = 0.01;

/// Whether very long calls of an operation are more frequent in the window than in the baseline: long is beyond `factor`
/// times the window's median for such requests. A fault that affects few calls moves no mean.
///
/// At least twice the baseline's rate, by a one-sided binomial test, Bonferroni-corrected for `tests` operations. Long calls
/// come in bursts: counts are divided by their index of dispersion, the variance of the counts of parts over their mean.
pub fn long_calls_rose(
    baseline: &SiteTable,
    window: &SiteTable,
    operation: OperationId,
    factor: f64,
    tests: usize,
) -> bool {
    let concerns = |site: &Site| match *site {
        Site::Operation(operation_of_site) => operation_of_site == operation,
        Site::Link { caller, .. } => caller == operation,
        Site::Chain(_) => false,
    };
    let usual = UsualTimes::of(window, &concerns);
    let as_long = PARTS * baseline.requests.len() / window.requests.len().max(1);
    let now = usual.count_long(window, &concerns, factor, PARTS);
    let before = usual.count_long(baseline, &concerns, factor, as_long.clamp(1, BASELINE_PARTS_MAX));
    let dispersion = f64::max(now.dispersion(), before.dispersion());
    let bursts = |count: u64| (count as f64 / dispersion).round() as u64;
    let rate = (bursts(before.long()) + 1) as f64 / (bursts(before.calls) + 2) as f64;
    let p_value = binomial_upper_tail(bursts(now.calls), rate, bursts(now.long()));
    now.long() as f64 >= 2.0 * rate * now.calls as f64 && p_value * tests.max(1) as f64 <= LEVEL
}

/// Calls of an operation, and the long ones by part.
struct LongCalls {
    calls: u64,
    long: Vec<u64>,
}

impl LongCalls {
    fn long(&self) -> u64 {
        self.long.iter().sum()
    }

    /// Variance of the counts over their mean, at least 1.
    fn dispersion(&self) -> f64 {
        let counts: Vec<f64> = self.long.iter().map(|&count| count as f64).collect();
        let middle = mean(&counts);
        if counts.len() < 2 || middle == 0.0 { 1.0 } else { (sample_std(&counts).powi(2) / middle).max(1.0) }
    }
}

/// Median time of a call by category, and over all.
pub(crate) struct UsualTimes {
    by_category: BTreeMap<Fingerprint, f64>,
    overall: f64,
}

impl UsualTimes {
    pub(crate) fn of(table: &SiteTable, concerns: &impl Fn(&Site) -> bool) -> UsualTimes {
        let mut times: BTreeMap<Fingerprint, Vec<f64>> = BTreeMap::new();
        let mut all = Vec::new();
        for row in table.by_site().filter(|(site, _)| concerns(site)).flat_map(|(_, rows)| rows) {
            let time = call_ns(row);
            let category = table.requests[row.request as usize].category as usize;
            times.entry(table.categories[category]).or_default().push(time);
            all.push(time);
        }
        let by_category = times.into_iter().map(|(id, mut times)| (id, median(&mut times))).collect();
        UsualTimes { by_category, overall: median(&mut all) }
    }

    /// Observations that took longer than `factor` times the usual, by part.
    fn count_long(
        &self,
        table: &SiteTable,
        concerns: &impl Fn(&Site) -> bool,
        factor: f64,
        parts: usize,
    ) -> LongCalls {
        let mut out = LongCalls { calls: 0, long: vec![0; parts] };
        for row in table.by_site().filter(|(site, _)| concerns(site)).flat_map(|(_, rows)| rows) {
            out.calls += 1;
            let part = row.request as usize * parts / table.requests.len();
            out.long[part] += u64::from(self.is_beyond(table, row, factor));
        }
        out
    }

    /// Whether a call took longer than `factor` times the usual.
    pub(crate) fn is_beyond(&self, table: &SiteTable, row: &Observation, factor: f64) -> bool {
        let category = table.categories[table.requests[row.request as usize].category as usize];
        let usual = self.by_category.get(&category).copied().unwrap_or(self.overall);
        call_ns(row) > factor * usual
    }
}

fn call_ns(row: &Observation) -> f64 {
    f64::from(row.time_ns) / f64::from(row.calls)
}
