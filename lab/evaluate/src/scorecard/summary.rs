//! Means over the cases of one method.

use crate::arm::Outcome;
use crate::measure::Cost;
use crate::results::LocalizerScore;

/// Sums over cases.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Summary {
    cases: usize,
    right: usize,
    ranks: Vec<Option<usize>>,
    replica_ranks: Vec<Option<usize>>,
    precision: Vec<f64>,
    recall: Vec<f64>,
    detected: Vec<bool>,
    quiet_hours: f64,
    alarms: usize,
    findings: usize,
    cost: Cost,
}

impl Summary {
    /// Of one method's outcomes among these.
    pub(super) fn of<'a>(
        outcomes: impl Iterator<Item = &'a Outcome<LocalizerScore>>,
        method: usize,
    ) -> Summary {
        let mut out = Summary::default();
        outcomes.filter(|outcome| outcome.method == method).for_each(|outcome| out.add(outcome));
        out
    }

    fn add(&mut self, outcome: &Outcome<LocalizerScore>) {
        let judgment = &outcome.score.judgment;
        self.cases += 1;
        self.right += usize::from(judgment.right);
        self.ranks.extend(judgment.rank);
        self.replica_ranks.extend(judgment.replica_rank);
        if let Some(replicas) = judgment.replicas {
            self.precision.push(replicas.precision());
            self.recall.push(replicas.recall());
        }
        self.detected.extend(outcome.score.detected);
        if let Some(findings) = judgment.false_findings {
            self.quiet_hours += outcome.score.hours;
            self.alarms += outcome.score.false_alarms;
            self.findings += findings;
        }
        self.cost = self.cost.plus(outcome.cost);
    }

    /// Whether the method was not run.
    pub(super) fn is_empty(&self) -> bool {
        self.cases == 0
    }

    /// `9/10`.
    pub(super) fn right_of_cases(&self) -> String {
        if self.cases == 0 { dash() } else { format!("{}/{}", self.right, self.cases) }
    }

    /// Share of right cases, 0..1; 0 without cases.
    pub(super) fn share_right(&self) -> f64 {
        self.right as f64 / self.cases.max(1) as f64
    }

    /// From `right` to the end of the table's row.
    pub(super) fn cells(&self) -> Vec<String> {
        let detected = self.detected.iter().filter(|&&detected| detected).count();
        let detected =
            if self.detected.is_empty() { dash() } else { format!("{detected}/{}", self.detected.len()) };
        let mut out = vec![self.right_of_cases()];
        out.extend([1, 3, 5].map(|places| share_within(&self.ranks, places)));
        out.push(share_within(&self.replica_ranks, 1));
        out.extend([mean(&self.precision), mean(&self.recall), detected]);
        out.extend([self.per_hour(self.alarms), self.per_hour(self.findings)]);
        // Nothing takes no time at all: the cost is another group's.
        let is_measured = self.cost.wall_s > 0.0;
        let per_case = |seconds: f64| match is_measured {
            true => format!("{:.2}", seconds / self.cases.max(1) as f64),
            false => dash(),
        };
        out.extend([per_case(self.cost.processor_s), per_case(self.cost.wall_s)]);
        out
    }

    fn per_hour(&self, count: usize) -> String {
        if self.quiet_hours == 0.0 { dash() } else { format!("{:.1}", count as f64 / self.quiet_hours) }
    }
}

/// Share of the cases whose right name is among the first `n`.
fn share_within(ranks: &[Option<usize>], places: usize) -> String {
    let hits = ranks.iter().filter(|rank| rank.is_some_and(|rank| rank <= places)).count();
    if ranks.is_empty() { dash() } else { format!("{:.2}", hits as f64 / ranks.len() as f64) }
}

fn mean(values: &[f64]) -> String {
    if values.is_empty() {
        return dash();
    }
    format!("{:.2}", values.iter().sum::<f64>() / values.len() as f64)
}

fn dash() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Judgment, Retrieval};
    use crate::sets::{Group, SetKind};

    fn outcome(method: usize, hours: f64, judgment: Judgment) -> Outcome<LocalizerScore> {
        Outcome {
            group: Group::new(SetKind::Simulator, "g"),
            case: "c".to_owned(),
            method,
            score: LocalizerScore {
                hours,
                detected: None,
                false_alarms: usize::from(judgment.false_findings.is_some_and(|count| count > 0)),
                judgment,
            },
            error: None,
            cost: Cost { wall_s: 1.0, processor_s: 2.0 },
        }
    }

    #[test]
    fn ranks_precision_and_seconds_are_means_over_cases() {
        let judged = |rank, right, named| Judgment {
            rank: Some(rank),
            replicas: Some(Retrieval { named, right: 1, expected: 2 }),
            right,
            ..Judgment::default()
        };
        let outcomes = [
            outcome(0, 0.0, judged(Some(1), true, 1)),
            outcome(0, 0.0, judged(Some(4), false, 2)),
            outcome(1, 0.0, judged(None, false, 2)),
        ];
        let cells = Summary::of(outcomes.iter(), 0).cells();
        // Precision 1/1 and 1/2, recall 1/2 both.
        assert_eq!(cells[..7], ["1/2", "0.50", "0.50", "1.00", "–", "0.75", "0.50"]);
        assert_eq!(cells[7..], ["–", "–", "–", "2.00", "1.00"]);
    }

    #[test]
    fn false_findings_are_counted_by_the_quiet_hour() {
        let judged = |findings| Judgment {
            false_findings: Some(findings),
            right: findings == 0,
            ..Judgment::default()
        };
        let outcomes = [outcome(0, 0.5, judged(3)), outcome(0, 0.5, judged(0)), outcome(0, 1.0, judged(1))];
        let cells = Summary::of(outcomes.iter(), 0).cells();
        assert_eq!((cells[0].as_str(), cells[8].as_str(), cells[9].as_str()), ("1/3", "1.0", "2.0"));
    }
}
