//! How well changes and demands were found.

use crate::run::{ChangeOutcome, DemandOutcome, Results};
use crate::sets::{Group, SetKind};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Longest list of cases in one row of misses.
const CASES_MAX: usize = 10;

/// All tables of a set about windows.
pub(super) fn change_tables(out: &mut String, results: &Results, set: SetKind) {
    let demands: Vec<&DemandOutcome> = results.demands.iter().filter(|one| one.group.set == set).collect();
    if !demands.is_empty() {
        demand_table(out, results, &demands);
    }
    let changes: Vec<&ChangeOutcome> = results.changes.iter().filter(|one| one.group.set == set).collect();
    if !changes.is_empty() {
        change_table(out, results, &changes);
        misses(out, results, &changes);
    }
}

/// Groups in the order they were run.
fn groups<'a>(all: impl Iterator<Item = &'a Group>) -> Vec<&'a Group> {
    let mut seen = BTreeSet::new();
    all.filter(|group| seen.insert(*group)).collect()
}

const CHANGES: &str = "
| cases | method | right | no answer | alarms found | false alarms | median onset error, windows | in the interval | named | sized | regions found | false regions | wall s |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

fn change_table(out: &mut String, results: &Results, outcomes: &[&ChangeOutcome]) {
    out.push_str(CHANGES);
    for group in groups(outcomes.iter().map(|one| &one.group)) {
        change_rows(out, results, &group.name, |one| one.group == *group, outcomes);
    }
    change_rows(out, results, "all", |_| true, outcomes);
}

/// A row a method.
fn change_rows(
    out: &mut String,
    results: &Results,
    title: &str,
    belongs: impl Fn(&ChangeOutcome) -> bool,
    outcomes: &[&ChangeOutcome],
) {
    let mut title = format!("**{title}**");
    for (at, finder) in results.change_finders.iter().enumerate() {
        let own = outcomes.iter().copied().filter(|one| one.finder == at && belongs(one));
        let own: Vec<&ChangeOutcome> = own.collect();
        if !own.is_empty() {
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                std::mem::take(&mut title),
                finder.name,
                change_cells(&own)
            );
        }
    }
}

fn change_cells(own: &[&ChangeOutcome]) -> String {
    let sum = |of: fn(&ChangeOutcome) -> usize| own.iter().map(|one| of(one)).sum::<usize>();
    let right = own.iter().filter(|one| one.score.is_right()).count();
    let found = sum(|one| one.score.found);
    let errors = own.iter().flat_map(|one| one.score.onset_errors.iter().copied()).collect();
    let cells = [
        format!("{right}/{}", own.len()),
        own.iter().filter(|one| !one.score.is_answered).count().to_string(),
        share(found, sum(|one| one.score.expected)),
        sum(|one| one.score.false_alarms).to_string(),
        median(errors).map_or("–".to_owned(), |error| format!("{error:.0}")),
        share(sum(|one| one.score.covered), sum(|one| one.score.intervals)),
        share(sum(|one| one.score.named), found),
        share(sum(|one| one.score.sized), found),
        share(sum(|one| one.score.regions_detected), sum(|one| one.score.regions)),
        sum(|one| one.score.false_regions).to_string(),
        format!("{:.2}", own.iter().map(|one| one.cost.wall_s).sum::<f64>() / own.len() as f64),
    ];
    cells.join(" | ")
}

/// `3/4`, or a dash where there is nothing to find.
fn share(part: usize, whole: usize) -> String {
    if whole == 0 { "–".to_owned() } else { format!("{part}/{whole}") }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some((lower + upper) / 2.0)
}

/// Every wrong answer of Laggard's methods.
fn misses(out: &mut String, results: &Results, outcomes: &[&ChangeOutcome]) {
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for one in
        outcomes.iter().filter(|one| results.change_finders[one.finder].is_laggard && !one.score.is_right())
    {
        let finder = &results.change_finders[one.finder].name;
        let row = format!("| {} | {} | {} |", one.group.name, finder, one.got.replace('|', "\\|"));
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, cases)) => cases.push(&one.case),
            None => rows.push((row, vec![&one.case])),
        }
    }
    if rows.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "\n<details><summary>Wrong answers of Laggard's methods: {} rows</summary>\n\n",
        rows.len()
    );
    out.push_str("| group | method | answer | cases |\n|---|---|---|---|\n");
    for (row, cases) in rows {
        let shown = cases.iter().take(CASES_MAX).copied().collect::<Vec<&str>>().join(", ");
        let _ = writeln!(out, "{row} {shown} |");
    }
    out.push_str("\n</details>\n");
}

const DEMANDS: &str = "
| load | estimator | mean relative error | largest | in the interval | mean half width of the interval | wall s |
|---|---|---|---|---|---|---|
";

fn demand_table(out: &mut String, results: &Results, outcomes: &[&DemandOutcome]) {
    out.push_str(DEMANDS);
    for group in groups(outcomes.iter().map(|one| &one.group)) {
        for (at, estimator) in results.estimators.iter().enumerate() {
            let own = outcomes.iter().copied().filter(|one| one.estimator == at && one.group == *group);
            let own: Vec<&DemandOutcome> = own.collect();
            if own.is_empty() {
                continue;
            }
            let title = format!("{} ({} runs)", group.name, own.len());
            let _ = writeln!(out, "| {title} | {} | {} |", estimator.name, demand_cells(&own));
        }
    }
}

fn demand_cells(own: &[&DemandOutcome]) -> String {
    let errors: Vec<f64> = own.iter().flat_map(|one| one.score.relative_errors.iter().copied()).collect();
    let widths: Vec<f64> =
        own.iter().flat_map(|one| one.score.interval_half_widths.iter().copied()).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let percent =
        |value: f64| if value.is_finite() { format!("{:.1} %", 100.0 * value) } else { "–".to_owned() };
    let covered = own.iter().map(|one| one.score.covered).sum();
    let intervals = own.iter().map(|one| one.score.intervals).sum();
    let largest = errors.iter().copied().fold(f64::NAN, f64::max);
    let unanswered = own.iter().filter(|one| one.error.is_some()).count();
    let add_note = if unanswered > 0 { format!(", {unanswered} without an answer") } else { String::new() };
    let cells = [
        format!("{}{add_note}", percent(mean(&errors))),
        percent(largest),
        share(covered, intervals),
        percent(mean(&widths)),
        format!("{:.3}", own.iter().map(|one| one.cost.wall_s).sum::<f64>() / own.len() as f64),
    ];
    cells.join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_shares() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
        assert_eq!((share(1, 2), share(0, 0)), ("1/2".to_owned(), "–".to_owned()));
    }
}
