//! How well groups of requests were found in matrices.

use super::{of_group, of_method};
use crate::arm::{Family, Outcome};
use crate::patterns::PatternScore;
use crate::results::GroupScore;
use crate::sets::Group;
use std::collections::BTreeSet;
use std::fmt::Write;

/// One table of matrices with hit requests, one of those without.
pub(super) fn matrix_tables(
    out: &mut String,
    family: &Family<GroupScore>,
    matrices: &[&Outcome<GroupScore>],
) {
    let (hit, normal): (Vec<&Outcome<GroupScore>>, Vec<&Outcome<GroupScore>>) =
        matrices.iter().copied().partition(|scored| scored.score.score.is_some());
    if !hit.is_empty() {
        out.push_str(
            "\n| files | method | precision | recall | F1 | F1 by cause | lowest F1 | lowest by cause | processor s | wall s |\n",
        );
        out.push_str("|---|---|---|---|---|---|---|---|---|---|\n");
        rows(out, family, &hit, scores);
    }
    if !normal.is_empty() {
        out.push_str("\n| files | method | with false findings | false findings | processor s | wall s |\n");
        out.push_str("|---|---|---|---|---|---|\n");
        rows(out, family, &normal, false_findings);
    }
}

/// One row for every method and system, and one for all systems of a method.
fn rows(
    out: &mut String,
    family: &Family<GroupScore>,
    matrices: &[&Outcome<GroupScore>],
    cells: fn(&[&Outcome<GroupScore>]) -> String,
) {
    let systems: BTreeSet<&Group> = matrices.iter().map(|outcome| &outcome.group).collect();
    for (method, finder) in family.methods.iter().enumerate() {
        let own = of_method(matrices, method);
        if own.is_empty() {
            continue;
        }
        let mut row = |files: &str, outcomes: &[&Outcome<GroupScore>]| {
            let _ = writeln!(
                out,
                "| {files} ({}) | {} | {} | {} |",
                outcomes.len(),
                finder.name,
                cells(outcomes),
                seconds(outcomes)
            );
        };
        for system in &systems {
            row(&system.name, &of_group(&own, system));
        }
        row("all", &own);
    }
}

fn mean(outcomes: &[&Outcome<GroupScore>], value_of: impl Fn(&Outcome<GroupScore>) -> f64) -> f64 {
    outcomes.iter().map(|scored| value_of(scored)).sum::<f64>() / outcomes.len().max(1) as f64
}

fn scores(outcomes: &[&Outcome<GroupScore>]) -> String {
    let score = |scored: &Outcome<GroupScore>| scored.score.score.unwrap_or_default();
    let mean = |value_of: fn(&PatternScore) -> f64| mean(outcomes, |scored| value_of(&score(scored)));
    let lowest = |value_of: fn(&PatternScore) -> f64| {
        outcomes.iter().map(|scored| value_of(&score(scored))).fold(1.0, f64::min)
    };
    format!(
        "{:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3}",
        mean(|score| score.precision),
        mean(|score| score.recall),
        mean(|score| score.f1),
        mean(|score| score.f1_causes),
        lowest(|score| score.f1),
        lowest(|score| score.f1_causes),
    )
}

fn false_findings(outcomes: &[&Outcome<GroupScore>]) -> String {
    let with = outcomes.iter().filter(|scored| scored.score.groups > 0).count();
    let found: usize = outcomes.iter().map(|scored| scored.score.groups).sum();
    format!("{with}/{} | {found}", outcomes.len())
}

fn seconds(outcomes: &[&Outcome<GroupScore>]) -> String {
    let processor_s = mean(outcomes, |scored| scored.cost.processor_s);
    format!("{processor_s:.3} | {:.3}", mean(outcomes, |scored| scored.cost.wall_s))
}
