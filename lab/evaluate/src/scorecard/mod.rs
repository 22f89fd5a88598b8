//! The results as one page.

mod changes;
mod executions;
mod explained;
mod matrices;
mod misses;
mod summary;

use crate::measure::Cost;
use crate::run::{Options, Outcome, PatternOutcome, Results};
use crate::sets::{Group, SetKind};
use changes::change_tables;
use executions::execution_table;
use explained::{INTRODUCTION, METHODS, about};
use matrices::matrix_tables;
use misses::{beaten, misses};
use std::collections::BTreeSet;
use std::fmt::Write;
use summary::Summary;

/// No method waits for anything: on an idle machine wall time hardly exceeds processor time.
const BUSY: f64 = 1.3;
const BUSY_NOTE: &str =
    "- Other work ran on the machine meanwhile: wall seconds are too long, processor seconds about right.\n";

/// The page, in Markdown.
pub fn scorecard(results: &Results, options: &Options) -> String {
    let mut out = String::from(INTRODUCTION);
    facts(&mut out, results, options);
    out.push_str(METHODS);
    overview(&mut out, results);
    beaten(&mut out, results);
    for set in SetKind::ALL {
        let groups = groups_of(results, set);
        let matrices: Vec<&PatternOutcome> =
            results.patterns.iter().filter(|outcome| outcome.group.set == set).collect();
        let is_of_windows = results.changes.iter().any(|one| one.group.set == set)
            || results.demands.iter().any(|one| one.group.set == set);
        let is_of_executions = results.executions.iter().any(|one| one.group.set == set);
        if groups.is_empty() && matrices.is_empty() && !is_of_windows && !is_of_executions {
            continue;
        }
        let _ = write!(out, "\n## {}\n\n{}\n", set.name(), about(set));
        if is_of_executions {
            execution_table(&mut out, results, set);
            continue;
        }
        if is_of_windows {
            change_tables(&mut out, results, set);
            continue;
        }
        if matrices.is_empty() {
            table(&mut out, results, &groups);
        } else {
            matrix_tables(&mut out, results, &matrices);
        }
        misses(&mut out, results, set);
    }
    out
}

fn facts(out: &mut String, results: &Results, options: &Options) {
    let last = options.first_seed + options.seeds.max(1) - 1;
    let _ = write!(
        out,
        "\nThis run: {} processor cores; simulated incidents of {} requests each, seeds {} to {last}.\n",
        results.cores,
        3 * u64::from(options.requests),
        options.first_seed,
    );
    let using: Vec<&str> = (results.methods.iter())
        .filter(|method| method.uses_baseline)
        .map(|method| method.name.as_str())
        .collect();
    let _ = writeln!(out, "Methods that compare with a baseline: {}.\n", using.join(", "));
    let cost = results.outcomes.iter().fold(Cost::default(), |sum, outcome| sum.plus(outcome.cost));
    if cost.processor_s > 0.0 && cost.wall_s > BUSY * cost.processor_s {
        out.push_str(BUSY_NOTE);
    }
    for add_note in &results.notes {
        let _ = writeln!(out, "- {add_note}");
    }
}

/// Groups of a set in the order they were run.
pub(super) fn groups_of(results: &Results, set: SetKind) -> Vec<&Group> {
    let mut seen = BTreeSet::new();
    let of_set = results.outcomes.iter().map(|outcome| &outcome.group).filter(|group| group.set == set);
    of_set.filter(|group| seen.insert(*group)).collect()
}

fn overview(out: &mut String, results: &Results) {
    if results.outcomes.is_empty() {
        return;
    }
    out.push_str("\n## Overview\n\nShare of the cases that are answered right in every respect.\n\n| set |");
    for method in &results.methods {
        let _ = write!(out, " {} |", method.name);
    }
    let _ = write!(out, "\n|---|{}\n", "---|".repeat(results.methods.len()));
    for set in SetKind::ALL.into_iter().filter(|set| !groups_of(results, *set).is_empty()) {
        let _ = write!(out, "| {} |", set.name());
        for method in 0..results.methods.len() {
            let summary = Summary::of(results.outcomes.iter().filter(|one| one.group.set == set), method);
            let _ = write!(out, " {} |", summary.right_of_cases());
        }
        out.push('\n');
    }
}

const HEADER: &str = "
| cases | method | right | top-1 | top-3 | top-5 | replica top-1 | replicas: precision | recall | detected | false alarms per quiet hour | false findings per quiet hour | processor s | wall s |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

fn table(out: &mut String, results: &Results, groups: &[&Group]) {
    out.push_str(HEADER);
    for group in groups {
        let of_group: Vec<&Outcome> =
            results.outcomes.iter().filter(|outcome| outcome.group == **group).collect();
        for (at, method) in results.methods.iter().enumerate() {
            let summary = Summary::of(of_group.iter().copied(), at);
            if summary.is_empty() {
                continue;
            }
            let title = if at == 0 { group.name.as_str() } else { "" };
            let _ = writeln!(out, "| {title} | {} | {} |", method.name, summary.cells().join(" | "));
        }
    }
}
