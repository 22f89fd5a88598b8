//! The largest penalty, and so the fewest segments, within an allowed error.

use std::collections::HashMap;
use std::ops::Range;

use super::regression::error_percent;
use super::{CostTable, PathSearch, WindowRegression, entropy_share};

/// Maximum number of halvings of `λ = 1`; then `λ = 0` is used: windows fitted one by one have no error.
const HALVINGS_MAX: u32 = 60;
/// Maximum number of doublings: one segment is reached long before.
const DOUBLINGS_MAX: u32 = 100;
/// Number of bisections between the last penalty within the budget and the first beyond.
const BISECTIONS: u32 = 14;
/// After this many bisections each time, tests whether the others can do without a search ([`only_switch`]).
const SHORTCUT_EVERY: u32 = 3;
/// Relative difference of costs that is attributed to rounding.
const SAME_COST: f64 = 1e-12;

/// How much error a segmentation may have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ErrorBudget {
    /// `100 Σ|e| / Σu` over all windows may be at most this.
    pub(crate) percent: f64,
    /// If set, the limit also applies to every segment of at least this many windows: a long average hides a short change.
    pub(crate) segment_windows_min: Option<usize>,
}

/// Cuts within the budget.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Segmentation {
    /// First windows of the segments, from 0, and the number of windows.
    pub(crate) cuts: Vec<usize>,
    /// The penalty `λ`, in percentage points.
    pub(crate) lambda: f64,
    /// `Σ w1`, in percentage points.
    pub(crate) misfit: f64,
    /// `Σ w2`.
    pub(crate) entropy: f64,
    /// Its relative absolute error over all windows in percent.
    pub(crate) error_percent: f64,
    /// Whether it is within the budget. On a grid there may be no such segmentation.
    pub(crate) within_budget: bool,
}

impl Segmentation {
    /// The segments, in order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Range<usize>> {
        self.cuts.windows(2).map(|pair| pair[0]..pair[1])
    }
}

/// A cache of `Σ|e|` and `Σu` by segment, shared by all penalties.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentErrors {
    known: HashMap<Range<usize>, SegmentError>,
    /// Number of windows dropped; segments are keyed by window numbers counted from the first window ever.
    dropped: usize,
}

#[derive(Clone, Copy, Debug)]
struct SegmentError {
    absolute: f64,
    load: f64,
}

/// Maximum number of cached segments; beyond, the cache is cleared.
const KNOWN_MAX: usize = 100_000;

impl SegmentErrors {
    fn get(&mut self, regression: &WindowRegression, segment: &Range<usize>) -> SegmentError {
        let key = segment.start + self.dropped..segment.end + self.dropped;
        *self.known.entry(key).or_insert_with(|| {
            let fit = regression.fit(std::slice::from_ref(segment));
            SegmentError { absolute: fit.absolute, load: fit.load }
        })
    }

    /// Drops the first window.
    pub(crate) fn drop_first(&mut self) {
        self.dropped += 1;
        if self.known.len() > KNOWN_MAX {
            self.known.clear();
        }
    }
}

/// The segmentation of the largest penalty whose error is within `budget` (section 4.3; the paper doubles `λ` while
/// the error is too *large*, which increases the error further; here it doubles while the budget holds).
///
/// Starting from `λ = 1`, doubles it while the budget holds, or halves it until it does, then bisects 14 times: about 22
/// segmentations in all. The error may decrease with `λ`, so the result is the largest penalty of those tried.
pub(crate) fn search_penalty(
    regression: &WindowRegression,
    table: &CostTable,
    budget: ErrorBudget,
    errors: &mut SegmentErrors,
) -> Segmentation {
    let paths = PathSearch::new(table);
    let mut attempt = |lambda: f64| {
        let path = paths.cheapest(lambda);
        let cuts: Vec<usize> = path.points.iter().map(|&point| table.points()[point]).collect();
        assess(regression, budget, errors, WindowCut { cuts, lambda, cost: path.cost })
    };
    let (mut good, mut beyond) = bracket(&mut attempt);
    let mut switch = None;
    for round in 0..BISECTIONS {
        let Some(bad) = &beyond else { break };
        if switch.is_none() && round % SHORTCUT_EVERY == SHORTCUT_EVERY - 1 {
            switch = only_switch(&good, bad, &mut attempt);
        }
        let lambda = 0.5 * (good.lambda + bad.lambda);
        let middle = match switch {
            Some(switch) if lambda < switch => Segmentation { lambda, ..good.clone() },
            Some(_) => Segmentation { lambda, ..bad.clone() },
            None => attempt(lambda),
        };
        if middle.within_budget { good = middle } else { beyond = Some(middle) }
    }
    good
}

/// The penalty at which `bad` becomes cheaper than `good`, if no other segmentation is cheapest in between.
///
/// The least cost is a concave function of `λ`: the minimum of the lines `W1 + λ W2`. If the minimum is on both lines where
/// they cross, then each is the minimum from its own penalty up to there, and no other segmentation needs to be searched.
fn only_switch(
    good: &Segmentation,
    bad: &Segmentation,
    attempt: &mut impl FnMut(f64) -> Segmentation,
) -> Option<f64> {
    let lambda = (bad.misfit - good.misfit) / (good.entropy - bad.entropy);
    if !(good.lambda..=bad.lambda).contains(&lambda) {
        return None;
    }
    let between = attempt(lambda);
    let line = good.misfit + lambda * good.entropy;
    let least = between.misfit + lambda * between.entropy;
    (least >= line - SAME_COST * line).then_some(lambda)
}

/// A segmentation within the budget, and one beyond it with twice the penalty; no latter if a single segment is within the
/// budget.
fn bracket(attempt: &mut impl FnMut(f64) -> Segmentation) -> (Segmentation, Option<Segmentation>) {
    let mut good = attempt(1.0);
    if !good.within_budget {
        return halve(good, attempt);
    }
    for _ in 0..DOUBLINGS_MAX {
        if good.cuts.len() == 2 {
            break;
        }
        let next = attempt(2.0 * good.lambda);
        if !next.within_budget {
            return (good, Some(next));
        }
        good = next;
    }
    (good, None)
}

fn halve(
    first: Segmentation,
    attempt: &mut impl FnMut(f64) -> Segmentation,
) -> (Segmentation, Option<Segmentation>) {
    let mut beyond = first;
    for _ in 0..HALVINGS_MAX {
        let next = attempt(0.5 * beyond.lambda);
        if next.within_budget {
            return (next, Some(beyond));
        }
        beyond = next;
    }
    (attempt(0.0), None)
}

/// Cuts with their penalty and cost.
pub(super) struct WindowCut {
    pub(super) cuts: Vec<usize>,
    pub(super) lambda: f64,
    /// `Σ w1 + λ Σ w2`.
    pub(super) cost: f64,
}

/// The segmentation at `cut`, with its errors.
pub(super) fn assess(
    regression: &WindowRegression,
    budget: ErrorBudget,
    errors: &mut SegmentErrors,
    cut: WindowCut,
) -> Segmentation {
    let WindowCut { cuts, lambda, cost } = cut;
    let entropy =
        cuts.windows(2).map(|pair| entropy_share(pair[1] - pair[0], regression.windows())).sum::<f64>();
    let (mut absolute, mut load, mut within) = (0.0, 0.0, true);
    for segment in cuts.windows(2).map(|pair| pair[0]..pair[1]) {
        let error = errors.get(regression, &segment);
        absolute += error.absolute;
        load += error.load;
        let is_checked = budget.segment_windows_min.is_some_and(|least| segment.len() >= least);
        within &= !is_checked || error_percent(error.absolute, error.load) <= budget.percent;
    }
    let error_percent = error_percent(absolute, load);
    let within_budget = within && error_percent <= budget.percent;
    Segmentation { cuts, lambda, misfit: cost - lambda * entropy, entropy, error_percent, within_budget }
}
