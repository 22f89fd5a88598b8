//! Requests cut into blocks, and the times that the baseline predicts for them.

use crate::sites::bulk::Bulk;
use crate::sites::per_category::{Keyed, PerCategory};
use crate::sites::table::Observation;
use laggard_model::Fingerprint;

/// How requests are cut into blocks of equally many requests, and the baseline's blocks into batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Blocks {
    pub(crate) baseline: usize,
    pub(crate) window: usize,
    /// Consecutive blocks of the baseline that form a batch, which has as many requests as the window, or fewer in a short
    /// baseline.
    pub(crate) batch: usize,
}

/// The shorter of window and baseline is cut into about this many blocks.
const BLOCKS: usize = 16;
/// Fewest requests of a block.
const BLOCK_REQUESTS_MIN: usize = 5;
/// Fewest batches of a baseline.
const BATCHES_MIN: usize = 8;
/// In a long baseline, batches within this many standard deviations of the median have full weight.
const REACH: f64 = 3.0;
// Limit: blocks of a baseline | longer blocks
/// Most blocks of a baseline.
const BASELINE_BLOCKS_MAX: usize = 4096;

impl Blocks {
    /// Divides a baseline and a window into blocks, given their numbers of requests.
    pub(crate) fn choose(baseline: usize, window: usize) -> Blocks {
        let requests =
            (baseline.min(window) / BLOCKS).max(BLOCK_REQUESTS_MIN).max(baseline / BASELINE_BLOCKS_MAX);
        let blocks = |all: usize| (all / requests).max(2);
        let batch = (window / requests).min(blocks(baseline) / BATCHES_MIN).max(1);
        Blocks { baseline: blocks(baseline), window: blocks(window).min(BASELINE_BLOCKS_MAX), batch }
    }

    /// Standard deviations from the median batch that are part of what is usual. With few batches as long as the window, what is
    /// slow for a part of the baseline is.
    pub(crate) fn reach(&self) -> f64 {
        let windows = self.baseline as f64 / self.window as f64;
        REACH * (BATCHES_MIN as f64 / windows).max(1.0).powi(2)
    }
}

/// Figures of the categories that call a site, in ascending order: built for every site, a sorted vector takes a fraction of the time of
/// a tree.
struct ByCategory(Vec<(Fingerprint, f64)>);

impl ByCategory {
    fn new(figures: impl Iterator<Item = (Fingerprint, f64)>) -> ByCategory {
        let mut figures: Vec<(Fingerprint, f64)> = figures.collect();
        figures.sort_unstable_by_key(|(category, _)| *category);
        ByCategory(figures)
    }

    fn get(&self, category: Fingerprint) -> Option<f64> {
        let index = self.0.binary_search_by_key(&category, |(category, _)| *category).ok()?;
        Some(self.0[index].1)
    }
}

/// Expected time of a call, by category, from the baseline.
pub(crate) struct Expected {
    overall_ns: f64,
    by_category: ByCategory,
}

/// Weight of the site's mean in the expected time of a category, in calls.
const SHRINKAGE_CALLS: f64 = 5.0;

impl Expected {
    pub(crate) fn of(table: &Keyed<'_>, rows: &[Observation]) -> Expected {
        let mut by_category: PerCategory<(f64, f64)> = PerCategory::new(table);
        let mut all = (0.0, 0.0);
        for row in rows {
            let key = table.key(row);
            let weight = f64::from(key.weight);
            let sums = by_category.value(key.category, || (0.0, 0.0));
            for sums in [sums, &mut all] {
                sums.0 += weight * f64::from(row.time_ns);
                sums.1 += weight * f64::from(row.calls);
            }
        }
        let overall_ns = (all.0 / all.1).max(1.0);
        let mean =
            |(time, calls): (f64, f64)| (time + SHRINKAGE_CALLS * overall_ns) / (calls + SHRINKAGE_CALLS);
        let means = by_category.into_pairs();
        let means = means.map(|(category, sums)| (table.categories[category as usize], mean(sums)));
        Expected { overall_ns, by_category: ByCategory::new(means) }
    }

    /// Whether the baseline has calls of a category.
    pub(crate) fn knows(&self, category: Fingerprint) -> bool {
        self.by_category.get(category).is_some()
    }

    pub(crate) fn call_ns(&self, category: Fingerprint) -> f64 {
        self.by_category.get(category).unwrap_or(self.overall_ns)
    }
}

/// Times of calls over the expected times, which are looked up once for each category.
pub(crate) struct ExpectedRatios<'a> {
    table: &'a Keyed<'a>,
    expected: &'a Expected,
    known: PerCategory<f64>,
}

impl<'a> ExpectedRatios<'a> {
    pub(crate) fn new(table: &'a Keyed<'a>, expected: &'a Expected) -> ExpectedRatios<'a> {
        ExpectedRatios { table, expected, known: PerCategory::new(table) }
    }

    /// The logarithm of the time of a call over the expected time.
    pub(crate) fn log(&mut self, row: &Observation) -> f64 {
        let category = self.table.key(row).category;
        let expected = || self.expected.call_ns(self.table.categories[category as usize]);
        let call_ns = *self.known.value(category, expected);
        (f64::from(row.time_ns).max(1.0) / (f64::from(row.calls) * call_ns)).ln()
    }
}

/// Calls of each category in the window relative to the baseline.
pub(crate) struct Mix {
    tilts: ByCategory,
}

impl Mix {
    pub(crate) fn of(baseline: (&Keyed<'_>, &[Observation]), window: (&Keyed<'_>, &[Observation])) -> Mix {
        let calls = |(table, rows): (&Keyed<'_>, &[Observation])| {
            let mut calls: PerCategory<f64> = PerCategory::new(table);
            for row in rows {
                let key = table.key(row);
                *calls.value(key.category, || 0.0) += f64::from(key.weight) * f64::from(row.calls);
            }
            let named = |(category, calls): (u32, f64)| (table.categories[category as usize], calls);
            ByCategory::new(calls.into_pairs().map(named))
        };
        let now = calls(window);
        let mut tilts = calls(baseline);
        tilts.0.iter_mut().for_each(|(id, calls)| *calls = now.get(*id).unwrap_or(0.0) / *calls);
        // Without a common category there is no mix to adjust for.
        if !tilts.0.iter().any(|(_, tilt)| *tilt > 0.0) {
            tilts.0.clear();
        }
        Mix { tilts }
    }

    /// Weight of a baseline call, so that the baseline has the window's mix: otherwise chance variation of a category
    /// that is rare there and common here would look like a change.
    pub(crate) fn tilt(&self, category: Fingerprint) -> f64 {
        if self.tilts.0.is_empty() { 1.0 } else { self.tilts.get(category).unwrap_or(0.0) }
    }
}

/// One block's time against the expected time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct BlockValue {
    /// Log of the time over the time expected: sensitive to a few very long calls.
    pub(crate) mean: f64,
    /// Mean of the logs by request: sensitive to a small slowdown of all, robust against a few long calls.
    pub(crate) geometric: f64,
    /// The same of logs that are limited to the bulk: robust against modes as well.
    pub(crate) clipped: f64,
}

/// Values of consecutive blocks.
#[derive(Clone, Debug)]
pub(crate) struct BlockValues {
    sums: Vec<Sums>,
    /// Of all blocks pooled. Not the mean of the blocks' logs, which is biased low when a block has few calls.
    pub(crate) pooled: BlockValue,
}

impl BlockValues {
    /// Values of the blocks that have calls.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = BlockValue> + '_ {
        self.sums.iter().filter_map(|sums| sums.value())
    }

    /// Every so many consecutive blocks, and the value of them pooled; `None` without calls. Blocks at the end that are too
    /// few for a batch are left out.
    pub(crate) fn batches(&self, blocks: usize) -> impl Iterator<Item = (&[Sums], Option<BlockValue>)> {
        self.sums.chunks_exact(blocks).map(|blocks| (blocks, pooled(blocks)))
    }
}

fn pooled(blocks: &[Sums]) -> Option<BlockValue> {
    let mut all = Sums::default();
    blocks.iter().for_each(|sums| all.add(*sums));
    all.value()
}

/// Sums over some of a site's observations.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Sums {
    time: f64,
    usual: f64,
    logs: f64,
    clipped: f64,
    weight: f64,
}

impl Sums {
    pub(crate) fn add(&mut self, other: Sums) {
        self.time += other.time;
        self.usual += other.usual;
        self.logs += other.logs;
        self.clipped += other.clipped;
        self.weight += other.weight;
    }

    pub(crate) fn times(self, weight: f64) -> Sums {
        Sums {
            time: weight * self.time,
            usual: weight * self.usual,
            logs: weight * self.logs,
            clipped: weight * self.clipped,
            weight: weight * self.weight,
        }
    }

    /// `None` when nothing was summed.
    pub(crate) fn value(self) -> Option<BlockValue> {
        (self.weight > 0.0).then(|| BlockValue {
            mean: (self.time.max(1.0) / self.usual.max(1.0)).ln(),
            geometric: self.logs / self.weight,
            clipped: self.clipped / self.weight,
        })
    }
}

/// Sums by part. `expected` returns the expected time of a call of a category and the weight of such a call; `bulk` is that
/// of the logarithms of times over expected times; `part_of` returns the part of a request, below `parts`.
pub(crate) fn sum_parts(
    table: &Keyed<'_>,
    rows: &[Observation],
    (expected, bulk): (impl Fn(Fingerprint) -> (f64, f64), Bulk),
    parts: usize,
    part_of: impl Fn(u32) -> usize,
) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); parts];
    let mut known: PerCategory<(f64, f64)> = PerCategory::new(table);
    for row in rows {
        let key = table.key(row);
        let (usual, tilt) = *known.value(key.category, || expected(table.categories[key.category as usize]));
        let weight = f64::from(key.weight) * tilt;
        let (time, usual) = (f64::from(row.time_ns), f64::from(row.calls) * usual);
        let log = (time.max(1.0) / usual).ln();
        sums[part_of(row.request)].add(Sums {
            time: weight * time,
            usual: weight * usual,
            logs: weight * log,
            clipped: weight * bulk.clip(log),
            weight,
        });
    }
    sums
}

/// The values of `blocks` blocks with equally many requests; see [`sum_parts`] for the others. `None` without any
/// call that counts.
pub(crate) fn block_values(
    table: &Keyed<'_>,
    rows: &[Observation],
    expected_and_bulk: (impl Fn(Fingerprint) -> (f64, f64), Bulk),
    blocks: usize,
) -> Option<BlockValues> {
    let block_of = |request: u32| request as usize * blocks / table.requests.len();
    let sums = sum_parts(table, rows, expected_and_bulk, blocks, block_of);
    Some(BlockValues { pooled: pooled(&sums)?, sums })
}
