//! Rare, very long calls, against a baseline.

use crate::sites::table::{Observation, Site, SiteTable};
use laggard_model::{Fingerprint, OperationId};
use laggard_numeric::{binomial_upper_tail, median};
use std::collections::BTreeMap;

/// Whether very long calls of an operation are more frequent in the window than in the baseline: long
/// is beyond `factor` times the window's median for such requests. A one-sided binomial test at 1 % against the
/// baseline's rate, and at least twice that rate. A fault that affects few calls moves no mean.
pub fn long_calls_rose(
    baseline: &SiteTable,
    window: &SiteTable,
    operation: OperationId,
    factor: f64,
) -> bool {
    let concerns = |site: &Site| match *site {
        Site::Operation(operation_of_site) => operation_of_site == operation,
        Site::Link { caller, .. } => caller == operation,
        Site::Chain(_) => false,
    };
    let medians = Medians::of(window, &concerns);
    let (calls, long) = medians.count_long(window, &concerns, factor);
    let (earlier, earlier_long) = medians.count_long(baseline, &concerns, factor);
    let rate = (earlier_long + 1) as f64 / (earlier + 2) as f64;
    long as f64 >= 2.0 * rate * calls as f64 && binomial_upper_tail(calls, rate, long) <= 0.01
}

/// Median time of a call by category, and over all.
struct Medians {
    by_category: BTreeMap<Fingerprint, f64>,
    overall: f64,
}

impl Medians {
    fn of(table: &SiteTable, concerns: &impl Fn(&Site) -> bool) -> Medians {
        let mut times: BTreeMap<Fingerprint, Vec<f64>> = BTreeMap::new();
        let mut all = Vec::new();
        for row in table.by_site().filter(|(site, _)| concerns(site)).flat_map(|(_, rows)| rows) {
            let time = call_ns(row);
            let category = table.requests[row.request as usize].category as usize;
            times.entry(table.categories[category]).or_default().push(time);
            all.push(time);
        }
        let by_category = times.into_iter().map(|(id, mut times)| (id, median(&mut times))).collect();
        Medians { by_category, overall: median(&mut all) }
    }

    /// Number of observations, and of those that took longer than `factor` times the usual.
    fn count_long(&self, table: &SiteTable, concerns: &impl Fn(&Site) -> bool, factor: f64) -> (u64, u64) {
        let rows = table.by_site().filter(|(site, _)| concerns(site)).flat_map(|(_, rows)| rows);
        rows.fold((0, 0), |(all, long), row| {
            let category = table.categories[table.requests[row.request as usize].category as usize];
            let usual = self.by_category.get(&category).copied().unwrap_or(self.overall);
            (all + 1, long + u64::from(call_ns(row) > factor * usual))
        })
    }
}

fn call_ns(row: &Observation) -> f64 {
    f64::from(row.time_ns) / f64::from(row.calls)
}
