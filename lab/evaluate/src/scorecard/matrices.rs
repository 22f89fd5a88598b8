//! How well groups of requests were found in matrices.

use crate::patterns::PatternScore;
use crate::run::{PatternOutcome, Results};
use crate::sets::Group;
use std::collections::BTreeSet;
use std::fmt::Write;

/// One table of matrices with hit requests, one of those without.
pub(super) fn matrix_tables(out: &mut String, results: &Results, matrices: &[&PatternOutcome]) {
    let (hit, normal): (Vec<&PatternOutcome>, Vec<&PatternOutcome>) =
        matrices.iter().copied().partition(|one| one.score.is_some());
    if !hit.is_empty() {
        out.push_str(
            "\n| files | method | precision | recall | F1 | F1 by cause | lowest F1 | lowest by cause | processor s | wall s |\n",
        );
        out.push_str("|---|---|---|---|---|---|---|---|---|---|\n");
        rows(out, results, &hit, scores);
    }
    if !normal.is_empty() {
        out.push_str("\n| files | method | with false findings | false findings | processor s | wall s |\n");
        out.push_str("|---|---|---|---|---|---|\n");
        rows(out, results, &normal, false_findings);
    }
}

/// One row for every method and system, and one for all systems of a method.
fn rows(
    out: &mut String,
    results: &Results,
    matrices: &[&PatternOutcome],
    cells: fn(&[&PatternOutcome]) -> String,
) {
    let systems: BTreeSet<&Group> = matrices.iter().map(|outcome| &outcome.group).collect();
    for (at, finder) in results.finders.iter().enumerate() {
        let own: Vec<&PatternOutcome> = matrices.iter().copied().filter(|one| one.finder == at).collect();
        if own.is_empty() {
            continue;
        }
        let mut row = |files: &str, of: &[&PatternOutcome]| {
            let _ = writeln!(
                out,
                "| {files} ({}) | {} | {} | {} |",
                of.len(),
                finder.name,
                cells(of),
                seconds(of)
            );
        };
        for system in &systems {
            let of: Vec<&PatternOutcome> = own.iter().copied().filter(|one| one.group == **system).collect();
            row(&system.name, &of);
        }
        row("all", &own);
    }
}

fn mean(outcomes: &[&PatternOutcome], of: impl Fn(&PatternOutcome) -> f64) -> f64 {
    outcomes.iter().map(|one| of(one)).sum::<f64>() / outcomes.len().max(1) as f64
}

fn scores(outcomes: &[&PatternOutcome]) -> String {
    let score = |one: &PatternOutcome| one.score.unwrap_or_default();
    let mean = |of: fn(&PatternScore) -> f64| mean(outcomes, |one| of(&score(one)));
    let lowest =
        |of: fn(&PatternScore) -> f64| outcomes.iter().map(|one| of(&score(one))).fold(1.0, f64::min);
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

fn false_findings(outcomes: &[&PatternOutcome]) -> String {
    let with = outcomes.iter().filter(|one| one.found > 0).count();
    let found: usize = outcomes.iter().map(|one| one.found).sum();
    format!("{with}/{} | {found}", outcomes.len())
}

fn seconds(outcomes: &[&PatternOutcome]) -> String {
    let processor_s = mean(outcomes, |one| one.cost.processor_s);
    format!("{processor_s:.3} | {:.3}", mean(outcomes, |one| one.cost.wall_s))
}
