//! Operations whose calls are fast or slow, in requests of one shape: what explains slow requests where slow calls are so frequent
//! that they are no tail.
//!
//! ```text
//! calls  │   ▒▒               ▒ fast, █ slow: the split with the largest variance between both (Otsu 1979)
//!        │  ▒▒▒▒   ██         spread: the standard deviation that the split explains, √(share · (1 − share)) · distance;
//!        │ ▒▒▒▒▒▒█████        it must be much larger than that of most operations
//!        └───────────── log time
//! ```

use crate::sites::judge::SiteSuspect;
use crate::sites::per_category::{Keyed, PerCategory};
use crate::sites::table::{Observation, Site, SiteTable};
use laggard_numeric::{Weights, median_of, spread_evenly, weighted_median};
use laggard_parallel::parallel_map;
use std::num::NonZeroUsize;

/// Observations of a site of which its spreads are computed.
const SAMPLE: usize = 2_000;
/// Fewest of them in a category.
const SAMPLE_MIN: usize = 40;
/// Fewest observations of a category that is wide.
const CATEGORY_MIN: usize = 100;
/// Fewest sites of which most are usual.
const SITES_MIN: usize = 8;
/// The spread is at least so many times the usual one.
const SPREAD_FACTOR_MIN: f64 = 2.0;
/// Slow calls take at least so many times as long as fast ones.
const FACTOR_MIN: f64 = 1.5;

/// Slow calls are at least this part of the excess latency of their categories' requests.
const PART_MIN: f64 = 0.1;

/// Operations with a much larger spread than usual in some categories, whose slow calls explain a good part of the slow requests
/// there. The largest excess first.
pub fn wide_suspects(table: &SiteTable, threads: NonZeroUsize) -> Vec<SiteSuspect> {
    let table = Keyed::new(table);
    let own: Vec<(Site, &[Observation])> =
        table.by_site().filter(|(site, _)| matches!(site, Site::Operation(_))).collect();
    let spreads = parallel_map(&own, threads, |(_, rows)| spreads(&table, rows));
    let usual: Vec<f64> =
        spreads.iter().filter(|spreads| !spreads.is_empty()).map(|spreads| median_of(spreads)).collect();
    if usual.len() < SITES_MIN {
        return Vec::new();
    }
    let wide = SPREAD_FACTOR_MIN * median_of(&usual);
    let candidates: Vec<(Site, &[Observation])> = (own.into_iter().zip(&spreads))
        .filter(|(_, spreads)| spreads.iter().any(|&spread| spread >= wide))
        .map(|(site, _)| site)
        .collect();
    let suspects = parallel_map(&candidates, threads, |(site, rows)| suspect(&table, *site, rows, wide));
    let mut out: Vec<SiteSuspect> = suspects.into_iter().flatten().collect();
    out.sort_by(|a, b| b.excess_ns.total_cmp(&a.excess_ns).then(a.operation.cmp(&b.operation)));
    out
}

/// The spread of a site by category, of a sample.
fn spreads(table: &Keyed<'_>, rows: &[Observation]) -> Vec<f64> {
    let mut categories: PerCategory<Vec<f64>> = PerCategory::new(table);
    for index in spread_evenly(rows.len(), SAMPLE) {
        let row = &rows[index];
        categories.value(table.key(row).category, Vec::new).push(log_time(row));
    }
    let enough = categories.values_mut().iter_mut().filter(|logs| logs.len() >= SAMPLE_MIN);
    enough
        .map(|logs| {
            logs.sort_unstable_by(f64::total_cmp);
            Split::otsu(logs).spread
        })
        .collect()
}

/// Fast and slow calls of a site in a category.
struct Split {
    /// Standard deviation between the two, of logarithms.
    spread: f64,
    /// Between their means.
    distance: f64,
    /// Between fast and slow.
    limit: f64,
}

impl Split {
    /// Of ascending values.
    fn otsu(values: &[f64]) -> Split {
        let (count, sum) = (values.len() as f64, values.iter().sum::<f64>());
        let mut best = Split { spread: 0.0, distance: 0.0, limit: f64::INFINITY };
        let mut below = 0.0;
        for (index, pair) in values.windows(2).enumerate() {
            below += pair[0];
            let fast = (index + 1) as f64;
            let distance = (sum - below) / (count - fast) - below / fast;
            let spread = (fast * (count - fast)).sqrt() / count * distance;
            if spread > best.spread {
                best = Split { spread, distance, limit: f64::midpoint(pair[0], pair[1]) };
            }
        }
        best
    }
}

fn log_time(row: &Observation) -> f64 {
    (f64::from(row.time_ns) / f64::from(row.calls)).max(1.0).ln()
}

/// What is slow in the categories in which the site is wide; `None` if that explains too little of their requests.
fn suspect(table: &Keyed<'_>, site: Site, rows: &[Observation], wide: f64) -> Option<SiteSuspect> {
    let mut categories: PerCategory<Vec<f64>> = PerCategory::new(table);
    for row in rows {
        categories.value(table.key(row).category, Vec::new).push(log_time(row));
    }
    // The limit and the usual time of a category, if it is wide.
    let usual = |logs: &mut Vec<f64>| -> Option<(f64, f64)> {
        logs.sort_unstable_by(f64::total_cmp);
        let split = (logs.len() >= CATEGORY_MIN).then(|| Split::otsu(logs))?;
        let fast = &logs[..logs.partition_point(|&log| log <= split.limit)];
        let is_wide = split.spread >= wide && split.distance >= FACTOR_MIN.ln();
        is_wide.then(|| (split.limit, median_of(fast).exp()))
    };
    let usual: Vec<Option<(f64, f64)>> = categories.values_mut().iter_mut().map(usual).collect();
    let (mut excess, mut factors, mut hit) = (Vec::new(), Vec::new(), Vec::new());
    let (mut total_ns, mut last) = (0.0, u32::MAX);
    // Latencies by category, with weights.
    let mut latencies: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); usual.len()];
    for row in rows {
        let key = table.key(row);
        let category = categories.index_of(key.category, Vec::new);
        let Some((limit, fast_ns)) = usual[category] else { continue };
        if row.request != last {
            last = row.request;
            latencies[category].0.push(table.requests[row.request as usize].latency_ns);
            latencies[category].1.push(f64::from(key.weight));
        }
        let time_ns = f64::from(row.time_ns) / f64::from(row.calls);
        if log_time(row) > limit {
            total_ns += f64::from(key.weight) * (1.0 - fast_ns / time_ns) * f64::from(row.path_ns);
            excess.push(time_ns - fast_ns);
            factors.push(time_ns / fast_ns);
            hit.push(row.request);
        }
    }
    hit.dedup();
    let all_ns: f64 = latencies.iter().map(|(latencies, weights)| excess_ns(latencies, weights)).sum();
    (total_ns > PART_MIN * all_ns).then(|| SiteSuspect {
        operation: site.operation(),
        sites: vec![site],
        shift: None,
        slow_calls: None,
        culprits: Vec::new(),
        excess_ns: total_ns,
        effect_ns: median_of(&excess),
        factor: median_of(&factors),
        hit,
        is_end_unknown: false,
    })
}

/// Weighted sum of latencies beyond their median.
fn excess_ns(latencies: &[f64], weights: &[f64]) -> f64 {
    let median = weighted_median(latencies, Weights::from_slice(weights));
    latencies.iter().zip(weights).map(|(latency, weight)| weight * (latency - median).max(0.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::table::SiteRequest;
    use laggard_model::{AttributeSetId, Fingerprint, OperationId, Timestamp, TraceId};

    /// 60 values at 0 and 40 at 1: the split explains all, √(0.6 · 0.4).
    #[test]
    fn a_split_by_hand() {
        let values: Vec<f64> = (0..100).map(|at| if at < 60 { 0.0 } else { 1.0 }).collect();
        let split = Split::otsu(&values);
        assert_eq!((split.distance, split.limit), (1.0, 0.5));
        assert!((split.spread - 0.24_f64.sqrt()).abs() < 1e-12);
        assert_eq!(Split::otsu(&[1.0; 5]).spread, 0.0);
    }
    /// Ten operations in 500 requests of 20 ms; a share of the first one's calls takes four times as long as the others.
    fn table(slow_in_ten: usize) -> SiteTable {
        let time_ns = |operation: usize, request: usize| {
            let usual = 1e6 * (0.3 * ((request * 7 + operation * 3) as f64).sin()).exp();
            if operation == 0 && request % 10 < slow_in_ten { 4.0 * usual } else { usual }
        };
        let row = |operation: usize, request: usize| {
            let time_ns = time_ns(operation, request) as f32;
            Observation { request: request as u32, set: 0, calls: 1, time_ns, path_ns: time_ns }
        };
        let request = |at: usize| SiteRequest {
            start: Timestamp::from_unix_ns(at as i64),
            trace: TraceId::from_value(at as u128 + 1),
            latency_ns: 1e7 + (0..10).map(|operation| time_ns(operation, at)).sum::<f64>(),
            category: 0,
            weight: 1.0,
            number: at as u32,
            attributes: AttributeSetId::default(),
        };
        SiteTable {
            sites: (0..10).map(|at| Site::Operation(OperationId::from_index(at))).collect(),
            sets: vec![vec![]],
            categories: vec![Fingerprint::from_bytes(b"category")],
            requests: (0..500).map(request).collect(),
            rows: (0..10).map(|at| (0..500).map(|request| row(at, request)).collect()).collect(),
            ..SiteTable::default()
        }
    }

    #[test]
    fn an_operation_with_slow_calls_in_many_requests_explains_them() {
        let found = wide_suspects(&table(4), NonZeroUsize::MIN);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].operation, OperationId::from_index(0));
        assert_eq!(found[0].hit.len(), 200);
        assert!((3.5..4.5).contains(&found[0].factor), "{}", found[0].factor);
        assert_eq!(wide_suspects(&table(0), NonZeroUsize::MIN), []);
        // Nearly all are slow: that is the usual time.
        assert_eq!(wide_suspects(&table(10), NonZeroUsize::MIN), []);
    }
}
