//! How well anomalous executions were found.

use super::{distinct, mean_wall_s, of_group, of_method};
use crate::arm::{Family, Outcome};
use crate::executions::ExecutionScore;
use crate::sets::SetKind;
use std::fmt::Write;

const HEADER: &str = "
| cases | method | false alarms | kinds right | pairs right | flagged: precision | recall | steps found | reported time unrelated | wall s |
|---|---|---|---|---|---|---|---|---|---|
";

/// The table of the set, a row a method and group.
pub(super) fn execution_table(out: &mut String, family: &Family<ExecutionScore>, set: SetKind) {
    let all = family.in_set(set);
    out.push_str(HEADER);
    for group in distinct(&all) {
        rows(out, family, &group.name, &of_group(&all, group));
    }
    rows(out, family, "all", &all);
}

fn rows(
    out: &mut String,
    family: &Family<ExecutionScore>,
    title: &str,
    outcomes: &[&Outcome<ExecutionScore>],
) {
    let mut title = format!("**{title}**");
    for (method, row) in family.methods.iter().enumerate() {
        let own = of_method(outcomes, method);
        if own.is_empty() {
            continue;
        }
        let score = own.iter().fold(ExecutionScore::default(), |sum, outcome| sum.plus(outcome.score));
        let (cells, wall_s) = (cells(&score).join(" | "), mean_wall_s(&own));
        let _ = writeln!(out, "| {} | {} | {cells} | {wall_s:.2} |", std::mem::take(&mut title), row.name);
    }
}

fn cells(score: &ExecutionScore) -> [String; 7] {
    let unrelated = if score.reported_us > 0.0 {
        percent(score.unrelated_us / score.reported_us)
    } else {
        "–".to_owned()
    };
    [
        if score.quiet > 0 { format!("{}/{}", score.false_alarms, score.quiet) } else { "–".to_owned() },
        share(score.kinds_right, score.kinds),
        share(score.pairs_right, score.pairs),
        share(score.hits, score.flagged),
        share(score.hits, score.faulty),
        share(score.steps_detected, score.steps),
        unrelated,
    ]
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// In percent, or a dash where there is nothing to count.
fn share(part: usize, whole: usize) -> String {
    if whole == 0 { "–".to_owned() } else { percent(part as f64 / whole as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_without_a_denominator_are_dashes() {
        assert_eq!((share(1, 4), share(0, 0)), ("25.0 %".to_owned(), "–".to_owned()));
        let score = ExecutionScore { quiet: 2, false_alarms: 1, ..ExecutionScore::default() };
        assert_eq!(cells(&score)[0], "1/2");
    }
}
