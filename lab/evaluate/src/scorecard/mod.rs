//! The results as one page.

mod changes;
mod executions;
mod explained;
mod hits;
mod matrices;
mod misses;
mod summary;
mod systems;

use crate::arm::Outcome;
use crate::measure::Cost;
use crate::results::{LocalizerScore, Results};
use crate::sets::{Group, SetKind};
use changes::{change_misses, change_tables};
use executions::execution_table;
use explained::{INTRODUCTION, METHODS, MISSES, about};
use hits::hit_table;
use matrices::matrix_tables;
use misses::{beaten, misses};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use summary::Summary;
use systems::systems_table;

/// No method waits for anything: on an idle machine wall time hardly exceeds processor time.
const BUSY: f64 = 1.3;
const BUSY_NOTE: &str =
    "- Other work ran on the machine meanwhile: wall seconds are too long, processor seconds about right.\n";

/// The page, in Markdown.
pub fn scorecard(results: &Results) -> String {
    let mut out = String::from(INTRODUCTION);
    facts(&mut out, results);
    out.push_str(METHODS);
    overview(&mut out, results);
    beaten(&mut out, results);
    for set in results.sets() {
        let _ = write!(out, "\n## {}\n\n{}\n", set.name(), about(set));
        let matrices = results.patterns.in_set(set);
        if !results.hits.in_set(set).is_empty() {
            hit_table(&mut out, &results.hits, set);
        } else if !results.executions.in_set(set).is_empty() {
            execution_table(&mut out, &results.executions, set);
        } else if !results.changes.in_set(set).is_empty() || !results.demands.in_set(set).is_empty() {
            change_tables(&mut out, results, set);
        } else if matrices.is_empty() {
            table(&mut out, results, &groups_of(results, set));
            if set == SetKind::Days {
                systems_table(&mut out, &results.localizers);
            }
        } else {
            matrix_tables(&mut out, &results.patterns, &matrices);
        }
    }
    out
}

/// The page of wrong answers, in Markdown.
pub fn misses_page(results: &Results) -> String {
    let mut out = String::from(MISSES);
    for set in results.sets() {
        let mut section = String::new();
        misses(&mut section, results, set);
        change_misses(&mut section, &results.changes, &results.changes.in_set(set));
        if !section.is_empty() {
            let _ = write!(out, "\n## {}\n{section}", set.name());
        }
    }
    out
}

fn facts(out: &mut String, results: &Results) {
    let _ = writeln!(
        out,
        "\nThis run: {} processor cores; simulated incidents of {} requests each. Seeds: {}.",
        results.cores,
        shown(results.requests.iter().map(|requests| 3 * u64::from(*requests)).collect()),
        (results.seeds.iter())
            .map(|(set, methods)| format!("{} {}", set.name(), seeds_text(methods)))
            .collect::<Vec<String>>()
            .join(", "),
    );
    let using: Vec<&str> = (results.localizers.methods.iter())
        .filter(|method| method.uses_baseline)
        .map(|method| method.name.as_str())
        .collect();
    let _ = writeln!(out, "Methods that compare with a baseline: {}.\n", using.join(", "));
    let cost =
        results.localizers.outcomes.iter().fold(Cost::default(), |sum, outcome| sum.plus(outcome.cost));
    if cost.processor_s > 0.0 && cost.wall_s > BUSY * cost.processor_s {
        out.push_str(BUSY_NOTE);
    }
    for note in &results.notes {
        let _ = writeln!(out, "- {note}");
    }
}

fn shown(numbers: Vec<u64>) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<String>>().join(" or ")
}

/// `1 to 9`, or where methods differ `1 to 9 (combined), 1 to 3 (pca, TraceRCA)`.
fn seeds_text(methods: &BTreeMap<String, BTreeSet<u64>>) -> String {
    let mut by_seeds: BTreeMap<&BTreeSet<u64>, Vec<&str>> = BTreeMap::new();
    for (method, seeds) in methods {
        by_seeds.entry(seeds).or_default().push(method);
    }
    let is_one = by_seeds.len() == 1;
    let text = |(seeds, methods): (&BTreeSet<u64>, Vec<&str>)| match is_one {
        true => ranges(seeds),
        false => format!("{} ({})", ranges(seeds), methods.join(", ")),
    };
    by_seeds.into_iter().map(text).collect::<Vec<String>>().join(", ")
}

/// `1 to 9, 11`.
fn ranges(numbers: &BTreeSet<u64>) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let run = |&(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first} to {last}") }
    };
    runs.iter().map(run).collect::<Vec<String>>().join(", ")
}

/// Groups of a set in the order they were run.
pub(super) fn groups_of(results: &Results, set: SetKind) -> Vec<&Group> {
    distinct(&results.localizers.in_set(set))
}

/// The groups of some outcomes, in the order they were run.
pub(super) fn distinct<'a, S>(outcomes: &[&'a Outcome<S>]) -> Vec<&'a Group> {
    let mut seen = BTreeSet::new();
    outcomes.iter().map(|outcome| &outcome.group).filter(|group| seen.insert(*group)).collect()
}

/// The outcomes of one method.
pub(super) fn of_method<'a, S>(outcomes: &[&'a Outcome<S>], method: usize) -> Vec<&'a Outcome<S>> {
    outcomes.iter().copied().filter(|outcome| outcome.method == method).collect()
}

/// The outcomes of one group.
pub(super) fn of_group<'a, S>(outcomes: &[&'a Outcome<S>], group: &Group) -> Vec<&'a Outcome<S>> {
    outcomes.iter().copied().filter(|outcome| outcome.group == *group).collect()
}

/// Mean run time of some outcomes, in seconds.
pub(super) fn mean_wall_s<S>(outcomes: &[&Outcome<S>]) -> f64 {
    outcomes.iter().map(|outcome| outcome.cost.wall_s).sum::<f64>() / outcomes.len() as f64
}

fn overview(out: &mut String, results: &Results) {
    if results.localizers.outcomes.is_empty() {
        return;
    }
    out.push_str("\n## Overview\n\nShare of the cases that are answered right in every respect.\n\n| set |");
    for method in &results.localizers.methods {
        let _ = write!(out, " {} |", method.name);
    }
    let _ = write!(out, "\n|---|{}\n", "---|".repeat(results.localizers.methods.len()));
    for set in SetKind::ALL.into_iter().filter(|set| !groups_of(results, *set).is_empty()) {
        let _ = write!(out, "| {} |", set.name());
        for method in 0..results.localizers.methods.len() {
            let summary = Summary::of(
                results.localizers.outcomes.iter().filter(|scored| scored.group.set == set),
                method,
            );
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
        let of_group: Vec<&Outcome<LocalizerScore>> =
            results.localizers.outcomes.iter().filter(|outcome| outcome.group == **group).collect();
        let mut title = group.name.as_str();
        for (method_index, method) in results.localizers.methods.iter().enumerate() {
            let summary = Summary::of(of_group.iter().copied(), method_index);
            if summary.is_empty() {
                continue;
            }
            let _ = writeln!(out, "| {title} | {} | {} |", method.name, summary.cells().join(" | "));
            title = "";
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_shown_as_ranges() {
        assert_eq!(ranges(&BTreeSet::from([1, 2, 3, 7, 9, 10])), "1 to 3, 7, 9 to 10");
        assert_eq!(ranges(&BTreeSet::new()), "");
        let methods = |last: u64| {
            let row = |name: &str, last: u64| (name.to_owned(), (1..=last).collect());
            BTreeMap::from([row("a", 3), row("b", 3), row("c", last)])
        };
        assert_eq!(seeds_text(&methods(3)), "1 to 3");
        assert_eq!(seeds_text(&methods(9)), "1 to 3 (a, b), 1 to 9 (c)");
    }
}
