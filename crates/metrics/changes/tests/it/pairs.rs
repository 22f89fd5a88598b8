//! Pairs of runs of one server, one after the other, with known differences of cost, waiting, and load.

use laggard_changes::{Analysis, Change, ChangeKind, ChangeSettings, Observations, changes};
use laggard_numeric::Matrix;
use std::num::NonZeroUsize;

use crate::queue::Queue;

/// The difference between the runs of a pair besides the load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Difference {
    /// Nothing.
    None,
    /// The CPU cost of the first type is multiplied by this factor.
    Cost(f64),
    /// The first type waits for this multiple of its demand, without CPU.
    Wait(f64),
    /// The first type uses this multiple of its demand in the background, which delays no response.
    Background(f64),
    /// The CPU cost of all types is multiplied by this factor.
    Host(f64),
}

/// A pair of runs.
pub(crate) struct Pair {
    /// Both runs.
    pub(crate) observations: Observations,
    /// The first window of the second run.
    pub(crate) cut: usize,
    /// Demands before and after.
    pub(crate) demand_s: [Vec<f64>; 2],
}

/// Windows of ten seconds of each run.
pub(crate) const WINDOWS: usize = 360;

/// A pair at these loads, with random demands and mix.
pub(crate) fn pair(difference: Difference, loads: [f64; 2], types: usize, seed: u64) -> Pair {
    let mut state = seed * 7919 + types as u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let before_s: Vec<f64> = (0..types).map(|_| 0.01 * (1.0 + 9.0 * draw())).collect();
    let shares: Vec<f64> = (0..types).map(|_| 0.5 + draw()).collect();
    let mut after_s = before_s.clone();
    match difference {
        Difference::Cost(factor) => after_s[0] *= factor,
        Difference::Host(factor) => after_s.iter_mut().for_each(|demand| *demand *= factor),
        _ => {}
    }
    // The load is that of the demands before: a cost comes with its own load.
    let rates = |load: f64| -> Vec<f64> {
        let all: f64 = shares.iter().zip(&before_s).map(|(share, demand)| share * demand).sum();
        shares.iter().map(|share| load * share / all).collect()
    };
    let first = Queue::open(&before_s, &rates(loads[0]), seed * 2 + 1);
    let mut second = Queue::open(&after_s, &rates(loads[1]), seed * 2 + 2);
    if let Difference::Wait(factor) = difference {
        second.elsewhere_s[0] = factor * before_s[0];
    }
    let mut observations = first.observe(WINDOWS, 10.0);
    let mut more = second.observe(WINDOWS, 10.0);
    if let Difference::Background(factor) = difference {
        for (row, used) in more.utilization.iter_mut().enumerate() {
            *used = (*used + factor * before_s[0] * more.counts.get(row, 0) / 10.0).min(1.0);
        }
        after_s[0] *= 1.0 + factor;
    }
    append(&mut observations, &more);
    Pair { observations, cut: WINDOWS, demand_s: [before_s, after_s] }
}

/// Appends the windows of another run.
pub(crate) fn append(to: &mut Observations, more: &Observations) {
    let next = to.windows.last().map_or(0, |last| last + 1);
    to.windows.extend(more.windows.iter().map(|window| next + window));
    to.utilization.extend(&more.utilization);
    to.counts = stacked(&to.counts, &more.counts);
    to.response_s = stacked(&to.response_s, &more.response_s);
}

fn stacked(above: &Matrix, below: &Matrix) -> Matrix {
    let data = above.data().iter().chain(below.data()).copied().collect();
    Matrix::from_row_major(above.rows() + below.rows(), above.cols(), data)
}

/// The analysis by the default method.
pub(crate) fn analyzed(observations: &Observations) -> Analysis {
    let threads = NonZeroUsize::new(2).expect("positive");
    changes(observations, &ChangeSettings::default(), threads).expect("enough windows")
}

const LOADS: [f64; 3] = [0.2, 0.5, 0.8];

/// All pairs of loads, equal ones or different ones, with one to four types.
fn judged(difference: Difference, equal: bool, seeds: &[u64]) -> PairTally {
    let mut tally = PairTally::default();
    for &seed in seeds {
        for types in 1..=4 {
            for (before, after) in LOADS.iter().flat_map(|&a| LOADS.map(|b| (a, b))) {
                if (before == after) != equal {
                    continue;
                }
                let highest = match difference {
                    Difference::Cost(factor) | Difference::Host(factor) => 0.82 / factor,
                    _ => 0.8,
                };
                let pair = pair(difference, [before, after.min(highest)], types, seed);
                tally.add(&pair, difference, &analyzed(&pair.observations));
            }
        }
    }
    tally
}

#[test]
fn equal_code_at_another_load_is_no_change() {
    let tally = judged(Difference::None, false, &[1, 2]);
    assert_eq!(tally.wrong, 0, "{tally:?}");
}

#[test]
fn a_cost_that_changes_together_with_the_load_is_named() {
    for factor in [2.0, 0.5] {
        let tally = judged(Difference::Cost(factor), false, &[1, 2]);
        assert!(tally.right as f64 >= 0.95 * tally.pairs as f64, "{factor}: {tally:?}");
        assert!(tally.named as f64 >= 0.85 * tally.pairs as f64, "{factor}: {tally:?}");
        assert_eq!(tally.wrong, 0, "{factor}: {tally:?}");
    }
}

#[test]
fn waiting_is_never_reported_as_cost() {
    let tally = judged(Difference::Wait(1.0), true, &[1, 2]);
    assert!(2 * tally.named >= tally.pairs, "{tally:?}");
    assert_eq!(tally.other, 0, "{tally:?}");
}

/// The shares of the work of a type in both runs of a pair, by which signatures at different loads are compared.
fn shares(pair: &Pair) -> [Vec<f64>; 2] {
    let all = pair.observations.windows.len();
    [0..pair.cut, pair.cut..all].map(|rows| {
        let rows = std::slice::from_ref(&rows);
        let shares = laggard_changes::work_shares(&pair.observations, rows, 0.0);
        shares.into_iter().map(|share| share.expect("times are known").seconds).collect()
    })
}

#[test]
fn shares_of_the_work_hardly_depend_on_the_load() {
    let mut errors = Vec::new();
    for seed in 1..=4 {
        for (before, after) in [(0.2, 0.5), (0.2, 0.8), (0.8, 0.5)] {
            let pair = pair(Difference::None, [before, after], 3, seed);
            let [old, new] = shares(&pair);
            for kind in 0..3 {
                errors.push((new[kind] / old[kind] - 1.0).abs());
                let truth = pair.demand_s[0][kind];
                assert!((new[kind] / truth - 1.0).abs() < 0.1, "{before} {after} {seed}: {new:?}");
            }
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    assert!(mean < 0.035, "{mean}: {errors:?}");
    assert!(errors.iter().all(|&error| error < 0.1), "{errors:?}");
}

#[test]
fn work_in_the_background_is_a_cost_or_unexplained_but_no_waiting() {
    let tally = judged(Difference::Background(0.5), true, &[1]);
    assert!(tally.right > 0 && tally.wrong <= 1, "{tally:?}");
}

#[test]
fn a_slower_host_is_no_change_of_single_transactions() {
    let tally = judged(Difference::Host(1.3), true, &[1, 2]);
    assert!(3 * tally.right >= 2 * tally.pairs, "{tally:?}");
}

/// All pairs of measured runs with as many types: the demands of experiments differ, those of loads do not.
#[test]
fn measured_pairs_with_another_load_and_cost_are_named() {
    let Some(folder) = laggard_testkit::data_folder("cpu-demands") else { return };
    let runs = crate::measured::runs(&folder, 10);
    let (mut pairs, mut right) = (0, 0);
    for a in &runs {
        for b in runs.iter().filter(|b| b.name != a.name && b.demand_s.len() == a.demand_s.len()) {
            let mut together = a.observations.clone();
            append(&mut together, &b.observations);
            let analysis = analyzed(&together);
            let reported = reported(&analysis);
            let changed: Vec<usize> =
                (0..a.demand_s.len()).filter(|&kind| a.demand_s[kind] != b.demand_s[kind]).collect();
            if changed.is_empty() {
                assert!(reported.is_empty(), "{} {}: {reported:?}", a.name, b.name);
                continue;
            }
            pairs += 1;
            let is_right = |change: &&Change| {
                let named: Vec<usize> = change.transactions.iter().map(|one| one.transaction).collect();
                change.kind == ChangeKind::ApplicationChange && named == changed
            };
            right += usize::from(reported.len() == 1 && reported.iter().all(is_right));
        }
    }
    assert!(pairs == 36 && right >= 35, "{right} of {pairs}");
}

/// Everything that is reported, except a change of the workload.
pub(crate) fn reported(analysis: &Analysis) -> Vec<&Change> {
    analysis.changes.iter().filter(|change| change.kind != ChangeKind::WorkloadChange).collect()
}

/// Results of several pairs.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PairTally {
    pub(crate) pairs: usize,
    /// Pairs with a reported change of the right kind near the true one.
    pub(crate) right: usize,
    /// Pairs among them with exactly the types that changed.
    pub(crate) named: usize,
    /// Reported changes of the wrong kind near the true one.
    pub(crate) other: usize,
    /// Reported changes elsewhere, or of equal runs.
    pub(crate) wrong: usize,
}

impl PairTally {
    /// Scores an answer; returns whether it is completely right.
    pub(crate) fn add(&mut self, pair: &Pair, difference: Difference, analysis: &Analysis) -> bool {
        self.pairs += 1;
        let reported = reported(analysis);
        let near = |change: &&&Change| {
            let onset = &change.onset;
            (onset.earliest.saturating_sub(12)..=onset.latest + 12).contains(&pair.cut)
        };
        let expected: Option<ChangeKind> = match difference {
            Difference::None => None,
            Difference::Cost(_) | Difference::Background(_) => Some(ChangeKind::ApplicationChange),
            Difference::Wait(_) => Some(ChangeKind::WaitChange),
            // With a single type, a change of that type and a change of all types look the same.
            Difference::Host(_) if pair.demand_s[0].len() == 1 => Some(ChangeKind::ApplicationChange),
            Difference::Host(_) => Some(ChangeKind::HostChange),
        };
        let at_cut: Vec<&&Change> = reported.iter().filter(near).collect();
        let Some(kind) = expected else {
            self.wrong += reported.len();
            return reported.is_empty();
        };
        let right = at_cut.iter().find(|change| change.kind == kind);
        let is_named = right.is_some_and(|change| {
            let named: Vec<usize> = change.transactions.iter().map(|one| one.transaction).collect();
            if kind == ChangeKind::HostChange { named.is_empty() } else { named == [0] }
        });
        self.right += usize::from(right.is_some());
        self.named += usize::from(is_named);
        self.other += at_cut.len() - usize::from(right.is_some());
        self.wrong += reported.len() - at_cut.len();
        is_named && reported.len() == 1
    }
}
