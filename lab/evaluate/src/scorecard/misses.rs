//! Misses by name, and cases in which another method is better than Laggard.

use super::groups_of;
use super::hits::hit_miss;
use super::summary::Summary;
use crate::arm::Outcome;
use crate::hits::HitScore;
use crate::results::{GroupScore, LocalizerScore, Results};
use crate::sets::SetKind;
use std::collections::BTreeMap;
use std::fmt::Write;

/// An F1 below this is a miss.
const F1_MIN: f64 = 0.9;
/// Cases listed in one row of another method.
const CASES_SHOWN: usize = 10;

/// Lists every wrong answer of a set. Cases with the same wrong answer share a row. Methods that are not Laggard's
/// default come folded away, with one example a group.
pub(super) fn misses(out: &mut String, results: &Results, set: SetKind) {
    let mut ours = Vec::new();
    let mut others = Vec::new();
    let default = results.localizers.default_method();
    for method_index in 0..results.localizers.methods.len() {
        let is_default = default == Some(method_index);
        let detail = if is_default { Detail::Every } else { Detail::OneAGroup };
        let rows = rows(results, set, method_index, detail);
        if is_default { ours.extend(rows) } else { others.extend(rows) }
    }
    for (method_index, finder) in results.patterns.methods.iter().enumerate() {
        let rows = matrix_rows(results, set, method_index);
        if finder.is_laggard { ours.extend(rows) } else { others.extend(rows) }
    }
    ours.extend(hit_rows(results, set));
    if !ours.is_empty() {
        out.push('\n');
        rows_table(out, &ours);
    }
    if !others.is_empty() {
        let _ = write!(
            out,
            "\n<details><summary>Misses of the other methods: {} rows</summary>\n\n",
            others.len()
        );
        rows_table(out, &others);
        out.push_str("\n</details>\n");
    }
}

fn rows_table(out: &mut String, rows: &[String]) {
    out.push_str("| method | cases | truth | said instead |\n|---|---|---|---|\n");
    rows.iter().for_each(|row| out.push_str(row));
}

/// Which wrong answers are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Every,
    /// The first cases of a group, with the first wrong answer.
    OneAGroup,
}

fn rows(results: &Results, set: SetKind, method: usize, detail: Detail) -> Vec<String> {
    let mut rows = Vec::new();
    for group in groups_of(results, set) {
        let mut cases: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        let of_group = results
            .localizers
            .outcomes
            .iter()
            .filter(|scored| scored.group == *group && scored.method == method);
        for outcome in of_group {
            if let Some(miss) = &outcome.score.judgment.miss {
                cases.entry(miss).or_default().push(&outcome.case);
            }
        }
        if detail == Detail::OneAGroup
            && let Some((first, _)) = cases.first_key_value()
        {
            let first = *first;
            cases = BTreeMap::from([(first, cases.into_values().flatten().collect())]);
        }
        for (miss, cases) in cases {
            let (method, got) = (&results.localizers.methods[method].name, or_nothing(&miss.got));
            let cases = if detail == Detail::OneAGroup { first_of(&cases) } else { cases.join(", ") };
            rows.push(format!("| {method} | {}: {cases} | {} | {got} |\n", group.name, cell(&miss.expected)));
        }
    }
    rows
}

fn matrix_rows(results: &Results, set: SetKind, finder: usize) -> Vec<String> {
    let of_finder =
        results.patterns.outcomes.iter().filter(|scored| scored.group.set == set && scored.method == finder);
    let row = |scored: &Outcome<GroupScore>| {
        let (expected, got) = matrix_miss(scored)?;
        let case = format!("{}: {}", scored.group.name, scored.case);
        Some(format!(
            "| {} | {case} | {expected} | {} |\n",
            results.patterns.methods[finder].name,
            cell(&got)
        ))
    };
    of_finder.filter_map(row).collect()
}

fn hit_rows(results: &Results, set: SetKind) -> Vec<String> {
    let row = |outcome: &&Outcome<HitScore>| {
        let (expected, got) = hit_miss(&outcome.score)?;
        let got = outcome.error.clone().unwrap_or(got);
        let method = &results.hits.methods[outcome.method].name;
        let case = format!("{}: {}", outcome.group.name, outcome.case);
        Some(format!("| {method} | {case} | {expected} | {} |\n", cell(&got)))
    };
    results.hits.in_set(set).iter().filter_map(row).collect()
}

/// The expected and the actual answer, where they differ.
fn matrix_miss(scored: &Outcome<GroupScore>) -> Option<(String, String)> {
    let got = |found: String| scored.error.clone().unwrap_or(found);
    let groups = format!("groups: {}", scored.score.groups);
    let Some(score) = scored.score.score else {
        let wrong = scored.score.groups > 0 || scored.error.is_some();
        return wrong.then(|| ("nothing".to_owned(), got(groups)));
    };
    let figures = format!(
        "F1 {:.3} (precision {:.3}, recall {:.3}), {groups}",
        score.f1, score.precision, score.recall
    );
    (score.f1 < F1_MIN).then(|| (format!("F1 of at least {F1_MIN}"), got(figures)))
}

fn or_nothing(got: &str) -> String {
    if got.is_empty() { "nothing".to_owned() } else { cell(got) }
}

/// The first few names, and how many more.
fn first_of(names: &[&str]) -> String {
    let shown = names[..names.len().min(CASES_SHOWN)].join(", ");
    match names.len().saturating_sub(CASES_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Names from data may hold what ends a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ").replace('<', "&lt;")
}

/// Compares Laggard's default method with every other, group by group.
pub(super) fn beaten(out: &mut String, results: &Results) {
    out.push_str("\n## Where another method is better\n\n");
    let lines: Vec<String> = by_cases(results).into_iter().chain(by_matrices(results)).collect();
    if lines.is_empty() {
        out.push_str("Nowhere in this run.\n");
        return;
    }
    out.push_str("| cases | Laggard's default | the better method | cases only it answers right |\n|---|---|---|---|\n");
    lines.iter().for_each(|line| out.push_str(line));
}

fn by_cases(results: &Results) -> Vec<String> {
    let Some(default) = results.localizers.default_method() else { return vec![] };
    let mut lines = Vec::new();
    for group in SetKind::ALL.into_iter().flat_map(|set| groups_of(results, set)) {
        let of_group = || results.localizers.outcomes.iter().filter(|scored| scored.group == *group);
        let ours = Summary::of(of_group(), default);
        for (method_index, method) in
            results.localizers.methods.iter().enumerate().filter(|&(method_index, _)| method_index != default)
        {
            let theirs = Summary::of(of_group(), method_index);
            if theirs.is_empty() || theirs.share_right() <= ours.share_right() {
                continue;
            }
            let right = |method| {
                move |scored: &&Outcome<LocalizerScore>| {
                    scored.method == method && scored.score.judgment.right
                }
            };
            let known: Vec<&str> =
                of_group().filter(right(default)).map(|scored| scored.case.as_str()).collect();
            let only = of_group().filter(right(method_index)).map(|scored| scored.case.as_str());
            let only: Vec<&str> = only.filter(|case| !known.contains(case)).collect();
            let ours = format!("{} {}", results.localizers.methods[default].name, ours.right_of_cases());
            let theirs = format!("{} {}", method.name, theirs.right_of_cases());
            lines.push(format!("| {} | {ours} | {theirs} | {} |\n", group.path(), cell(&first_of(&only))));
        }
    }
    lines
}

fn by_matrices(results: &Results) -> Vec<String> {
    let Some(default) = results.patterns.default_method() else { return vec![] };
    let own = |other: &Outcome<GroupScore>| {
        let is_own = |scored: &&Outcome<GroupScore>| {
            scored.method == default && scored.group == other.group && scored.case == other.case
        };
        results.patterns.outcomes.iter().find(is_own)?.score.score
    };
    let line = |scored: &Outcome<GroupScore>| {
        let (own, other) = (own(scored)?.f1, scored.score.score?.f1);
        let [ours, theirs] =
            [default, scored.method].map(|method_index| &results.patterns.methods[method_index].name);
        let case = format!("{}/{}", scored.group.path(), scored.case);
        (other > own).then(|| format!("| {case} | {ours} {own:.3} | {theirs} {other:.3} | |\n"))
    };
    results.patterns.outcomes.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::{Family, MethodRow};
    use crate::judge::{Judgment, Miss};
    use crate::measure::Cost;
    use crate::sets::Group;

    fn results() -> Results {
        let method =
            |name: &str, is_laggard| MethodRow { name: name.to_owned(), is_laggard, uses_baseline: false };
        let outcome = |case: &str, method, right: bool| Outcome {
            group: Group::new(SetKind::Simulator, "bursts"),
            case: case.to_owned(),
            method,
            score: LocalizerScore {
                hours: 0.0,
                detected: None,
                false_alarms: 0,
                judgment: Judgment {
                    right,
                    miss: (!right).then(|| Miss { expected: "a|b".to_owned(), got: String::new() }),
                    ..Judgment::default()
                },
            },
            error: None,
            cost: Cost::default(),
        };
        let localizers = Family {
            methods: vec![method("ours", true), method("theirs", false)],
            outcomes: vec![
                outcome("seed 1", 0, false),
                outcome("seed 1", 1, true),
                outcome("seed 2", 0, false),
                outcome("seed 2", 1, false),
            ],
        };
        Results { localizers, ..Results::default() }
    }

    #[test]
    fn equal_misses_share_a_row_and_names_cannot_end_a_cell() {
        let mut out = String::new();
        misses(&mut out, &results(), SetKind::Simulator);
        assert!(out.contains("| ours | bursts: seed 1, seed 2 | a\\|b | nothing |"), "{out}");
        assert!(out.contains("Misses of the other methods: 1 rows"), "{out}");
    }

    #[test]
    fn a_better_method_is_listed_with_its_cases() {
        let mut out = String::new();
        beaten(&mut out, &results());
        assert!(out.contains("| simulator/bursts | ours 0/2 | theirs 1/2 | seed 1 |"), "{out}");
        let mut even = results();
        even.localizers.outcomes[0].score.judgment.right = true;
        out.clear();
        beaten(&mut out, &even);
        assert!(out.contains("Nowhere in this run."), "{out}");
    }
}
