//! What a conjunction is worth, judged against requests of no pattern.

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

/// Adds the patterns that hold to the answer.
pub(super) fn judge(
    table: &RequestTable<'_>,
    requests: &Requests,
    found: Vec<Conjunction>,
    settings: &PatternSettings,
    answer: &mut LatencyPatterns,
) {
    let mut rest = RowSet::of(requests.len(), |_| true);
    for pattern in &found {
        rest = rest.without(&pattern.rows);
    }
    let normal = Normal::new(table, requests, rest);
    answer.normal_latency = normal.median;
    let trials = requests.candidates.len() as f64;
    let judged = found.iter().map(|pattern| measure(table, requests, pattern, &normal, trials));
    answer.patterns = judged.filter(|pattern| holds(pattern, settings)).collect();
}

fn holds(pattern: &LatencyPattern, settings: &PatternSettings) -> bool {
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
    found: &Conjunction,
    normal: &Normal,
    trials: f64,
) -> LatencyPattern {
    let latencies = latencies_of(requests, &found.rows);
    let median = median_of(&latencies);
    let border = (median * normal.median).sqrt();
    let above = |latencies: &[f64]| latencies.iter().filter(|&&latency| latency > border).count() as f64;
    let (slow, slow_normal) = (above(&latencies), above(&normal.latencies));
    let test = mann_whitney_asymptotic(&latencies, &normal.latencies, Alternative::Greater);
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    LatencyPattern {
        conditions: found.conditions.iter().map(|&at| condition(requests, at)).collect(),
        companions: companions(requests, found),
        rows: found.rows.iter().map(|row| requests.table_rows[row]).collect(),
        requests: found.rows.iter().map(|row| table.weight(requests.table_rows[row])).sum(),
        mean_excess: weighted_mean(table, requests, &found.rows) - normal.mean,
        slowdown: share(median, normal.median),
        separation: requests.separation(&found.rows, &normal.rows),
        precision: share(slow, latencies.len() as f64),
        recall: share(slow, slow + slow_normal),
        p_value: (test.p_value * trials).min(1.0),
    }
}

fn condition(requests: &Requests, at: usize) -> Condition {
    let candidate = &requests.candidates[at];
    Condition { column: candidate.column, low: candidate.low, high: candidate.high }
}

fn companions(requests: &Requests, found: &Conjunction) -> Vec<Condition> {
    let is_new = |column: usize| found.conditions.iter().all(|&at| requests.candidates[at].column != column);
    let agreeing = found.agreeing.iter().map(|&at| condition(requests, at));
    agreeing.filter(|condition| is_new(condition.column)).collect()
}
