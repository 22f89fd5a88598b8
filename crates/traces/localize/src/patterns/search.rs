//! The search: repeatedly from the mode that explains most of the latency to a conjunction.

use super::candidates::Requests;
use super::division::divide;
use super::row_set::{RowSet, phi};
use super::settings::PatternSettings;

/// In the search, other patterns are still among the rest, so less separation suffices than at the end.
const SEPARATION_IN_SEARCH: f64 = 0.8;

/// A mode with less than this share of its rows left by earlier patterns is a remnant, not a mode.
const LEFT_MIN: f64 = 0.5;

/// Agreement settles in two or three steps; the limit stops oscillation.
const AGREEMENT_STEPS: usize = 4;

/// A further condition explains at least this share more: with less, chance would select conditions.
const NARROWING_GAIN_MIN: f64 = 0.1;

/// A condition that narrows drops normal requests: the dropped ones are slower than the rest with at most this
/// probability. If they were slow as well, the conjunction would only select the slowest of many slow ones.
const DROPPED_SEPARATION_MAX: f64 = 0.6;

/// Candidates and the requests they select.
pub(super) struct Conjunction {
    /// Indices of candidates that all hold.
    pub(super) conditions: Vec<usize>,
    /// Indices of candidates, one per column, that mark the same requests.
    pub(super) agreeing: Vec<usize>,
    pub(super) rows: RowSet,
}

/// Conjunctions in the order of discovery; their rows are disjoint.
///
/// Time per pattern: one pass over the rows for each candidate.
pub(super) fn search(requests: &Requests, settings: &PatternSettings) -> Vec<Conjunction> {
    let mut left = RowSet::of(requests.len(), |_| true);
    let mut is_refused = vec![false; requests.candidates.len()];
    let mut conjunctions = Vec::new();
    while conjunctions.len() < settings.patterns_max {
        let Some(seed) = best_candidate(requests, &left, &is_refused) else { break };
        let pattern = grow(requests, seed, &left, settings);
        let others = left.without(&pattern.rows);
        let is_slow = requests.separation(&pattern.rows, &others) >= SEPARATION_IN_SEARCH;
        if pattern.conditions.is_empty() || pattern.rows.len() < settings.rows_min || !is_slow {
            is_refused[seed] = true;
            continue;
        }
        left = others;
        conjunctions.push(pattern);
    }
    conjunctions
}

/// The candidate that explains most of the slowness of the rows left; the first of equals.
fn best_candidate(requests: &Requests, left: &RowSet, is_refused: &[bool]) -> Option<usize> {
    let mut best = None;
    let mut most = 0.0;
    for (index, candidate) in requests.candidates.iter().enumerate() {
        let is_remnant = (candidate.rows.common(left) as f64) < LEFT_MIN * candidate.count as f64;
        if is_refused[index] || is_remnant {
            continue;
        }
        let explained = requests.explained(&candidate.rows.and(left), left);
        if explained > most {
            (best, most) = (Some(index), explained);
        }
    }
    best
}

/// From one candidate to the requests its column and others agree on, and the conjunction for them.
fn grow(requests: &Requests, seed: usize, left: &RowSet, settings: &PatternSettings) -> Conjunction {
    let start = narrow(requests, seed, left, settings);
    let is_conjunction = start.candidates.len() > 1;
    let explained = requests.explained(&start.rows, left);
    let mut agreed = agree(requests, start.clone(), left, settings);
    if is_conjunction && requests.explained(&agreed.rows, left) < explained {
        // Columns that agree would undo a selection that only a conjunction makes.
        agreed = start;
    }
    if let Some(half) = divide(requests, &agreed.rows, left, settings) {
        let rows = agreed.rows.and(&requests.candidates[half].rows);
        agreed = agree(requests, Agreed { candidates: vec![half], rows }, left, settings);
    }
    let (conditions, rows) = conjunction(requests, &agreed.rows, left, settings);
    Conjunction { conditions, agreeing: agreed.candidates, rows }
}

/// Adds conditions to the first while each explains clearly more.
fn narrow(requests: &Requests, seed: usize, left: &RowSet, settings: &PatternSettings) -> Agreed {
    let mut start = Agreed { candidates: vec![seed], rows: requests.candidates[seed].rows.and(left) };
    while start.candidates.len() < settings.conditions_max {
        let mut best = None;
        let mut most = requests.explained(&start.rows, left) * (1.0 + NARROWING_GAIN_MIN);
        for (index, candidate) in requests.candidates.iter().enumerate() {
            let narrowed = start.rows.and(&candidate.rows);
            let explained =
                if narrowed.len() < settings.rows_min { 0.0 } else { requests.explained(&narrowed, left) };
            if explained > most {
                (best, most) = (Some((index, narrowed)), explained);
            }
        }
        let Some((index, narrowed)) = best else { break };
        let dropped = start.rows.without(&narrowed);
        if requests.separation(&dropped, &left.without(&start.rows)) > DROPPED_SEPARATION_MAX {
            break;
        }
        start.candidates.push(index);
        start.rows = narrowed;
    }
    start
}

#[derive(Clone)]
struct Agreed {
    candidates: Vec<usize>,
    rows: RowSet,
}

/// Requests that more than half of the agreeing columns select; of two columns, both.
fn agree(requests: &Requests, start: Agreed, left: &RowSet, settings: &PatternSettings) -> Agreed {
    let mut agreed = start;
    for _ in 0..AGREEMENT_STEPS {
        let candidates = alike(requests, &agreed.rows, left, settings);
        let Some(rows) = majority(requests, &candidates, left) else { return agreed };
        if rows.len() < settings.rows_min {
            return agreed;
        }
        let is_settled = rows == agreed.rows;
        agreed = Agreed { candidates, rows };
        if is_settled {
            break;
        }
    }
    agreed
}

/// From every column the candidate most similar to `rows`, if it is similar enough.
fn alike(requests: &Requests, rows: &RowSet, left: &RowSet, settings: &PatternSettings) -> Vec<usize> {
    let (size, total) = (rows.len(), left.len());
    let mut selected: Vec<usize> = Vec::new();
    let mut chosen_phi = 0.0;
    for (index, candidate) in requests.candidates.iter().enumerate() {
        let agreement = phi(candidate.rows.common(rows), candidate.rows.common(left), size, total);
        if agreement < settings.agreement_min {
            continue;
        }
        // Candidates of one column are adjacent.
        let is_same_column =
            selected.last().is_some_and(|&last| requests.candidates[last].column == candidate.column);
        if is_same_column && agreement <= chosen_phi {
            continue;
        }
        if is_same_column {
            selected.pop();
        }
        selected.push(index);
        chosen_phi = agreement;
    }
    selected
}

fn majority(requests: &Requests, candidates: &[usize], left: &RowSet) -> Option<RowSet> {
    if candidates.is_empty() {
        return None;
    }
    let mut votes = vec![0_u16; requests.len()];
    for &candidate in candidates {
        for row in requests.candidates[candidate].rows.and(left).iter() {
            votes[row] += 1;
        }
    }
    Some(RowSet::of(requests.len(), |row| usize::from(votes[row]) * 2 > candidates.len()))
}

/// The shortest conjunction that best approximates `rows`: conditions are added while each raises the phi
/// coefficient enough.
fn conjunction(
    requests: &Requests,
    rows: &RowSet,
    left: &RowSet,
    settings: &PatternSettings,
) -> (Vec<usize>, RowSet) {
    let mut conditions = Vec::new();
    let mut held = left.clone();
    let mut reached = 0.0;
    while conditions.len() < settings.conditions_max {
        let mut best = None;
        let mut best_phi = reached + settings.gain_min;
        for (index, candidate) in requests.candidates.iter().enumerate() {
            let narrowed = held.and(&candidate.rows);
            let agreement = phi(narrowed.common(rows), narrowed.len(), rows.len(), left.len());
            if agreement > best_phi {
                (best, best_phi) = (Some((index, narrowed)), agreement);
            }
        }
        let Some((index, narrowed)) = best else { break };
        conditions.push(index);
        (held, reached) = (narrowed, best_phi);
    }
    (conditions, held)
}
