//! How near an answer came.

use super::{ExecutionAnswer, ExecutionTruth};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Counts that add up over cases.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ExecutionScore {
    /// 1 if an anomaly is reported where there is none.
    pub false_alarms: usize,
    /// 1 where nothing is wrong.
    pub quiet: usize,
    /// Normal executions in a kind most of whose members are of theirs; those in none count as wrong.
    pub kinds_right: usize,
    /// Normal executions, from methods that find kinds.
    pub kinds: usize,
    /// Sample executions compared with a kind most of whose members are of theirs.
    pub pairs_right: usize,
    /// Sample executions of kinds that the normal set has, from methods that find kinds.
    pub pairs: usize,
    /// Faulty executions that are flagged.
    pub hits: usize,
    /// Flagged executions.
    pub flagged: usize,
    /// Faulty executions: hit by a fault, or of a new kind.
    pub faulty: usize,
    /// Injected steps that are reported.
    pub steps_detected: usize,
    /// Injected steps, from methods that name steps.
    pub steps: usize,
    /// Time reported as too much at steps that no fault touched.
    pub unrelated_us: f64,
    /// Time reported as too much.
    pub reported_us: f64,
}

/// Compares an answer with the truth.
pub fn score_executions(truth: &ExecutionTruth, answer: &ExecutionAnswer) -> ExecutionScore {
    let is_faulty =
        |index: &usize| truth.sample_kinds[*index].is_none() || !truth.injected[*index].is_empty();
    let faulty = (0..truth.sample_kinds.len()).filter(is_faulty).count();
    let mut score = ExecutionScore {
        quiet: usize::from(faulty == 0),
        false_alarms: usize::from(faulty == 0 && answer.is_alarm),
        hits: answer.flagged.iter().filter(|index| is_faulty(index)).count(),
        flagged: answer.flagged.len(),
        faulty,
        ..ExecutionScore::default()
    };
    kinds(truth, answer, &mut score);
    steps(truth, answer, &mut score);
    score
}

/// Each label represents the kind of most of its members (ties: the smallest kind).
fn kinds(truth: &ExecutionTruth, answer: &ExecutionAnswer, score: &mut ExecutionScore) {
    if answer.normal_labels.is_empty() {
        return;
    }
    let count = truth.normal_kinds.iter().max().map_or(0, |largest| largest + 1);
    let labels = answer.normal_labels.iter().flatten().max().map_or(0, |largest| largest + 1);
    let mut table = vec![vec![0_usize; count]; labels];
    for (label, &kind) in answer.normal_labels.iter().zip(&truth.normal_kinds) {
        if let Some(label) = *label {
            table[label][kind] += 1;
        }
    }
    let most = |row: &Vec<usize>| (0..count).rev().max_by_key(|&kind| row[kind]);
    let meaning: Vec<Option<usize>> = table.iter().map(most).collect();
    let means = |label: Option<usize>| label.and_then(|label| meaning.get(label).copied().flatten());
    score.kinds = truth.normal_kinds.len();
    let right = answer.normal_labels.iter().zip(&truth.normal_kinds);
    score.kinds_right = right.filter(|(label, kind)| means(**label) == Some(**kind)).count();
    for (label, kind) in answer.sample_labels.iter().zip(&truth.sample_kinds) {
        if kind.is_some() {
            score.pairs += 1;
            score.pairs_right += usize::from(means(*label) == *kind);
        }
    }
}

fn steps(truth: &ExecutionTruth, answer: &ExecutionAnswer, score: &mut ExecutionScore) {
    let Some(reported) = &answer.steps else { return };
    let mut seen = BTreeSet::new();
    for finding in reported {
        score.reported_us += finding.excess_us;
        let is_related = truth.injected[finding.execution].iter().any(|step| finding.steps.contains(step));
        score.unrelated_us += if is_related { 0.0 } else { finding.excess_us };
        seen.extend(finding.steps.clone().map(|step| (finding.execution, step)));
    }
    for (execution, injected) in truth.injected.iter().enumerate() {
        score.steps += injected.len();
        score.steps_detected += injected.iter().filter(|&&step| seen.contains(&(execution, step))).count();
    }
}

impl ExecutionScore {
    /// Both together.
    pub fn plus(self, other: ExecutionScore) -> ExecutionScore {
        ExecutionScore {
            false_alarms: self.false_alarms + other.false_alarms,
            quiet: self.quiet + other.quiet,
            kinds_right: self.kinds_right + other.kinds_right,
            kinds: self.kinds + other.kinds,
            pairs_right: self.pairs_right + other.pairs_right,
            pairs: self.pairs + other.pairs,
            hits: self.hits + other.hits,
            flagged: self.flagged + other.flagged,
            faulty: self.faulty + other.faulty,
            steps_detected: self.steps_detected + other.steps_detected,
            steps: self.steps + other.steps,
            unrelated_us: self.unrelated_us + other.unrelated_us,
            reported_us: self.reported_us + other.reported_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ReportedSteps;
    use super::*;

    #[test]
    fn worked_by_hand() {
        let truth = ExecutionTruth {
            normal_kinds: vec![0, 0, 1],
            sample_kinds: vec![Some(0), Some(1), None],
            injected: vec![vec![2, 5], vec![], vec![]],
        };
        let answer = ExecutionAnswer {
            is_alarm: true,
            normal_labels: vec![Some(1), Some(1), None],
            sample_labels: vec![Some(1), Some(1), None],
            flagged: vec![0, 1],
            steps: Some(vec![
                ReportedSteps { execution: 0, steps: 2..4, excess_us: 3.0 },
                ReportedSteps { execution: 1, steps: 0..1, excess_us: 1.0 },
            ]),
        };
        let score = score_executions(&truth, &answer);
        assert_eq!((score.kinds_right, score.kinds, score.pairs_right, score.pairs), (2, 3, 1, 2));
        assert_eq!((score.hits, score.flagged, score.faulty, score.quiet), (1, 2, 2, 0));
        assert_eq!((score.steps_detected, score.steps), (1, 2));
        assert_eq!((score.unrelated_us, score.reported_us), (1.0, 4.0));
    }
}
