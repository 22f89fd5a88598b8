//! Two causes in one mode: two similar delays in one operation look like one mode there, but not in other columns.

use super::candidates::{ColumnModes, Requests};
use super::row_set::RowSet;
use super::settings::PatternSettings;

/// Most candidates that are paired.
const MARKS_MAX: usize = 64;

/// The smaller of two causes has at least this share of the slow requests.
const HALF_MIN: f64 = 0.1;

/// A column is alike inside and outside a pattern when the shares of its modes differ by at most this in total.
const ALIKE_DISTANCE_MAX: f64 = 0.2;

/// The candidate that marks the larger of two causes, when `rows` have two.
///
/// Two marks (modes that are frequent among the slow ones of `rows` and rare in the rest) divide when almost
/// slow request has exactly one of them. A division that also exists in a column that the pattern does not affect
/// (a cache, hit or missed) is independent of the pattern and does not count.
pub(super) fn divide(
    requests: &Requests,
    rows: &RowSet,
    left: &RowSet,
    settings: &PatternSettings,
) -> Option<usize> {
    let rest = left.without(rows);
    let slow = slow_ones(requests, rows, &rest);
    let (size, rest_size) = (slow.len() as f64, rest.len() as f64);
    if slow.len() < 2 * settings.rows_min || rest_size == 0.0 {
        return None;
    }
    let marks = marks(requests, &slow, &rest, settings);
    let mut best: Option<Division> = None;
    for (later, &second) in marks.iter().enumerate() {
        for &first in &marks[..later] {
            if requests.candidates[first].column == requests.candidates[second].column {
                continue;
            }
            let division = Division::new(requests, first, second, &slow);
            let (least, most) = (HALF_MIN * size, best.as_ref().map_or(0, |best| best.covered));
            let is_better =
                division.covered > most && division.covered as f64 >= settings.division_min * size;
            let is_balanced = division.smaller() as f64 >= least;
            if is_better && is_balanced && !is_inherited(requests, &division, &slow, &rest, settings) {
                best = Some(division);
            }
        }
    }
    best.map(|division| division.larger())
}

/// Rows whose slowness is nearer to the mean of the pattern than to that of the rest.
fn slow_ones(requests: &Requests, rows: &RowSet, rest: &RowSet) -> RowSet {
    let border = f64::midpoint(requests.total(rows).mean(), requests.total(rest).mean());
    let mut slow = RowSet::none(requests.len());
    for row in rows.iter().filter(|&row| requests.slowness[row] as f64 >= border) {
        slow.insert(row);
    }
    slow
}

fn marks(requests: &Requests, slow: &RowSet, rest: &RowSet, settings: &PatternSettings) -> Vec<usize> {
    let (size, rest_size) = (slow.len() as f64, rest.len() as f64);
    let mut marks: Vec<(usize, usize)> = Vec::new();
    for (index, candidate) in requests.candidates.iter().enumerate() {
        let common = candidate.rows.common(slow);
        let share = common as f64 / size;
        let elsewhere = candidate.rows.common(rest) as f64 / rest_size;
        if (HALF_MIN..=1.0 - HALF_MIN).contains(&share) && share >= settings.lift_min * elsewhere {
            marks.push((common, index));
        }
    }
    marks.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    marks.truncate(MARKS_MAX);
    marks.into_iter().map(|(_, index)| index).collect()
}

/// Slow rows divided by two marks.
struct Division {
    first: usize,
    second: usize,
    first_count: usize,
    second_count: usize,
    /// Rows with exactly one of the two marks.
    covered: usize,
}

impl Division {
    fn new(requests: &Requests, first: usize, second: usize, slow: &RowSet) -> Division {
        let (a, b) = (&requests.candidates[first].rows, &requests.candidates[second].rows);
        let (first_count, second_count) = (a.common(slow), b.common(slow));
        Division { first, second, first_count, second_count, covered: a.differing(b, slow) }
    }

    fn smaller(&self) -> usize {
        self.first_count.min(self.second_count)
    }

    fn larger(&self) -> usize {
        if self.first_count >= self.second_count { self.first } else { self.second }
    }
}

/// Whether a column that is alike inside and outside the pattern predicts the two halves.
fn is_inherited(
    requests: &Requests,
    division: &Division,
    slow: &RowSet,
    rest: &RowSet,
    settings: &PatternSettings,
) -> bool {
    let (a, b) = (&requests.candidates[division.first].rows, &requests.candidates[division.second].rows);
    let (only_a, only_b) = (slow.and(a).without(b), slow.and(b).without(a));
    requests.columns.iter().any(|column| {
        if distance(&counts(column, slow), &counts(column, rest)) > ALIKE_DISTANCE_MAX {
            return false;
        }
        let (of_a, of_b) = (counts(column, &only_a), counts(column, &only_b));
        let predicted: u64 = of_a.iter().zip(&of_b).map(|(a, b)| a.max(b)).sum();
        predicted as f64 >= settings.inherited_max * division.covered as f64
    })
}

fn counts(column: &ColumnModes, rows: &RowSet) -> Vec<u64> {
    let mut counts = vec![0_u64; column.modes + 1];
    for row in rows.iter() {
        counts[usize::from(column.labels[row])] += 1;
    }
    counts
}

/// Total variation distance of two sets of counts as shares.
fn distance(first: &[u64], second: &[u64]) -> f64 {
    let sum = |counts: &[u64]| counts.iter().sum::<u64>().max(1) as f64;
    let (a, b) = (sum(first), sum(second));
    first.iter().zip(second).map(|(&x, &y)| (x as f64 / a - y as f64 / b).abs()).sum::<f64>() / 2.0
}
