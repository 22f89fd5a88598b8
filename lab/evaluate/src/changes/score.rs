//! An answer about changes against the truth.

use super::{ChangeAnswer, ChangeTruth, Difference, ReportedAlarm, TrueAlarm};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// An alarm counts for a change when its onset is this near, in minutes.
const NEAR_MIN: f64 = 15.0;
/// A size counts when it is this near, in ms.
const SIZE_MS: f64 = 1.0;

/// How good an answer is.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ChangeScore {
    /// Whether there was an answer at all; else the rest counts as if nothing had been found.
    pub is_answered: bool,
    /// Changes of the application that there are.
    pub expected: usize,
    /// Those with an alarm near them.
    pub found: usize,
    /// Alarms that are near no change, or near one that has its alarm.
    pub false_alarms: usize,
    /// Distance of the onset in windows, of those found.
    pub onset_errors: Vec<f64>,
    /// Of those found, how many have an interval, …
    pub intervals: usize,
    /// … and in how many of these the truth is in it.
    pub covered: usize,
    /// Of those found, in how many the transactions named are exactly those that changed.
    pub named: usize,
    /// … and by how many ms, within 1.
    pub sized: usize,
    /// Regions of foreign load that there are.
    pub regions: usize,
    /// Those of which at least half is in regions found.
    pub regions_detected: usize,
    /// Regions found that touch none.
    pub false_regions: usize,
    /// The answer in words.
    pub words: String,
}

impl ChangeScore {
    /// Whether every alarm, every region and every name and size is right, and nothing else is reported.
    pub fn is_right(&self) -> bool {
        let all_found = self.is_answered && self.found == self.expected && self.sized == self.expected;
        all_found
            && self.false_alarms == 0
            && self.regions_detected == self.regions
            && self.false_regions == 0
    }
}

/// Compares. A window is `window_s` seconds long.
pub fn score_changes(truth: &ChangeTruth, answer: Option<&ChangeAnswer>, window_s: f64) -> ChangeScore {
    let near = (NEAR_MIN * 60.0 / window_s).max(3.0);
    let mut score = ChangeScore {
        is_answered: answer.is_some(),
        expected: truth.alarms.len(),
        regions: truth.regions.len(),
        ..ChangeScore::default()
    };
    let Some(answer) = answer else { return score };
    let mut unmatched: Vec<&ReportedAlarm> = answer.alarms.iter().collect();
    for change in &truth.alarms {
        if let Some(alarm) = take_nearest(&mut unmatched, change.window, near) {
            add_detected(&mut score, change, alarm);
        }
    }
    score.false_alarms = unmatched.len();
    let covered =
        |region: &Range<usize>| answer.regions.iter().map(|found| overlap(region, found)).sum::<usize>();
    score.regions_detected =
        truth.regions.iter().filter(|region| 2 * covered(region) >= region.len()).count();
    let foreign = || truth.regions.iter().chain(&truth.tolerated);
    let touches = |found: &Range<usize>| foreign().any(|region| overlap(region, found) > 0);
    score.false_regions = answer.regions.iter().filter(|found| !touches(found)).count();
    score
}

fn add_detected(score: &mut ChangeScore, change: &TrueAlarm, alarm: &ReportedAlarm) {
    score.found += 1;
    score.onset_errors.push(alarm.window.abs_diff(change.window) as f64);
    if let Some([earliest, latest]) = alarm.interval {
        score.intervals += 1;
        score.covered += usize::from((earliest..=latest).contains(&change.window));
    }
    // All transactions changed alike: their names do not count.
    if change.transactions.is_empty() {
        score.named += 1;
        score.sized += 1;
        return;
    }
    let size = |differences: &[Difference], transaction: usize| {
        differences.iter().find(|sized| sized.transaction == transaction).map(|sized| sized.difference_ms)
    };
    let true_sizes = change.transactions.iter();
    let all = true_sizes.map(|expected_difference| {
        size(&alarm.transactions, expected_difference.transaction)
            .map(|found| found - expected_difference.difference_ms)
    });
    let errors: Option<Vec<f64>> = all.collect();
    let Some(errors) = errors.filter(|errors| errors.len() == alarm.transactions.len()) else { return };
    score.named += 1;
    score.sized += usize::from(errors.iter().all(|error| error.abs() <= SIZE_MS));
}

/// Takes the nearest alarm out, if it is near enough.
fn take_nearest<'a>(
    unmatched: &mut Vec<&'a ReportedAlarm>,
    window: usize,
    near: f64,
) -> Option<&'a ReportedAlarm> {
    let distance = |alarm: &ReportedAlarm| alarm.window.abs_diff(window);
    let index = (0..unmatched.len()).min_by_key(|&index| distance(unmatched[index]))?;
    if distance(unmatched[index]) as f64 > near { None } else { Some(unmatched.remove(index)) }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(transaction: usize, difference_ms: f64) -> Difference {
        Difference { transaction, difference_ms }
    }

    fn truth() -> ChangeTruth {
        let alarm = |window| TrueAlarm { window, transactions: vec![difference(7, 5.0)] };
        ChangeTruth {
            alarms: vec![alarm(100), alarm(200)],
            regions: std::iter::once(30..50).collect(),
            tolerated: std::iter::once(90..91).collect(),
        }
    }

    #[test]
    fn a_correct_answer_has_full_score() {
        let alarm = |window, ms| ReportedAlarm {
            window,
            interval: Some([window - 1, window + 1]),
            transactions: vec![difference(7, ms)],
        };
        let regions = vec![31..40, 40..49];
        let answer = ChangeAnswer { alarms: vec![alarm(101, 4.5), alarm(198, 5.9)], regions };
        let score = score_changes(&truth(), Some(&answer), 60.0);
        assert!(score.is_right(), "{score:?}");
        assert_eq!((score.onset_errors, score.intervals, score.covered), (vec![1.0, 2.0], 2, 1));
    }

    #[test]
    fn wrong_names_sizes_times_and_regions_are_distinguished() {
        let alarm = |window, transactions| ReportedAlarm { window, interval: None, transactions };
        let alarms = vec![
            alarm(100, vec![difference(7, 8.0)]),
            alarm(103, vec![difference(7, 5.0)]),
            alarm(199, vec![difference(7, 5.0), difference(2, 1.0)]),
            alarm(300, Vec::new()),
        ];
        let answer = ChangeAnswer { alarms, regions: vec![45..55, 90..95, 97..99] };
        let score = score_changes(&truth(), Some(&answer), 60.0);
        assert_eq!((score.expected, score.found, score.false_alarms), (2, 2, 2));
        assert_eq!((score.named, score.sized), (1, 0));
        assert_eq!((score.regions, score.regions_detected, score.false_regions), (1, 0, 1));
        assert!(!score.is_right());
        let nothing = ChangeAnswer::default();
        assert!(score_changes(&ChangeTruth::default(), Some(&nothing), 60.0).is_right());
        assert!(!score_changes(&ChangeTruth::default(), None, 60.0).is_right());
    }
}
