//! Comparison with a baseline: which sites take longer than before, independent of the mix of requests.
//!
//! Requests of one shape are compared with requests of that shape: the expected time of a call is its mean in
//! the baseline among requests of the same category, shrunk towards the site's mean where there are few. A
//! *block* is a run of consecutive requests; its value is the log of the time spent over the time
//! expected. Blocks, not calls, are the unit of the tests: times drift and calls of one request depend on each
//! other, and both appear in the variation between blocks.
//!
//! ```text
//! baseline  ▁▂▁▂▁▁▂▁▁▂▁▂▁ │ ▅▆▅  window      x = ln(time / expected) by block
//! ```

use crate::sites::blocks::{BlockValue, BlockValues, Blocks, Expected, Mix, block_values};
use crate::sites::per_category::Keyed;
use crate::sites::table::{Observation, Site, SiteTable};
use laggard_numeric::{
    benjamini_hochberg, mad, mean, median_of, parallel_map, sample_std, student_quantile_95,
    student_upper_tail,
};
use laggard_settings::settings;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

settings! {
    group "combined";
    /// Thresholds of the comparison.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct ChangeSettings {
        /// False discovery rate of the comparison with a baseline, over all sites
        level ("site-fdr"): f64 = 0.05, within(0.0, 1.0), "ours";
        /// A slower site takes more than this factor of its time in the baseline
        factor_min ("site-factor-min"): f64 = 1.03, within(1.0, 1e6), "ours: with enough data the faintest difference is certain";
        /// A site is compared with at least so many requests in the window and in the baseline
        requests_min ("site-requests-min", "requests"): usize = 10, at_least(1.0), "ours";
        /// A slower site makes at least so many requests slow
        hit_min ("site-hit-min", "requests"): usize = 3, at_least(1.0), "ours: one giant, or a rare path met once, is no change";
    }
}

/// How a site differs from its baseline.
#[derive(Clone, PartialEq, Debug)]
pub struct SiteChange {
    /// The site.
    pub site: Site,
    /// Calls in the window.
    pub calls: u64,
    /// Requests of the window that called the site.
    pub requests: u64,
    /// Calls in the baseline.
    pub baseline_calls: u64,
    /// Time of a call over the time expected from the baseline; infinite when the baseline never called the site.
    pub factor: f64,
    /// Lower end of the factor's 95 % interval.
    pub factor_low: f64,
    /// Upper end of the factor's 95 % interval.
    pub factor_high: f64,
    /// Mean excess of a call in the window over the expected time, nanoseconds.
    pub excess_ns: f64,
    /// The part of the excess on the critical path, summed over the window's requests (weighted), nanoseconds; 0 when
    /// the site is not slower.
    pub path_excess_ns: f64,
    /// One-sided p-value of the hypothesis that the factor is above the minimum.
    pub p_value: f64,
    /// `p_value` adjusted over all sites.
    pub p_adjusted: f64,
    /// Whether the site is slower according to the settings.
    pub slower: bool,
    /// For a slower site, the window's requests whose time exceeds the midpoint between the expected and the slower time.
    pub hit: Vec<u32>,
}

impl SiteChange {
    /// Whether the baseline never called the site.
    pub fn is_new(&self) -> bool {
        self.baseline_calls == 0
    }
}

/// Compares every site of the window with the baseline, in the order of the window's sites. Handles of both
/// tables must come from the same names. Empty when either has too few requests.
pub fn compare_sites(
    baseline: &SiteTable,
    window: &SiteTable,
    settings: &ChangeSettings,
    threads: NonZeroUsize,
) -> Vec<SiteChange> {
    if baseline.requests.len().min(window.requests.len()) < settings.requests_min {
        return Vec::new();
    }
    let blocks = Blocks::choose(baseline.requests.len(), window.requests.len());
    let (baseline, window) = (&Keyed::new(baseline), &Keyed::new(window));
    let before: BTreeMap<Site, &[Observation]> = baseline.by_site().collect();
    let sites: Vec<(Site, &[Observation])> = window.by_site().collect();
    let compared = parallel_map(&sites, threads, |&(site, rows)| match before.get(&site) {
        Some(&earlier) => known_site(site, (baseline, earlier), (window, rows), &blocks, settings),
        None => (new_site(site, baseline, window, rows), 1.0),
    });
    let (mut changes, levels): (Vec<SiteChange>, Vec<f64>) = compared.into_iter().unzip();
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

/// Requests beyond the midpoint. Expected times are multiplied by the baseline's usual level: other incidents in the
/// baseline raise its mean, not its usual level.
fn hit(
    change: &SiteChange,
    expected: Option<(Expected, f64)>,
    window: &Keyed<'_>,
    rows: &[Observation],
) -> Vec<u32> {
    let limit = |row: &Observation| {
        let category = window.categories[window.key(row).category as usize];
        let usual = expected.as_ref().map_or(0.0, |(expected, level)| expected.call_ns(category) * level);
        if usual > 0.0 { f64::from(row.calls) * usual * f64::midpoint(1.0, change.factor) } else { 0.0 }
    };
    let slow = rows.iter().filter(|row| f64::from(row.time_ns) >= limit(row));
    let mut hit: Vec<u32> = slow.map(|row| row.request).collect();
    hit.dedup();
    hit
}

/// The window's log ratio with its standard error.
struct LevelShift {
    log_ratio: f64,
    /// The baseline's level: its usual time over its expected time.
    level: f64,
    error: f64,
    degrees: f64,
}

/// Minimum spread of block values, since a few blocks may vary less by chance.
const BLOCK_SPREAD_MIN: f64 = 0.005;

/// A spread by MAD is as uncertain as a standard deviation of this share of the values (Rousseeuw & Croux, *JASA*
/// 88, 1993).
const MAD_EFFICIENCY: f64 = 0.37;

/// Values of blocks have heavier tails than a normal distribution (collections, cold caches, retries), and with one
/// block there is no averaging: the degrees of freedom of the t distribution are limited to this.
const BLOCK_DEGREES_MAX: f64 = 8.0;

/// Difference of the window's blocks from the baseline's, by one of their values.
fn shift(before: &BlockValues, after: &BlockValues, value: fn(&BlockValue) -> f64) -> Option<LevelShift> {
    let earlier: Vec<f64> = before.blocks.iter().map(value).collect();
    let now: Vec<f64> = after.blocks.iter().map(value).collect();
    if earlier.len() < 2 || now.is_empty() {
        return None;
    }
    if now.len() == 1 {
        // Half of the baseline may be other incidents: median and MAD.
        let middle = median_of(&earlier);
        let spread = mad(&earlier, middle).max(BLOCK_SPREAD_MIN);
        let error = spread * (1.0 + 1.57 / earlier.len() as f64).sqrt();
        let degrees = (MAD_EFFICIENCY * (earlier.len() as f64 - 1.0)).clamp(1.0, BLOCK_DEGREES_MAX);
        return Some(LevelShift { log_ratio: now[0] - middle, level: middle.exp(), error, degrees });
    }
    let variance = |values: &[f64]| sample_std(values).max(BLOCK_SPREAD_MIN).powi(2) / values.len() as f64;
    let (a, b) = (variance(&earlier), variance(&now));
    let degrees = (a + b).powi(2) / (a * a / (earlier.len() as f64 - 1.0) + b * b / (now.len() as f64 - 1.0));
    let level = value(&before.pooled);
    // One giant request moves the pooled value; the mean of the blocks' logs is lower the fewer calls a block has,
    // and a site may be rarer on one side. A slower site shows in both.
    let log_ratio = (value(&after.pooled) - level).min(mean(&now) - mean(&earlier));
    Some(LevelShift { log_ratio, level: level.exp(), error: (a + b).sqrt(), degrees })
}

/// Level of the test that the mean of the logs has risen, where the mean has.
const CORROBORATION_LEVEL: f64 = 0.05;

/// Compares a site that the baseline called as well, using the baseline's level.
fn known_site(
    site: Site,
    (baseline, earlier): (&Keyed<'_>, &[Observation]),
    (window, rows): (&Keyed<'_>, &[Observation]),
    blocks: &Blocks,
    settings: &ChangeSettings,
) -> (SiteChange, f64) {
    let expected = Expected::of(baseline, earlier);
    let mix = Mix::of((baseline, earlier), (window, rows));
    let before = block_values(baseline, earlier, |id| (expected.call_ns(id), mix.tilt(id)), blocks.baseline);
    let after = block_values(window, rows, |id| (expected.call_ns(id), 1.0), blocks.window);
    let mut change = unchanged(site, window, rows);
    change.baseline_calls = earlier.iter().map(|row| u64::from(row.calls)).sum();
    let (Some(before), Some(after)) = (before, after) else { return (change, 1.0) };
    let by_mean = shift(&before, &after, |block| block.mean);
    let by_logs = shift(&before, &after, |block| block.geometric);
    let (Some(shift), Some(geometric)) = (by_mean, by_logs) else { return (change, 1.0) };
    let reach = student_quantile_95(shift.degrees) * shift.error;
    change.factor = shift.log_ratio.exp();
    change.factor_low = (shift.log_ratio - reach).exp();
    change.factor_high = (shift.log_ratio + reach).exp();
    let p_value = |shift: &LevelShift| {
        let t = (shift.log_ratio - settings.factor_min.ln()) / shift.error;
        student_upper_tail(t, shift.degrees)
    };
    // Of one block, either value may show the change, and both are tested. Of many, the mean decides, but
    // a few giants move it alone: the mean of the logs must have risen as well.
    let rose =
        student_upper_tail(geometric.log_ratio / geometric.error, geometric.degrees) <= CORROBORATION_LEVEL;
    change.p_value = match (blocks.is_one_of_many(), rose) {
        (true, _) => (2.0 * p_value(&shift).min(p_value(&geometric))).min(1.0),
        (false, true) => p_value(&shift),
        (false, false) => 1.0,
    };
    let part = (1.0 - 1.0 / change.factor).max(0.0);
    let (calls, time, path) = totals(window, rows);
    change.excess_ns = part * time / calls;
    change.path_excess_ns = part * path;
    (change, shift.level)
}

/// A site that the baseline never called, although it has enough requests.
fn new_site(site: Site, baseline: &SiteTable, window: &Keyed<'_>, rows: &[Observation]) -> SiteChange {
    let mut change = unchanged(site, window, rows);
    let (calls, time, path) = totals(window, rows);
    // If the site were called equally often in both, each calling request would be in the window with this probability.
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
    debug_assert_eq!(window.rows_of(site), rows);
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
fn totals(table: &Keyed<'_>, rows: &[Observation]) -> (f64, f64, f64) {
    rows.iter().fold((0.0, 0.0, 0.0), |(calls, time, path), row| {
        let weight = f64::from(table.key(row).weight);
        (
            calls + weight * f64::from(row.calls),
            time + weight * f64::from(row.time_ns),
            path + weight * f64::from(row.path_ns),
        )
    })
}
