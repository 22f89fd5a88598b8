//! Against a baseline: which sites take longer than they used to, whatever the mix of requests?
//!
//! Requests of one shape are compared with requests of that shape: what a call is expected to take is its mean in
//! the baseline among requests of the same category, drawn towards the site's mean where there are few. A
//! *block* is some requests that follow each other; its value is the log of the time spent over the time
//! expected. Blocks, not calls, are the unit of the tests: times drift, calls of one request depend on each
//! other, and both show in the variation between blocks.
//!
//! ```text
//! baseline  ▁▂▁▂▁▁▂▁▁▂▁▂▁ │ ▅▆▅  window      x = ln(time / expected) by block
//! ```

use crate::sites::table::{Observation, Site, SiteTable};
use laggard_model::{Fingerprint, OperationId};
use laggard_numeric::{
    benjamini_hochberg, binomial_upper_tail, mad, mean, median, median_of, sample_std, student_quantile_95,
    student_upper_tail,
};
use std::collections::BTreeMap;

/// Thresholds of the comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChangeSettings {
    /// False discovery rate over all sites (0.05).
    pub level: f64,
    /// What is tested is whether a site takes *more than* this factor (1.03): with enough data the faintest
    /// difference is certain.
    pub factor_min: f64,
    /// Fewest requests in the window and in the baseline (10).
    pub requests_min: usize,
    /// Fewest requests that a slower site made slow (3): one giant, or a rare path met once, is no change.
    pub hit_min: usize,
}

impl Default for ChangeSettings {
    fn default() -> ChangeSettings {
        ChangeSettings { level: 0.05, factor_min: 1.03, requests_min: 10, hit_min: 3 }
    }
}

/// How a site differs from its baseline.
#[derive(Clone, PartialEq, Debug)]
pub struct SiteChange {
    /// The site.
    pub site: Site,
    /// Calls in the window.
    pub calls: u64,
    /// Requests of the window that called it.
    pub requests: u64,
    /// Calls in the baseline.
    pub baseline_calls: u64,
    /// Time of a call over what the baseline has one expect; infinite when the baseline never called it.
    pub factor: f64,
    /// Lower end of the factor's 95 % interval.
    pub factor_low: f64,
    /// Upper end.
    pub factor_high: f64,
    /// Mean time of a call in the window beyond the expected, nanoseconds.
    pub excess_ns: f64,
    /// The part of that on the critical path, summed over the window's requests (weighted), nanoseconds; 0 when
    /// the site is not slower.
    pub path_excess_ns: f64,
    /// One-sided p-value of "takes more than the least factor".
    pub p_value: f64,
    /// Adjusted over all sites.
    pub p_adjusted: f64,
    /// Whether it is slower by the settings.
    pub slower: bool,
    /// If so, the window's requests in which it took more than half way from the expected time to the slower one.
    pub hit: Vec<u32>,
}

impl SiteChange {
    /// Whether the baseline never called it.
    pub fn is_new(&self) -> bool {
        self.baseline_calls == 0
    }
}

/// Compares every site of the window with the baseline, in the order of the window's sites. Handles of both
/// tables must come from the same names. Empty when either has too few requests.
pub fn compare_sites(baseline: &SiteTable, window: &SiteTable, settings: &ChangeSettings) -> Vec<SiteChange> {
    if baseline.requests.len().min(window.requests.len()) < settings.requests_min {
        return Vec::new();
    }
    let blocks = Blocks::choose(baseline.requests.len(), window.requests.len());
    let before: BTreeMap<Site, &[Observation]> = baseline.by_site().collect();
    let (mut changes, levels): (Vec<SiteChange>, Vec<f64>) = window
        .by_site()
        .map(|(site, rows)| match before.get(&site) {
            Some(&earlier) => known_site(site, (baseline, earlier), (window, rows), &blocks, settings),
            None => (new_site(site, baseline, window, rows), 1.0),
        })
        .unzip();
    let p_values: Vec<f64> = changes.iter().map(|change| change.p_value).collect();
    for (change, p_adjusted) in changes.iter_mut().zip(benjamini_hochberg(&p_values)) {
        change.p_adjusted = p_adjusted;
        change.slower = p_adjusted <= settings.level && change.path_excess_ns > 0.0;
    }
    let now: BTreeMap<Site, &[Observation]> = window.by_site().collect();
    for (change, level) in changes.iter_mut().zip(levels).filter(|(change, _)| change.slower) {
        let earlier = before.get(&change.site).map(|rows| Expected::of(baseline, rows));
        change.hit = hit(change, earlier.map(|expected| (expected, level)), window, now[&change.site]);
        change.slower = change.hit.len() >= settings.hit_min;
    }
    changes
}

/// Requests beyond half way. What is expected counts times the baseline's usual level: other incidents in the
/// baseline raise its mean, not its usual.
fn hit(
    change: &SiteChange,
    expected: Option<(Expected, f64)>,
    window: &SiteTable,
    rows: &[Observation],
) -> Vec<u32> {
    let limit = |row: &Observation| {
        let category = window.categories[window.requests[row.request as usize].category as usize];
        let usual = expected.as_ref().map_or(0.0, |(expected, level)| expected.call_ns(category) * level);
        if usual > 0.0 { f64::from(row.calls) * usual * f64::midpoint(1.0, change.factor) } else { 0.0 }
    };
    let slow = rows.iter().filter(|row| f64::from(row.time_ns) >= limit(row));
    let mut hit: Vec<u32> = slow.map(|row| row.request).collect();
    hit.dedup();
    hit
}

/// Whether calls of an operation that take very long are more frequent in the window than in the baseline: long
/// is beyond `factor` times the window's median for such requests. A one-sided binomial test at 1 % against the
/// baseline's rate, and twice that rate at least. A fault that hits few calls moves no mean.
pub fn long_calls_rose(
    baseline: &SiteTable,
    window: &SiteTable,
    operation: OperationId,
    factor: f64,
) -> bool {
    let concerns = |site: &Site| match *site {
        Site::Operation(own) => own == operation,
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

    /// Observations, and those that took longer than `factor` times the usual.
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

/// How much longer the window's requests took than the baseline's of the same shape, nanoseconds, weighted; and
/// how much the mean would have moved because other shapes came in other shares.
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

/// A change of mean latency, split.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LatencyChange {
    /// Mean latency of the baseline, nanoseconds.
    pub baseline_mean_ns: f64,
    /// Mean latency of the window, nanoseconds.
    pub window_mean_ns: f64,
    /// Sum over the window's requests of latency less that of baseline requests of the same shape (shapes that
    /// the baseline lacks: of all), nanoseconds.
    pub slower_ns: f64,
    /// Sum of what the mix of shapes accounts for, nanoseconds.
    pub mix_ns: f64,
    /// `slower_ns` a request.
    pub slower_mean_ns: f64,
    /// `mix_ns` a request; with `slower_mean_ns` it makes the whole change.
    pub mix_mean_ns: f64,
}

/// How requests are cut into blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Blocks {
    baseline: usize,
    window: usize,
}

/// With so many blocks as long as the window in the baseline, the window is one block among its like.
const LIKE_BLOCKS_MIN: usize = 8;
/// More blocks say nothing more about drift.
const BLOCKS_MAX: usize = 64;
/// Else the window is cut into about so many.
const WINDOW_BLOCKS: usize = 16;
/// Fewer requests make no block.
const BLOCK_REQUESTS_MIN: usize = 5;

impl Blocks {
    /// The window against blocks like it where the baseline is long enough, else both cut alike.
    pub(crate) fn choose(baseline: usize, window: usize) -> Blocks {
        if baseline / window >= LIKE_BLOCKS_MIN {
            // As many as there are: longer blocks would vary less than the window does.
            return Blocks { baseline: baseline / window, window: 1 };
        }
        let requests = (window / WINDOW_BLOCKS).max(BLOCK_REQUESTS_MIN);
        Blocks {
            baseline: (baseline / requests).clamp(2, BLOCKS_MAX),
            window: (window / requests).clamp(2, BLOCKS_MAX),
        }
    }

    /// Whether the window is one block among its like.
    pub(crate) fn is_one_of_many(self) -> bool {
        self.window == 1
    }
}

/// What a call takes in the baseline, by category.
struct Expected {
    overall_ns: f64,
    by_category: BTreeMap<Fingerprint, f64>,
}

/// A category's own mean counts like this many calls less.
const SHRINKAGE_CALLS: f64 = 5.0;

impl Expected {
    fn of(table: &SiteTable, rows: &[Observation]) -> Expected {
        let mut by_category: BTreeMap<Fingerprint, (f64, f64)> = BTreeMap::new();
        let mut all = (0.0, 0.0);
        for row in rows {
            let request = &table.requests[row.request as usize];
            let weight = f64::from(request.weight);
            let sums = by_category.entry(table.categories[request.category as usize]).or_default();
            for sums in [sums, &mut all] {
                sums.0 += weight * f64::from(row.time_ns);
                sums.1 += weight * f64::from(row.calls);
            }
        }
        let overall_ns = (all.0 / all.1).max(1.0);
        let mean =
            |(time, calls): (f64, f64)| (time + SHRINKAGE_CALLS * overall_ns) / (calls + SHRINKAGE_CALLS);
        Expected {
            overall_ns,
            by_category: by_category.into_iter().map(|(id, sums)| (id, mean(sums))).collect(),
        }
    }

    fn call_ns(&self, category: Fingerprint) -> f64 {
        self.by_category.get(&category).copied().unwrap_or(self.overall_ns)
    }
}

/// One block's time against the expected.
#[derive(Clone, Copy, PartialEq, Debug)]
struct BlockValue {
    /// Log of the time over the time expected: sees that a few calls take very long.
    mean: f64,
    /// Mean of the logs by request: sees that all take a little longer, and is not moved by a few.
    geometric: f64,
}

/// Values of the blocks with any call.
fn block_values(
    table: &SiteTable,
    rows: &[Observation],
    expected: &Expected,
    blocks: usize,
) -> Vec<BlockValue> {
    #[derive(Clone, Copy, Default)]
    struct Sums {
        time: f64,
        usual: f64,
        logs: f64,
        weight: f64,
    }
    let mut sums = vec![Sums::default(); blocks];
    for row in rows {
        let request = &table.requests[row.request as usize];
        let sum = &mut sums[row.request as usize * blocks / table.requests.len()];
        let weight = f64::from(request.weight);
        let time = f64::from(row.time_ns);
        let usual = f64::from(row.calls) * expected.call_ns(table.categories[request.category as usize]);
        sum.time += weight * time;
        sum.usual += weight * usual;
        sum.logs += weight * (time.max(1.0) / usual).ln();
        sum.weight += weight;
/// How many more calls of a category the window has than the baseline.
struct Mix {
    tilts: BTreeMap<Fingerprint, f64>,
impl Mix {
    fn of(baseline: (&SiteTable, &[Observation]), window: (&SiteTable, &[Observation])) -> Mix {
        let calls = |(table, rows): (&SiteTable, &[Observation])| {
            let mut calls: BTreeMap<Fingerprint, f64> = BTreeMap::new();
            for row in rows {
                let request = &table.requests[row.request as usize];
                let weight = f64::from(request.weight) * f64::from(row.calls);
                *calls.entry(table.categories[request.category as usize]).or_default() += weight;
            }
            calls
        };
        let now = calls(window);
        let tilt = |(id, before)| (id, now.get(&id).copied().unwrap_or(0.0) / before);
        let tilts: BTreeMap<Fingerprint, f64> = calls(baseline).into_iter().map(tilt).collect();
        // Nothing in common: there is no mix to go by.
        let common = tilts.values().any(|&tilt| tilt > 0.0);
        Mix { tilts: if common { tilts } else { BTreeMap::new() } }
    /// Weight at which a baseline call counts, so that the baseline has the window's mix: a category that is rare
    /// there and common here must not pass off its chance variation as a change.
    fn tilt(&self, category: Fingerprint) -> f64 {
        if self.tilts.is_empty() { 1.0 } else { self.tilts.get(&category).copied().unwrap_or(0.0) }
/// Log of time over expected time by block, for blocks with any call. `of` tells the expected time of a call of a
/// category, and its weight.
    of: impl Fn(Fingerprint) -> (f64, f64),
) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); blocks];
        let block = row.request as usize * blocks / table.requests.len();
        let (usual, tilt) = of(table.categories[request.category as usize]);
        let weight = f64::from(request.weight) * tilt;
        sums[block].0 += weight * f64::from(row.time_ns);
        sums[block].1 += weight * f64::from(row.calls) * usual;
    }
    let used = sums.into_iter().filter(|sum| sum.weight > 0.0);
    used.map(|sum| BlockValue {
        mean: (sum.time.max(1.0) / sum.usual).ln(),
        geometric: sum.logs / sum.weight,
    })
    .collect()
}

/// The window's log ratio with its standard error.
struct Shift {
    log_ratio: f64,
    /// The baseline's level: its usual time over its expected time.
    level: f64,
    error: f64,
    degrees: f64,
}

/// Block values vary by at least this much beyond what a few blocks show.
const BLOCK_SPREAD_MIN: f64 = 0.005;

/// Values of blocks have heavier tails than a normal distribution (collections, cold caches, retries), and with one
/// block there is no mean to even that out: the tails of t with so many degrees are used at most.
const BLOCK_DEGREES_MAX: f64 = 8.0;
/// A spread by MAD is as uncertain as a standard deviation of this part of the values (Rousseeuw & Croux, *JASA*
/// 88, 1993).
const MAD_EFFICIENCY: f64 = 0.37;

fn shift(before: &[f64], after: &[f64]) -> Option<Shift> {
    if before.len() < 2 || after.is_empty() {
        return None;
    }
    if after.len() == 1 {
        // Half of the baseline may be other incidents: median and MAD.
        let middle = median_of(before);
        let spread = mad(before, middle).max(BLOCK_SPREAD_MIN);
        let error = spread * (1.0 + 1.57 / before.len() as f64).sqrt();
        let degrees = (before.len() as f64 - 1.0).min(BLOCK_DEGREES_MAX);
        return Some(Shift { log_ratio: after[0] - middle, error, degrees });
        let degrees = (MAD_EFFICIENCY * (before.len() as f64 - 1.0)).max(1.0);
        return Some(Shift { log_ratio: after[0] - middle, level: middle.exp(), error, degrees });
    }
    let variance = |values: &[f64]| sample_std(values).max(BLOCK_SPREAD_MIN).powi(2) / values.len() as f64;
    let (a, b) = (variance(before), variance(after));
    let degrees =
        (a + b).powi(2) / (a * a / (before.len() as f64 - 1.0) + b * b / (after.len() as f64 - 1.0));
    let level = mean(before).exp();
    Some(Shift { log_ratio: mean(after) - mean(before), level, error: (a + b).sqrt(), degrees })
}

/// A site that the baseline called as well, and the baseline's level.
fn known_site(
    site: Site,
    (baseline, earlier): (&SiteTable, &[Observation]),
    (window, rows): (&SiteTable, &[Observation]),
    blocks: &Blocks,
    settings: &ChangeSettings,
) -> (SiteChange, f64) {
    let expected = Expected::of(baseline, earlier);
    let mix = Mix::of((baseline, earlier), (window, rows));
    let before = block_values(baseline, earlier, |id| (expected.call_ns(id), mix.tilt(id)), blocks.baseline);
    let after = block_values(window, rows, |id| (expected.call_ns(id), 1.0), blocks.window);
    let mut change = unchanged(site, window, rows);
    change.baseline_calls = earlier.iter().map(|row| u64::from(row.calls)).sum();
    let values =
        |of: &[BlockValue], value: fn(&BlockValue) -> f64| of.iter().map(value).collect::<Vec<f64>>();
    let by = |value: fn(&BlockValue) -> f64| shift(&values(&before, value), &values(&after, value));
    let (Some(shift), Some(geometric)) = (by(|block| block.mean), by(|block| block.geometric)) else {
        return change;
    };
    let Some(shift) = shift(&before, &after) else { return (change, 1.0) };
    let reach = student_quantile_95(shift.degrees) * shift.error;
    change.factor = shift.log_ratio.exp();
    change.factor_low = (shift.log_ratio - reach).exp();
    change.factor_high = (shift.log_ratio + reach).exp();
    let p_value = |shift: &Shift| {
        let t = (shift.log_ratio - settings.factor_min.ln()) / shift.error;
        student_upper_tail(t, shift.degrees)
    };
    // Of one block, either statistic may be the one that shows it, and both are looked at.
    change.p_value = match blocks.window {
        1 => (2.0 * p_value(&shift).min(p_value(&geometric))).min(1.0),
        _ => p_value(&shift),
    };
    let part = (1.0 - 1.0 / change.factor).max(0.0);
    let (calls, time, path) = totals(window, rows);
    change.excess_ns = part * time / calls;
    change.path_excess_ns = part * path;
    (change, shift.level)
}

/// A site that the baseline never called, although it had so many requests.
fn new_site(site: Site, baseline: &SiteTable, window: &SiteTable, rows: &[Observation]) -> SiteChange {
    let mut change = unchanged(site, window, rows);
    let (calls, time, path) = totals(window, rows);
    // If it belonged to both, each of the requests that call it would fall into the window by this chance.
    let share = window.requests.len() as f64 / (window.requests.len() + baseline.requests.len()) as f64;
    change.p_value = share.powf(change.requests as f64);
    change.factor = f64::INFINITY;
    change.factor_low = f64::INFINITY;
    change.factor_high = f64::INFINITY;
    change.excess_ns = time / calls;
    change.path_excess_ns = path;
    change
}

fn unchanged(site: Site, window: &SiteTable, rows: &[Observation]) -> SiteChange {
    debug_assert!(rows.iter().all(|row| window.sites[row.site as usize] == site));
    SiteChange {
        site,
        calls: rows.iter().map(|row| u64::from(row.calls)).sum(),
        requests: rows.chunk_by(|a, b| a.request == b.request).count() as u64,
        baseline_calls: 0,
        factor: 1.0,
        factor_low: 0.0,
        factor_high: f64::INFINITY,
        excess_ns: 0.0,
        path_excess_ns: 0.0,
        p_value: 1.0,
        p_adjusted: 1.0,
        slower: false,
        hit: Vec::new(),
    }
}

/// Weighted calls, time and time on the critical path.
fn totals(table: &SiteTable, rows: &[Observation]) -> (f64, f64, f64) {
    rows.iter().fold((0.0, 0.0, 0.0), |(calls, time, path), row| {
        let weight = f64::from(table.requests[row.request as usize].weight);
        (
            calls + weight * f64::from(row.calls),
            time + weight * f64::from(row.time_ns),
            path + weight * f64::from(row.path_ns),
        )
    })
}
