//! Onset intervals have their nominal coverage.

use super::{Load, Random, site};
use laggard_localize::{Onset, find_onset};
use laggard_model::Timestamp;

fn second(at: usize) -> Timestamp {
    Timestamp::from_unix_ns(at as i64 * 1_000_000_000)
}

/// A step at request `step` of `requests`, of one category.
fn onset(seed: u64, requests: usize, step: usize, factor: f64) -> Option<Onset> {
    let load = Load { sites: 1, shares: [1.0, 0.0, 0.0], ..Load::default() };
    let table = load.table(&mut Random(seed), requests, |_, at| if at >= step { factor } else { 1.0 });
    find_onset(&table, site(0), Timestamp::MIN, Timestamp::MAX)
}

/// Share of the intervals of detected steps that cover the truth.
fn coverage(requests: usize, step: usize, factor: f64) -> (usize, usize) {
    let found: Vec<Onset> = (0..300).filter_map(|seed| onset(seed, requests, step, factor)).collect();
    // The truth: after the last quick request, up to the first slow one.
    let covers = |onset: &&Onset| onset.earliest <= second(step) && second(step) <= onset.latest;
    (found.iter().filter(covers).count(), found.len())
}

#[test]
fn onset_intervals_have_their_nominal_coverage() {
    for (requests, step, factor) in [(200, 120, 2.0), (300, 100, 1.5), (150, 75, 4.0)] {
        let (covered, found) = coverage(requests, step, factor);
        assert!(found > 200, "{factor}: {found} of 300 found");
        let share = covered as f64 / found as f64;
        assert!(share >= 0.925, "{factor}: {covered} of {found} cover the truth");
    }
}

#[test]
fn intervals_are_short_where_the_step_is_clear() {
    let mut lengths: Vec<usize> = (0..50)
        .filter_map(|seed| onset(seed, 200, 120, 4.0))
        .map(|onset| (onset.latest.since(onset.earliest).ns() / 1_000_000_000) as usize)
        .collect();
    lengths.sort_unstable();
    assert_eq!(lengths.len(), 50);
    assert!(lengths[25] <= 6, "half of the intervals are at most {} s long", lengths[25]);
}

#[test]
fn noise_has_no_onset() {
    let found = (0..300).filter(|&seed| onset(seed, 200, 0, 1.0).is_some()).count();
    assert!(found <= 6, "{found} of 300");
}

#[test]
fn only_calls_in_the_requested_interval_count() {
    let load = Load { sites: 1, shares: [1.0, 0.0, 0.0], ..Load::default() };
    let factor = |_: usize, at: usize| if at >= 100 { 4.0 } else { 1.0 };
    let table = load.table(&mut Random(9), 200, factor);
    let onset_between = |from: usize, to: usize| find_onset(&table, site(0), second(from), second(to));
    assert!(
        onset_between(50, 150)
            .is_some_and(|onset| onset.earliest >= second(90) && onset.latest <= second(110))
    );
    assert_eq!(onset_between(110, 200), None, "slow all the time");
    assert_eq!(onset_between(0, 100), None, "never slow");
    assert_eq!(onset_between(96, 105), None, "nine requests");
    assert_eq!(find_onset(&table, site(5), second(0), second(200)), None, "nobody calls it");
}
