//! The simulated days by kind of system.

use crate::arm::{Family, Outcome};
use crate::results::LocalizerScore;
use crate::sets::SetKind;
use std::collections::BTreeMap;
use std::fmt::Write;

const HEADER: &str = "
Laggard's default by kind of system, with all losses of spans together:

| system | quiet quarter hours | false alarms | faults with a baseline | detected | right |
|---|---|---|---|---|---|
";

#[derive(Clone, Copy, Default)]
struct Counts {
    quiet: usize,
    alarms: usize,
    faults: usize,
    detected: usize,
    right: usize,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome<LocalizerScore>) {
        let score = &outcome.score;
        match score.detected {
            None => {
                self.quiet += 1;
                self.alarms += score.false_alarms;
            }
            Some(detected) if outcome.group.name.ends_with("with baseline") => {
                self.faults += 1;
                self.detected += usize::from(detected);
                self.right += usize::from(score.judgment.right);
            }
            Some(_) => {}
        }
    }
}

/// A row a kind of system.
pub(super) fn systems_table(out: &mut String, family: &Family<LocalizerScore>) {
    let Some(default) = family.default_method() else { return };
    let mut systems: BTreeMap<&str, Counts> = BTreeMap::new();
    for outcome in family.in_set(SetKind::Days).into_iter().filter(|outcome| outcome.method == default) {
        let system = outcome.case.split(" seed ").next().unwrap_or_default();
        systems.entry(system).or_default().add(outcome);
    }
    out.push_str(HEADER);
    for (system, counts) in systems {
        let Counts { quiet, alarms, faults, detected, right } = counts;
        let _ = writeln!(out, "| {system} | {quiet} | {alarms} | {faults} | {detected} | {right} |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::MethodRow;
    use crate::judge::Judgment;
    use crate::measure::Cost;
    use crate::sets::Group;

    #[test]
    fn faults_count_with_a_baseline_and_quiet_quarter_hours_always() {
        let outcome = |group: &str, case: &str, detected: Option<bool>, right: bool| Outcome {
            group: Group::new(SetKind::Days, group),
            case: case.to_owned(),
            method: 0,
            score: LocalizerScore {
                hours: 0.25,
                detected,
                false_alarms: usize::from(detected.is_none() && !right),
                judgment: Judgment { right, ..Judgment::default() },
            },
            error: None,
            cost: Cost::default(),
        };
        let family = Family {
            methods: vec![MethodRow { name: "ours".to_owned(), is_laggard: true, uses_baseline: true }],
            outcomes: vec![
                outcome("quiet", "shop seed 1 minute 60", None, true),
                outcome("quiet, with baseline", "shop seed 1 minute 60", None, false),
                outcome("edge", "shop seed 1", Some(false), false),
                outcome("edge, with baseline", "shop seed 1", Some(true), false),
                outcome("edge, with baseline", "small seed 1", Some(true), true),
            ],
        };
        let mut out = String::new();
        systems_table(&mut out, &family);
        assert!(out.contains("| shop | 2 | 1 | 1 | 1 | 0 |\n| small | 0 | 0 | 1 | 1 | 1 |\n"), "{out}");
    }
}
