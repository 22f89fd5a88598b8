//! The largest penalty, and so the fewest segments, within an allowed error.

use std::collections::HashMap;
use std::ops::Range;

use super::regression::error_percent;
use super::{CostTable, PathSearch, WindowRegression, entropy_share};

/// Halvings of `λ = 1` until it is taken as 0: windows fitted one by one have no error.
const HALVINGS_MAX: u32 = 60;
/// Doublings: one segment is reached long before.
const DOUBLINGS_MAX: u32 = 100;
/// Bisections between the last penalty within the budget and the first beyond.
const BISECTIONS: u32 = 14;
/// After every so many of them, whether the rest can be known without a search is found out by one.
const SHORTCUT_EVERY: u32 = 3;
/// Costs that differ by this share are the same but for rounding.
const SAME_COST: f64 = 1e-12;

/// How much error a segmentation may have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ErrorBudget {
    /// `100 Σ|e| / Σu` over all windows may be at most this.
    pub(crate) percent: f64,
    /// If given, also within every segment of at least so many windows: a short change hides in a long average.
    pub(crate) segment_windows_min: Option<usize>,
}

/// Cuts within the budget.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Segmentation {
    /// Windows at which segments begin, from 0, and the number of windows.
    pub(crate) cuts: Vec<usize>,
    /// The penalty `λ` that gave them, in percent points.
    pub(crate) lambda: f64,
    /// `Σ w1`, in percent points …
    pub(crate) misfit: f64,
    /// … and `Σ w2`.
    pub(crate) entropy: f64,
    /// Its relative absolute error over all windows in percent.
    pub(crate) error_percent: f64,
    /// Whether it keeps the budget. On a grid none may.
    pub(crate) within_budget: bool,
}

impl Segmentation {
    /// The segments, in order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Range<usize>> {
        self.cuts.windows(2).map(|pair| pair[0]..pair[1])
    }
}

/// `Σ|e|` and `Σu` of segments, found once, whatever penalty asks for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentErrors {
    known: HashMap<Range<usize>, SegmentError>,
    /// Windows forgotten since the beginning: what is known goes by numbers that stay.
    dropped: usize,
}

#[derive(Clone, Copy, Debug)]
struct SegmentError {
    absolute: f64,
    load: f64,
}

/// Beyond so many segments, all are forgotten.
const KNOWN_MAX: usize = 100_000;

impl SegmentErrors {
    fn of(&mut self, regression: &WindowRegression, segment: &Range<usize>) -> SegmentError {
        let key = segment.start + self.dropped..segment.end + self.dropped;
        *self.known.entry(key).or_insert_with(|| {
            let fit = regression.fit(std::slice::from_ref(segment));
            SegmentError { absolute: fit.absolute, load: fit.load }
        })
    }

    /// Follows a regression that forgot its first window.
    pub(crate) fn drop_first(&mut self) {
        self.dropped += 1;
        if self.known.len() > KNOWN_MAX {
            self.known.clear();
        }
    }
}

/// The segmentation of the largest penalty whose error is within `budget` (section 4.3; the print doubles `λ` while
/// the error is too *large*, which makes it larger still; here it doubles while the budget holds).
///
/// From `λ = 1` doubled while the budget holds, or halved until it does, then 14 bisections; about 22
/// segmentations in all. The error need not grow steadily with `λ`, so "largest" is of those tried.
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

/// The penalty at which `bad` becomes cheaper than `good`, if nothing else is ever cheapest in between.
///
/// The least cost is a concave function of `λ`, the lowest of the lines `W1 + λ W2`. If it is on both lines where they
/// cross, then each is the lowest from its own penalty up to there, and no other segmentation needs to be sought.
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

/// A segmentation within the budget and a larger penalty beyond it, a factor 2 apart; no such when one segment
/// is within the budget.
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

/// Cuts and how they were found.
pub(super) struct WindowCut {
    pub(super) cuts: Vec<usize>,
    pub(super) lambda: f64,
    /// `Σ w1 + λ Σ w2`.
    pub(super) cost: f64,
}

/// The error of given cuts.
pub(super) fn assess(
    regression: &WindowRegression,
    budget: ErrorBudget,
    errors: &mut SegmentErrors,
    found: WindowCut,
) -> Segmentation {
    let WindowCut { cuts, lambda, cost } = found;
    let entropy =
        cuts.windows(2).map(|pair| entropy_share(pair[1] - pair[0], regression.windows())).sum::<f64>();
    let (mut absolute, mut load, mut within) = (0.0, 0.0, true);
    for segment in cuts.windows(2).map(|pair| pair[0]..pair[1]) {
        let error = errors.of(regression, &segment);
        absolute += error.absolute;
        load += error.load;
        let judged = budget.segment_windows_min.is_some_and(|least| segment.len() >= least);
        within &= !judged || error_percent(error.absolute, error.load) <= budget.percent;
    }
    let error_percent = error_percent(absolute, load);
    let within_budget = within && error_percent <= budget.percent;
    Segmentation { cuts, lambda, misfit: cost - lambda * entropy, entropy, error_percent, within_budget }
}
