//! Comparison with a baseline: which sites take longer than before, independent of the mix of requests.
//!
//! Requests of one shape are compared with requests of that shape: the expected time of a call is its mean in
//! the baseline among requests of the same category, shrunk towards the site's mean where there are few. A
//! *block* is a run of consecutive requests; its value is the log of the time spent over the time
//! expected. Blocks, not calls, are the unit of the tests: calls of one request depend on each other, and that appears in
//! the variation between blocks. How far levels drift between longer intervals is another matter: see
//! [`drift`](super::drift).
//!
//! ```text
//! baseline  ▁▂▁▂▁▁▂▁▁▂▁▂▁ │ ▅▆▅  window      x = ln(time / expected) by block
//! ```

use crate::sites::blocks::{
    BlockValue, BlockValues, Blocks, Expected, ExpectedRatios, Mix, Sums, block_values, sum_parts,
};
use crate::sites::bulk::Bulk;
use crate::sites::drift::{Level, LevelShift, Noise, relative_shifts, shifts};
use crate::sites::load_effect::{LoadEffect, common_times, loads};
use crate::sites::per_category::Keyed;
use crate::sites::slow_share::{SlowCalls, SlowShare, find_slow_calls};
use crate::sites::table::{Observation, Site, SiteTable};
use crate::sites::usual_level::{BLOCK_SPREAD_MIN, Usual, usual_level};
use laggard_model::{OperationId, ServiceId};
use laggard_numeric::{
    Alternative, benjamini_hochberg, harmonic_mean_p_value, mann_whitney_exact, mean, median_of, sample_std,
    spread_evenly, student_quantile_95,
};
use laggard_parallel::parallel_map;
use laggard_settings::settings;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

settings! {
    group "combined";
    /// Thresholds of the comparison.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct ChangeSettings {
        /// False discovery rate of the comparison with a baseline, over all sites
        level ("site-fdr"): f64 = 0.05, within(0.0, 1.0), "ours";
        /// A slower site takes more than this factor of its time in the baseline
        factor_min ("site-factor-min"): f64 = 1.05, within(1.0, 1e6), "ours: with enough data the faintest difference is certain";
        /// Fewest requests in the window and in the baseline with which a site is compared
        requests_min ("site-requests-min", "requests"): usize = 10, at_least(1.0), "ours";
        /// Fewest requests that a slower site makes slow
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
    /// If the site is slower only in that more of its calls are slow: then their time is the excess, and `factor` may be 1.
    pub slow_calls: Option<SlowCalls>,
    /// For a slower site, the window's requests whose time exceeds the midpoint, on the log scale, between the expected and
    /// the slower time.
    pub hit: Vec<u32>,
}

impl SiteChange {
    /// Whether the baseline never called the site.
    pub fn is_new(&self) -> bool {
        self.baseline_calls == 0
    }
}

/// Compares every site of the window with the baseline, in the order of the window's sites. Handles of both
/// tables must come from the same names; `services` holds the service of every operation, by handle. Empty when either has
/// too few requests.
pub fn compare_sites(
    baseline: &SiteTable,
    window: &SiteTable,
    services: &[ServiceId],
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
        Some(&earlier) => known_site(site, (baseline, earlier), (window, rows), &blocks),
        None => (new_site(site, baseline, window, rows, &blocks), None),
    });
    let (mut changes, levels): (Vec<SiteChange>, Vec<Option<Levels>>) = compared.into_iter().unzip();
    let groups: Vec<usize> = changes.iter().map(|change| group(change.site, services)).collect();
    test(&mut changes, &levels, (&groups, &BTreeMap::new()), settings);
    let slower = changes.iter().zip(&groups).filter(|(change, _)| change.slower);
    let in_question: BTreeSet<usize> =
        slower.map(|(_, &group)| group).filter(|&group| is_service(group)).collect();
    if !in_question.is_empty() {
        let of_group = |&group: &usize| {
            let members = sites.iter().zip(&groups).filter(|(_, of_site)| **of_site == group);
            let members: Vec<_> =
                members.filter_map(|(&(site, rows), _)| Some((*before.get(&site)?, rows))).collect();
            Some((group, load_effect(baseline, window, &members, &blocks)?))
        };
        let loads: BTreeMap<usize, LoadEffect> = in_question.iter().filter_map(of_group).collect();
        test(&mut changes, &levels, (&groups, &loads), settings);
    }
    let now: BTreeMap<Site, &[Observation]> = window.by_site().collect();
    for (change, levels) in changes.iter_mut().zip(levels).filter(|(change, _)| change.slower) {
        let rows = now[&change.site];
        let earlier = before.get(&change.site).map(|rows| Expected::of(baseline, rows));
        let slow_share = levels.as_ref().and_then(|levels| levels.slow_share.clone());
        change.hit = match slow_share {
            Some(share) if change.slow_calls.is_some() => {
                change.excess_ns = share.excess_ns / totals(window, rows).0;
                change.path_excess_ns = share.path_excess_ns;
                share.hit
            }
            _ => hit(change, earlier.zip(levels.map(|levels| levels.usual)), window, rows),
        };
        change.slower = change.hit.len() >= settings.hit_min;
    }
    changes
}

/// The levels of a site that was called before: of the time, and of the mean of the clipped logs.
struct Levels {
    mean: Level,
    geometric: Level,
    /// The baseline's usual time over its expected time.
    usual: f64,
    /// p-value of the rank test, where calls are few.
    rank_p_value: Option<f64>,
    /// How many calls are slow, where there are enough.
    slow_share: Option<SlowShare>,
}

/// Level of the test that the mean of the logs has risen, where the mean has.
const CORROBORATION_LEVEL: f64 = 0.05;

/// In a service with at least this many sites, the change of one relative to the others is sufficient; in a smaller one, its rise
/// alone is tested as well, at the level of corroboration: it may be the only one affected by the state of the machine.
const SURE_GROUP: usize = 6;

/// Sets factors and p-values of the sites that were called before, and which sites are slower. `groups` has the group of every
/// site, and what is known of the load of some.
fn test(
    changes: &mut [SiteChange],
    levels: &[Option<Levels>],
    (groups, loads): (&[usize], &BTreeMap<usize, LoadEffect>),
    settings: &ChangeSettings,
) {
    let shared_levels = |level: fn(&Levels) -> &Level| -> Vec<Option<Level>> {
        levels.iter().map(|levels| levels.as_ref().map(|levels| level(levels).clone())).collect()
    };
    let (means, geometrics) =
        (shared_levels(|levels| &levels.mean), shared_levels(|levels| &levels.geometric));
    let (alone, relative) = (shifts(&means), relative_shifts(&means, groups));
    let (rose, rose_relative) = (shifts(&geometrics), relative_shifts(&geometrics, groups));
    let mut members: BTreeMap<usize, usize> = BTreeMap::new();
    groups.iter().for_each(|&group| *members.entry(group).or_default() += 1);
    let least = settings.factor_min.ln();
    for (index, change) in changes.iter_mut().enumerate() {
        let (Some(shift), Some(geometric)) = (alone[index], rose[index]) else { continue };
        let reach = student_quantile_95(shift.degrees) * shift.error;
        change.factor_low = (shift.change - reach).exp();
        change.factor_high = (shift.change + reach).exp();
        // A few giants move the mean alone: the mean of the logs must have risen as well. If that has risen by enough, it
        // is sufficient.
        let p_values = |mean: LevelShift, geometric: LevelShift, least: f64| {
            let rose = geometric.p_value(0.0) <= CORROBORATION_LEVEL;
            [if rose { mean.p_value(least) } else { 1.0 }, geometric.p_value(least)]
        };
        let [shift, geometric] = [shift, geometric].map(|shift| match loads.get(&groups[index]) {
            Some(load) => shift.without(load),
            None => shift,
        });
        let mut tests = p_values(shift, geometric, least).to_vec();
        let is_enough =
            members[&groups[index]] >= SURE_GROUP || geometric.p_value(0.0) <= CORROBORATION_LEVEL;
        if let (Some(mean), Some(geometric)) = (relative[index], rose_relative[index])
            && is_enough
            && shift.change > least
        {
            tests.extend(p_values(mean, geometric, 0.0));
        }
        tests.extend(levels[index].as_ref().and_then(|levels| levels.rank_p_value));
        change.p_value = harmonic_mean_p_value(&tests);
    }
    let p_values: Vec<f64> = changes.iter().map(|change| change.p_value).collect();
    let adjusted = benjamini_hochberg(&p_values);
    for ((change, p_adjusted), relative) in changes.iter_mut().zip(adjusted).zip(relative) {
        change.p_adjusted = p_adjusted;
        change.slow_calls = None;
        let relative = relative.map_or(1.0, |shift| shift.change.exp());
        change.slower = p_adjusted <= settings.level
            && change.path_excess_ns > 0.0
            && change.factor >= settings.factor_min
            && change.factor.max(relative) >= settings.factor_min * MATERIAL_FACTOR;
    }
    let shares = levels.iter().map(|levels| levels.as_ref()?.slow_share.as_ref());
    find_slow_calls(changes, &shares.collect::<Vec<_>>(), settings);
}

/// Parts of the baseline of which load and times are compared, for each part of it as long as the window.
const LOAD_PARTS: usize = 4;
/// Most such parts.
const LOAD_PARTS_MAX: usize = 64;

/// How much slower the load makes some sites of a service; `None` where it has not grown or is not known.
fn load_effect(
    baseline: &Keyed<'_>,
    window: &Keyed<'_>,
    members: &[(&[Observation], &[Observation])],
    blocks: &Blocks,
) -> Option<LoadEffect> {
    let parts = (LOAD_PARTS * blocks.baseline / blocks.window.max(1)).clamp(LOAD_PARTS, LOAD_PARTS_MAX);
    let earlier: Vec<&[Observation]> = members.iter().map(|(rows, _)| *rows).collect();
    let now: Vec<&[Observation]> = members.iter().map(|(_, rows)| *rows).collect();
    let times: Vec<Vec<Option<f64>>> = (earlier.iter())
        .map(|rows| {
            let expected = Expected::of(baseline, rows);
            let mut ratios = ExpectedRatios::new(baseline, &expected);
            let bulk = Bulk::of(rows.len(), |index| ratios.log(&rows[index]));
            let part_of = |request: u32| request as usize * parts / baseline.requests.len();
            let usual = |id| (expected.call_ns(id), 1.0);
            let sums = sum_parts(baseline, rows, (usual, bulk), parts, part_of);
            sums.into_iter().map(|sums| Some(sums.value()?.clipped)).collect()
        })
        .collect();
    let now: Vec<f64> = loads(window, &now, LOAD_PARTS).into_iter().flatten().collect();
    LoadEffect::of(
        &loads(baseline, &earlier, parts),
        &common_times(&times),
        (!now.is_empty()).then(|| mean(&now))?,
    )
}

/// A site with calls in at most this many blocks of the window has few calls.
const FEW_BLOCKS: usize = 12;
const RANKED_BLOCKS_MIN: usize = 3;
/// Few calls are compared only where they are slower by this factor: ranks do not know of drift.
const FEW_CALLS_FACTOR_MIN: f64 = 1.5;
/// Pairs of blocks of the exact test, which takes the square of their number of steps.
const RANKED_PAIRS_MAX: usize = 2_000;

/// One-sided p-value of the exact Mann–Whitney test of a site with few calls, whose variance cannot be estimated. Calls of
/// one block may be one burst, so that blocks are compared, not calls.
fn rank_p_value(before: &BlockValues, after: &BlockValues) -> Option<f64> {
    let values =
        |blocks: &BlockValues| -> Vec<f64> { blocks.blocks().map(|block| block.geometric).collect() };
    let (now, earlier) = (values(after), values(before));
    if !(RANKED_BLOCKS_MIN..=FEW_BLOCKS).contains(&now.len())
        || median_of(&now) - median_of(&earlier) < FEW_CALLS_FACTOR_MIN.ln()
    {
        return None;
    }
    let earlier: Vec<f64> =
        spread_evenly(earlier.len(), RANKED_PAIRS_MAX / now.len()).map(|index| earlier[index]).collect();
    Some(mann_whitney_exact(&now, &earlier, Alternative::Greater)?.p_value)
}

/// A slower site is slower by this factor more than the least, by itself or relative to its service: what is certain to be small
/// is not worth an alarm. Where the rest of a service has become faster, a change shows less by itself than it is.
const MATERIAL_FACTOR: f64 = 1.03;

/// Sites between services.
const LINKS: usize = usize::MAX;

const fn is_service(group: usize) -> bool {
    group != LINKS
}

/// Sites that drift together: those of a service; what is between services.
fn group(site: Site, services: &[ServiceId]) -> usize {
    let service =
        |operation: OperationId| services.get(operation.index()).map_or(0, |service| 1 + service.index());
    match site {
        Site::Operation(operation) | Site::Chain(operation) => service(operation),
        Site::Link { .. } => LINKS,
    }
}

/// Requests beyond the midpoint on the log scale. Expected times are multiplied by the baseline's usual level: other incidents in the
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
        if usual > 0.0 { f64::from(row.calls) * usual * change.factor.sqrt() } else { 0.0 }
    };
    let slow = rows.iter().filter(|row| f64::from(row.time_ns) >= limit(row));
    let mut hit: Vec<u32> = slow.map(|row| row.request).collect();
    hit.dedup();
    hit
}

/// The level of a site in the window against its baseline, by one of the values of a block.
fn level(
    before: &BlockValues,
    after: &BlockValues,
    blocks: &Blocks,
    value: fn(&BlockValue) -> f64,
) -> Option<(Level, f64)> {
    let earlier: Vec<f64> = before.blocks().map(|block| value(&block)).collect();
    let now: Vec<f64> = after.blocks().map(|block| value(&block)).collect();
    if earlier.len() < 2 || now.is_empty() {
        return None;
    }
    let batches: Vec<(&[Sums], Option<f64>)> =
        before.batches(blocks.batch).map(|(blocks, batch)| (blocks, batch.as_ref().map(value))).collect();
    let (block_variance, degrees) = variance_within(&batches, &earlier, value);
    let Usual { level: usual, mean_log: usual_log } = usual_level(&batches, blocks.reach(), value)?;
    // One giant request moves the pooled value; the mean of the blocks' logs is lower the fewer calls a block has,
    // and a site may be rarer on one side. A slower site shows in both.
    let pooled = value(&after.pooled) - usual;
    let change = pooled.min(mean(&now) - usual_log);
    let now_variance =
        if now.len() < 2 { block_variance } else { sample_std(&now).max(BLOCK_SPREAD_MIN).powi(2) };
    let level = Level {
        change,
        batches: batches.iter().map(|(_, batch)| batch.map(|batch| batch - usual)).collect(),
        batch_variance: block_variance / blocks.batch as f64,
        baseline: Noise { variance: block_variance / earlier.len() as f64, degrees },
        window: Noise {
            variance: now_variance / now.len() as f64,
            degrees: if now.len() < 2 { degrees } else { now.len() as f64 - 1.0 },
        },
    };
    Some((level, usual.exp()))
}

/// Variance of block values within their batches, and its degrees of freedom; of all blocks where batches are single blocks.
fn variance_within(
    batches: &[(&[Sums], Option<f64>)],
    all: &[f64],
    value: fn(&BlockValue) -> f64,
) -> (f64, f64) {
    let (mut squares, mut degrees) = (0.0, 0.0);
    for (blocks, _) in batches {
        let values: Vec<f64> =
            blocks.iter().filter_map(|sums| sums.value()).map(|block| value(&block)).collect();
        if values.len() > 1 {
            let middle = mean(&values);
            squares += values.iter().map(|value| (value - middle).powi(2)).sum::<f64>();
            degrees += values.len() as f64 - 1.0;
        }
    }
    let variance = if degrees > 0.0 { squares / degrees } else { sample_std(all).powi(2) };
    (variance.max(BLOCK_SPREAD_MIN.powi(2)), if degrees > 0.0 { degrees } else { all.len() as f64 - 1.0 })
}

/// The blocks of baseline and window, the former in the window's mix; `None` if one of them has no calls that count.
fn blocks_of_both(
    (baseline, earlier): (&Keyed<'_>, &[Observation]),
    (window, rows): (&Keyed<'_>, &[Observation]),
    expected: &Expected,
    blocks: &Blocks,
) -> Option<(BlockValues, BlockValues)> {
    let mix = Mix::of((baseline, earlier), (window, rows));
    let mut ratios = ExpectedRatios::new(baseline, expected);
    let bulk = Bulk::of(earlier.len(), |index| ratios.log(&earlier[index]));
    let tilted = |id| (expected.call_ns(id), mix.tilt(id));
    let before = block_values(baseline, earlier, (tilted, bulk), blocks.baseline)?;
    let after = block_values(window, rows, (|id| (expected.call_ns(id), 1.0), bulk), blocks.window)?;
    Some((before, after))
}

/// How much the mean latency of requests has changed, as a logarithm, tested as a site by itself is; `None` if one of both has too
/// few requests. The observations are of whole requests.
pub(crate) fn latency_shift(
    (baseline, earlier): (&SiteTable, &[Observation]),
    (window, now): (&SiteTable, &[Observation]),
) -> Option<LevelShift> {
    let requests = (baseline.requests.len(), window.requests.len());
    if requests.0.min(requests.1) < ChangeSettings::default().requests_min {
        return None;
    }
    let blocks = Blocks::choose(requests.0, requests.1);
    let (baseline, window) = (Keyed::new(baseline), Keyed::new(window));
    let expected = Expected::of(&baseline, earlier);
    let (before, after) = blocks_of_both((&baseline, earlier), (&window, now), &expected, &blocks)?;
    let (level, _) = level(&before, &after, &blocks, |block| block.mean)?;
    shifts(&[Some(level)])[0]
}

/// Compares a site that the baseline called as well; the test is that of all sites together.
fn known_site(
    site: Site,
    (baseline, earlier): (&Keyed<'_>, &[Observation]),
    (window, rows): (&Keyed<'_>, &[Observation]),
    blocks: &Blocks,
) -> (SiteChange, Option<Levels>) {
    let mut change = unchanged(site, window, rows);
    change.baseline_calls = earlier.iter().map(|row| u64::from(row.calls)).sum();
    let expected = Expected::of(baseline, earlier);
    let both = blocks_of_both((baseline, earlier), (window, rows), &expected, blocks);
    let Some((before, after)) = both else { return (change, None) };
    let by_mean = level(&before, &after, blocks, |block| block.mean);
    let by_logs = level(&before, &after, blocks, |block| block.clipped);
    let (Some((mean, usual)), Some((geometric, _))) = (by_mean, by_logs) else { return (change, None) };
    change.factor = mean.change.exp();
    let part = (1.0 - 1.0 / change.factor).max(0.0);
    let (calls, time, path) = totals(window, rows);
    change.excess_ns = part * time / calls;
    change.path_excess_ns = part * path;
    let rank_p_value = rank_p_value(&before, &after);
    let slow_share = SlowShare::of((baseline, earlier), (window, rows), &expected, blocks);
    (change, Some(Levels { mean, geometric, usual, rank_p_value, slow_share }))
}

/// A site that the baseline never called, although it has enough requests.
fn new_site(
    site: Site,
    baseline: &SiteTable,
    window: &Keyed<'_>,
    rows: &[Observation],
    blocks: &Blocks,
) -> SiteChange {
    let mut change = unchanged(site, window, rows);
    let (calls, time, path) = totals(window, rows);
    // If the site were called equally often in both, each call would be in the window with this probability. Rare calls
    // come in bursts, so those of one block count once.
    let share = window.requests.len() as f64 / (window.requests.len() + baseline.requests.len()) as f64;
    let block_of = |row: &Observation| row.request as usize * blocks.window / window.requests.len();
    let bursts = rows.chunk_by(|a, b| block_of(a) == block_of(b)).count();
    change.p_value = share.powf(bursts as f64);
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
        slow_calls: None,
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
