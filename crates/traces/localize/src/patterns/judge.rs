//! Tests conjunctions against requests of no pattern, and measures them.

use super::candidates::Requests;
use super::row_set::RowSet;
use super::search::Conjunction;
use super::settings::PatternSettings;
use super::table::RequestTable;
use super::{Condition, LatencyPattern, LatencyPatterns};
use laggard_numeric::{Alternative, mann_whitney_asymptotic, median_of};

/// Requests of no pattern.
struct Normal {
    rows: RowSet,
    latencies: Vec<f64>,
    median: f64,
    mean: f64,
}

/// Adds the patterns that pass to the answer.
pub(super) fn judge(
    table: &RequestTable<'_>,
    requests: &Requests,
    conjunctions: Vec<Conjunction>,
    settings: &PatternSettings,
    answer: &mut LatencyPatterns,
) {
    let mut rest = RowSet::of(requests.len(), |_| true);
    for conjunction in &conjunctions {
        rest = rest.without(&conjunction.rows);
    }
    let normal = Normal::new(table, requests, rest);
    answer.normal_latency = normal.median;
    let trials = requests.candidates.len() as f64;
    let measured =
        conjunctions.iter().map(|conjunction| measure(table, requests, conjunction, &normal, trials));
    answer.patterns = measured.filter(|pattern| passes(pattern, settings)).collect();
}

fn passes(pattern: &LatencyPattern, settings: &PatternSettings) -> bool {
    let is_selection = pattern.conditions.len() > 1 && pattern.recall < settings.conjunction_recall_min;
    !is_selection
        && pattern.separation >= settings.separation_min
        && pattern.slowdown >= 1.0 + settings.excess_min
        && pattern.p_value <= settings.level
}

impl Normal {
    fn new(table: &RequestTable<'_>, requests: &Requests, rows: RowSet) -> Normal {
        let latencies = latencies_of(requests, &rows);
        let median = median_of(&latencies);
        let mean = weighted_mean(table, requests, &rows);
        Normal { rows, latencies, median, mean }
    }
}

fn latencies_of(requests: &Requests, rows: &RowSet) -> Vec<f64> {
    rows.iter().map(|row| requests.latencies[row]).collect()
}

fn weighted_mean(table: &RequestTable<'_>, requests: &Requests, rows: &RowSet) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for row in rows.iter() {
        let weight = table.weight(requests.table_rows[row]);
        sum += weight * requests.latencies[row];
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

fn measure(
    table: &RequestTable<'_>,
    requests: &Requests,
    conjunction: &Conjunction,
    normal: &Normal,
    trials: f64,
) -> LatencyPattern {
    let latencies = latencies_of(requests, &conjunction.rows);
    let median = median_of(&latencies);
    let border = (median * normal.median).sqrt();
    let above = |latencies: &[f64]| latencies.iter().filter(|&&latency| latency > border).count() as f64;
    let (slow, slow_normal) = (above(&latencies), above(&normal.latencies));
    let test = mann_whitney_asymptotic(&latencies, &normal.latencies, Alternative::Greater);
    let share = |part: f64, total: f64| if total > 0.0 { part / total } else { 0.0 };
    LatencyPattern {
        conditions: conjunction.conditions.iter().map(|&candidate| condition(requests, candidate)).collect(),
        companions: companions(requests, conjunction),
        rows: conjunction.rows.iter().map(|row| requests.table_rows[row]).collect(),
        requests: conjunction.rows.iter().map(|row| table.weight(requests.table_rows[row])).sum(),
        mean_excess: weighted_mean(table, requests, &conjunction.rows) - normal.mean,
        slowdown: share(median, normal.median),
        separation: requests.separation(&conjunction.rows, &normal.rows),
        precision: share(slow, latencies.len() as f64),
        recall: share(slow, slow + slow_normal),
        p_value: (test.p_value * trials).min(1.0),
    }
}

fn condition(requests: &Requests, candidate: usize) -> Condition {
    let candidate = &requests.candidates[candidate];
    Condition { column: candidate.column, low: candidate.low, high: candidate.high }
}

fn companions(requests: &Requests, conjunction: &Conjunction) -> Vec<Condition> {
    let is_new = |column: usize| {
        conjunction.conditions.iter().all(|&candidate| requests.candidates[candidate].column != column)
    };
    let agreeing = conjunction.agreeing.iter().map(|&candidate| condition(requests, candidate));
    agreeing.filter(|condition| is_new(condition.column)).collect()
}
