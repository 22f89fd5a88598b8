//! How well changes and demands were found.

use super::{distinct, mean_wall_s, of_group, of_method};
use crate::arm::{Family, Outcome};
use crate::changes::{ChangeScore, DemandScore};
use crate::results::Results;
use crate::sets::SetKind;
use std::fmt::Write;

/// Longest list of cases in one row of misses.
const CASES_MAX: usize = 10;

/// All tables of a set about windows.
pub(super) fn change_tables(out: &mut String, results: &Results, set: SetKind) {
    let demands = results.demands.in_set(set);
    if !demands.is_empty() {
        demand_table(out, &results.demands, &demands);
    }
    let changes = results.changes.in_set(set);
    if !changes.is_empty() {
        change_table(out, &results.changes, &changes);
    }
}

type ChangeOutcomes<'a> = [&'a Outcome<ChangeScore>];

const CHANGES: &str = "
| cases | method | right | no answer | alarms found | false alarms | median onset error, windows | in the interval | named | sized | regions found | false regions | wall s |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

fn change_table(out: &mut String, family: &Family<ChangeScore>, outcomes: &ChangeOutcomes<'_>) {
    out.push_str(CHANGES);
    for group in distinct(outcomes) {
        change_rows(out, family, &group.name, &of_group(outcomes, group));
    }
    change_rows(out, family, "all", outcomes);
}

/// A row a method.
fn change_rows(out: &mut String, family: &Family<ChangeScore>, title: &str, outcomes: &ChangeOutcomes<'_>) {
    let mut title = format!("**{title}**");
    for (method, row) in family.methods.iter().enumerate() {
        let own = of_method(outcomes, method);
        if !own.is_empty() {
            let title = std::mem::take(&mut title);
            let _ = writeln!(out, "| {title} | {} | {} |", row.name, change_cells(&own));
        }
    }
}

fn change_cells(own: &ChangeOutcomes<'_>) -> String {
    let sum =
        |count: fn(&ChangeScore) -> usize| own.iter().map(|outcome| count(&outcome.score)).sum::<usize>();
    let right = own.iter().filter(|outcome| outcome.score.is_right()).count();
    let found = sum(|score| score.found);
    let errors = own.iter().flat_map(|outcome| outcome.score.onset_errors.iter().copied()).collect();
    let cells = [
        format!("{right}/{}", own.len()),
        own.iter().filter(|outcome| !outcome.score.is_answered).count().to_string(),
        share(found, sum(|score| score.expected)),
        sum(|score| score.false_alarms).to_string(),
        median(errors).map_or("–".to_owned(), |error| format!("{error:.0}")),
        share(sum(|score| score.covered), sum(|score| score.intervals)),
        share(sum(|score| score.named), found),
        share(sum(|score| score.sized), found),
        share(sum(|score| score.regions_detected), sum(|score| score.regions)),
        sum(|score| score.false_regions).to_string(),
        format!("{:.2}", mean_wall_s(own)),
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
pub(super) fn change_misses(out: &mut String, family: &Family<ChangeScore>, outcomes: &ChangeOutcomes<'_>) {
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for outcome in outcomes
        .iter()
        .filter(|outcome| family.methods[outcome.method].is_laggard && !outcome.score.is_right())
    {
        let method = &family.methods[outcome.method].name;
        let got = outcome.error.as_ref().unwrap_or(&outcome.score.words).replace('|', "\\|");
        let row = format!("| {} | {method} | {got} |", outcome.group.name);
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, cases)) => cases.push(&outcome.case),
            None => rows.push((row, vec![&outcome.case])),
        }
    }
    if rows.is_empty() {
        return;
    }
    out.push_str("\n| group | method | answer | cases |\n|---|---|---|---|\n");
    for (row, cases) in rows {
        let shown = cases.iter().take(CASES_MAX).copied().collect::<Vec<&str>>().join(", ");
        let _ = writeln!(out, "{row} {shown} |");
    }
}

const DEMANDS: &str = "
| load | estimator | mean relative error | largest | in the interval | mean half width of the interval | wall s |
|---|---|---|---|---|---|---|
";

type DemandOutcomes<'a> = [&'a Outcome<DemandScore>];

fn demand_table(out: &mut String, family: &Family<DemandScore>, outcomes: &DemandOutcomes<'_>) {
    out.push_str(DEMANDS);
    for group in distinct(outcomes) {
        for (method, row) in family.methods.iter().enumerate() {
            let own = of_method(&of_group(outcomes, group), method);
            if own.is_empty() {
                continue;
            }
            let title = format!("{} ({} runs)", group.name, own.len());
            let _ = writeln!(out, "| {title} | {} | {} |", row.name, demand_cells(&own));
        }
    }
}

fn demand_cells(own: &DemandOutcomes<'_>) -> String {
    let errors: Vec<f64> =
        own.iter().flat_map(|outcome| outcome.score.relative_errors.iter().copied()).collect();
    let widths: Vec<f64> =
        own.iter().flat_map(|outcome| outcome.score.interval_half_widths.iter().copied()).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let percent =
        |value: f64| if value.is_finite() { format!("{:.1} %", 100.0 * value) } else { "–".to_owned() };
    let covered = own.iter().map(|outcome| outcome.score.covered).sum();
    let intervals = own.iter().map(|outcome| outcome.score.intervals).sum();
    let largest = errors.iter().copied().fold(f64::NAN, f64::max);
    let unanswered = own.iter().filter(|outcome| outcome.error.is_some()).count();
    let note = if unanswered > 0 { format!(", {unanswered} without an answer") } else { String::new() };
    let cells = [
        format!("{}{note}", percent(mean(&errors))),
        percent(largest),
        share(covered, intervals),
        percent(mean(&widths)),
        format!("{:.3}", mean_wall_s(own)),
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
