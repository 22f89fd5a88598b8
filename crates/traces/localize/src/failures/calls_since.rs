//! Calls that are no longer made from some time of the window on: what there is to compare with without a baseline.
//!
//! ```text
//! share of the calls of `get` that do not call `read`
//!
//!        ▗▄▄▄▄▄▄▄▄▄▄▄          an early return: the share rises at once
//!  ▁▁▁▁▁▁▐███████████
//!
//!          ▂▃▄▅▆▆▇▇▇▇          a cache that fills: it rises little by little, as it should
//!  ▁▁▁▁▂▃▅▇██████████
//! ```
//!
//! The window is cut at the most likely change of the share, and the later part compared with the earlier one as a window is
//! with its baseline. As the time is selected, p-values are multiplied by the number of blocks.

use crate::failures::FailureSettings;
use crate::failures::calls::{
    CallChange, CallChangeKind, DRIFT_FACTOR, NEW_CALLER_CALLS_MIN, Pair, PairCount, Population, by_caller,
    pairs_of,
};
use crate::failures::errors::SIDE_BLOCKS_MIN;
use crate::failures::outcomes::{CallPaths, OutcomeTable};
use crate::failures::rates::{BlockCount, rise, total};
use crate::sites::Blocks;
use laggard_model::OperationId;

/// Before, at least this share of the caller's calls made the call: what most calls do without may be optional.
const USUAL_SHARE_MIN: f64 = 0.5;
/// Blocks on either side of the onset that show whether the share changed at once.
const NEAR_BLOCKS: usize = 2;
/// Part of the whole change that they must show.
const SUDDEN_PART_MIN: f64 = 0.5;

/// Without a baseline: calls that are missing from some time of the window on, by caller; those that miss the most first. Only
/// operations for which `counts` are expected to be called.
pub fn missing_calls_since(
    window: &OutcomeTable,
    settings: &FailureSettings,
    counts: impl Fn(OperationId) -> bool,
) -> Vec<CallChange> {
    let blocks = Blocks::choose(window.rows, window.rows).window;
    if blocks < 2 * SIDE_BLOCKS_MIN {
        return Vec::new();
    }
    let mut paths = CallPaths::default();
    let requests = Population::new(window, &mut paths);
    let totals = requests.totals(paths.paths.len());
    let may_be_missing = |pair: &Pair| {
        let fewest = (settings.requests_min as f64).max(settings.share_min * pair.later.callers);
        pair.later.without() >= fewest && pair.later.with >= fewest && counts(pair.callee)
    };
    let pairs: Vec<Pair> = pairs_of(&paths, &totals, &totals).into_iter().filter(may_be_missing).collect();
    let tests = (pairs.len() * blocks) as f64;
    let search = OnsetSearch { requests, blocks, tests, settings };
    by_caller(pairs.iter().filter_map(|pair| search.missing_since(pair)).collect())
}

struct OnsetSearch<'a> {
    requests: Population<'a>,
    blocks: usize,
    /// Number of hypotheses: pairs of caller and callee, times when the share may have changed.
    tests: f64,
    settings: &'a FailureSettings,
}

impl OnsetSearch<'_> {
    fn missing_since(&self, pair: &Pair) -> Option<CallChange> {
        let mut counts = vec![PairCount::default(); self.blocks];
        self.requests.each_request(pair, |request, count| {
            counts[self.requests.block(request, self.blocks)].add(&count);
        });
        let missing: Vec<BlockCount> = counts.iter().map(without_callee).collect();
        let onset = onset(&missing, self.settings.factor_min)?;
        let mut sides = [PairCount::default(); 2];
        for (block, count) in counts.iter().enumerate() {
            sides[usize::from(block >= onset)].add(count);
        }
        let [earlier, later] = sides;
        let expected = rate(without_callee(&earlier)) * without_callee(&later).exposure;
        let difference = later.without() - expected;
        let is_usual =
            earlier.callers >= NEW_CALLER_CALLS_MIN && earlier.with >= USUAL_SHARE_MIN * earlier.callers;
        let fewest = (self.settings.requests_min as f64).max(self.settings.share_min * later.callers);
        if !is_usual || difference < fewest || !is_sudden(&missing, onset) {
            return None;
        }
        let p_adjusted = (self.tests * p_value(&missing, onset)).min(1.0);
        if p_adjusted > self.settings.level {
            return None;
        }
        let mut hit = Vec::new();
        self.requests.each_request(pair, |request, count| {
            if count.without() > 0.0 && self.requests.block(request, self.blocks) >= onset {
                hit.push(request);
            }
        });
        hit.sort_unstable();
        Some(CallChange {
            kind: CallChangeKind::Missing,
            caller: pair.caller,
            callees: vec![pair.callee],
            calls: later.callers as u64,
            rate: later.with / later.callers,
            usual_rate: 1.0 - expected / later.callers,
            p_adjusted,
            difference: -difference,
            hit,
        })
    }
}

/// Calls of the caller without the callee, and how many there would be if they were spread evenly over the window.
fn without_callee(count: &PairCount) -> BlockCount {
    BlockCount { events: count.without(), exposure: (count.callers - count.expected.with).max(0.0) }
}

fn rate(count: BlockCount) -> f64 {
    count.events / count.exposure.max(f64::MIN_POSITIVE)
}

/// The first block of the later part of the most likely split into an earlier, lower and a later rate, which is at least
/// `factor_min` times as high.
fn onset(counts: &[BlockCount], factor_min: f64) -> Option<usize> {
    let likelihood = |part: BlockCount| if part.events > 0.0 { part.events * rate(part).ln() } else { 0.0 };
    let splits = (SIDE_BLOCKS_MIN..=counts.len() - SIDE_BLOCKS_MIN).filter_map(|onset| {
        let (before, after) = (total(&counts[..onset]), total(&counts[onset..]));
        let has_risen = before.exposure > 0.0 && rate(after) >= factor_min * rate(before);
        (has_risen && after.events > 0.0).then(|| (onset, likelihood(before) + likelihood(after)))
    });
    splits.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(onset, _)| onset)
}

/// Of the hypothesis that the rate has not risen by more than it drifts.
fn p_value(counts: &[BlockCount], onset: usize) -> f64 {
    let (before, after) = counts.split_at(onset);
    let batch = after.len().min(before.len() / SIDE_BLOCKS_MIN);
    let parts = Blocks { baseline: before.len(), window: after.len(), batch };
    rise(before, after, &parts, DRIFT_FACTOR)
}

/// Whether the blocks next to the onset show a good part of the change.
fn is_sudden(counts: &[BlockCount], onset: usize) -> bool {
    let step = |before: &[BlockCount], after: &[BlockCount]| rate(total(after)) - rate(total(before));
    let near = step(&counts[onset - NEAR_BLOCKS..onset], &counts[onset..onset + NEAR_BLOCKS]);
    near >= SUDDEN_PART_MIN * step(&counts[..onset], &counts[onset..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failures::outcomes::{OutcomeTree, RequestNumbers};

    const REQUESTS: u32 = 1_600;

    fn operation(index: usize) -> OperationId {
        OperationId::from_index(index)
    }

    /// Requests in which `get` (1), called by `buy` (0), calls `read` (2) where `reads` says so.
    fn findings(reads: impl Fn(u32) -> bool) -> Vec<CallChange> {
        let tree = |operations: usize| OutcomeTree {
            operation: (0..operations).map(operation).collect(),
            parent: (0..operations as u32).map(|node| node.checked_sub(1)).collect(),
        };
        let all = (0..REQUESTS).map(|number| RequestNumbers { row: number, number });
        let (with, without) = all.partition(|request| reads(request.number));
        let table = OutcomeTable {
            trees: vec![tree(2), tree(3)],
            clean: vec![without, with],
            failed: Vec::new(),
            rows: REQUESTS as usize,
        };
        missing_calls_since(&table, &FailureSettings::default(), |_| true)
    }

    /// Whether a request is among the given share of all, spread evenly.
    fn is_in(share: f64, number: u32) -> bool {
        (f64::from(number) * 0.618_034).fract() < share
    }

    #[test]
    fn half_of_the_calls_return_early_from_a_fifth_of_the_window_on() {
        let found = findings(|number| number < 320 || is_in(0.5, number));
        let [change] = &found[..] else { panic!("{found:?}") };
        assert_eq!((change.caller, &change.callees[..]), (operation(1), &[operation(2)][..]));
        // Onsets are those of blocks of a hundred requests.
        assert!(change.calls == 1_300 && (0.48..0.54).contains(&change.rate), "{change:?}");
        assert!((change.usual_rate - 1.0).abs() < 1e-9, "{change:?}");
        assert!(change.hit.iter().all(|request| request.row >= 300 && !is_in(0.5, request.number)));
        assert_eq!(change.hit.len(), (320..REQUESTS).filter(|&number| !is_in(0.5, number)).count());
    }

    #[test]
    fn what_is_missing_all_the_time_in_a_burst_or_until_some_time_is_usual() {
        assert_eq!(findings(|number| is_in(0.6, number)), []);
        assert_eq!(findings(|number| !(700..760).contains(&number)), [], "a burst");
        assert_eq!(findings(|number| number > 800 || is_in(0.5, number)), [], "until the middle");
        assert_eq!(findings(|number| number > 10), [], "hardly ever");
    }

    #[test]
    fn a_cache_that_fills_is_usual() {
        let filled = |number: u32| (f64::from(number) / f64::from(REQUESTS) * 2.0).min(1.0);
        assert_eq!(findings(|number| !is_in(0.9 * filled(number), number)), []);
        assert_eq!(
            findings(|number| is_in(if number < 320 { 0.4 } else { 0.1 }, number)),
            [],
            "was optional before"
        );
    }
}
