//! The search: from the mode that explains most of the latency to a conjunction, again and again.

use super::candidates::Requests;
use super::division::divide;
use super::row_set::{RowSet, phi};
use super::settings::PatternSettings;

/// In the search, when other patterns are still among the rest, less separation than in the end will do.
const SEPARATION_IN_SEARCH: f64 = 0.8;

/// A mode of which less than this is left over by earlier patterns is their remnant, not a mode.
const LEFT_MIN: f64 = 0.5;

/// Agreement settles in two or three steps; it could go back and forth.
const AGREEMENT_STEPS: usize = 4;

/// A further condition explains at least so much more: with less, chance would choose conditions.
const NARROWING_GAIN_MIN: f64 = 0.1;

/// A condition that narrows drops normal requests: they are slower than the rest with at most this
/// probability. Where they are slow as well, the conjunction would only pick the slowest of many slow ones.
const DROPPED_SEPARATION_MAX: f64 = 0.6;

/// Some candidates and the requests they stand for.
pub(super) struct Conjunction {
    /// Indices of candidates all of which hold.
    pub(super) conditions: Vec<usize>,
    /// Indices of candidates, one a column, that mark the same requests.
    pub(super) agreeing: Vec<usize>,
    pub(super) rows: RowSet,
}

/// Conjunctions in the order in which they were found; their rows are disjoint.
///
/// Time per pattern: one pass over the rows for each candidate.
pub(super) fn search(requests: &Requests, settings: &PatternSettings) -> Vec<Conjunction> {
    let mut left = RowSet::of(requests.len(), |_| true);
    let mut is_refused = vec![false; requests.candidates.len()];
    let mut found = Vec::new();
    while found.len() < settings.patterns_max {
        let Some(seed) = best_candidate(requests, &left, &is_refused) else { break };
        let pattern = grow(requests, seed, &left, settings);
        let others = left.without(&pattern.rows);
        let is_slow = requests.separation(&pattern.rows, &others) >= SEPARATION_IN_SEARCH;
        if pattern.conditions.is_empty() || pattern.rows.len() < settings.rows_min || !is_slow {
            is_refused[seed] = true;
            continue;
        }
        left = others;
        found.push(pattern);
    }
    found
}

/// The candidate that explains most of the slowness of the rows left; the first of equals.
fn best_candidate(requests: &Requests, left: &RowSet, is_refused: &[bool]) -> Option<usize> {
    let mut best = None;
    let mut most = 0.0;
    for (at, candidate) in requests.candidates.iter().enumerate() {
        let is_remnant = (candidate.rows.common(left) as f64) < LEFT_MIN * candidate.count as f64;
        if is_refused[at] || is_remnant {
            continue;
        }
        let explained = requests.explained(&candidate.rows.and(left), left);
        if explained > most {
            (best, most) = (Some(at), explained);
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
        // Columns that agree would undo what only a conjunction tells.
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
        for (at, candidate) in requests.candidates.iter().enumerate() {
            let both = start.rows.and(&candidate.rows);
            let explained =
                if both.len() < settings.rows_min { 0.0 } else { requests.explained(&both, left) };
            if explained > most {
                (best, most) = (Some((at, both)), explained);
            }
        }
        let Some((at, both)) = best else { break };
        let dropped = start.rows.without(&both);
        if requests.separation(&dropped, &left.without(&start.rows)) > DROPPED_SEPARATION_MAX {
            break;
        }
        start.candidates.push(at);
        start.rows = both;
    }
    start
}

#[derive(Clone)]
struct Agreed {
    candidates: Vec<usize>,
    rows: RowSet,
}

/// Requests for which more than half of the columns that tell the same story tell it; of two, both.
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

/// Of every column the candidate most like `rows`, if it is like enough.
fn alike(requests: &Requests, rows: &RowSet, left: &RowSet, settings: &PatternSettings) -> Vec<usize> {
    let (size, total) = (rows.len(), left.len());
    let mut chosen: Vec<usize> = Vec::new();
    let mut chosen_phi = 0.0;
    for (at, candidate) in requests.candidates.iter().enumerate() {
        let agreement = phi(candidate.rows.common(rows), candidate.rows.common(left), size, total);
        if agreement < settings.agreement_min {
            continue;
        }
        // Candidates of a column stand side by side.
        let is_same_column =
            chosen.last().is_some_and(|&last| requests.candidates[last].column == candidate.column);
        if is_same_column && agreement <= chosen_phi {
            continue;
        }
        if is_same_column {
            chosen.pop();
        }
        chosen.push(at);
        chosen_phi = agreement;
    }
    chosen
}

fn majority(requests: &Requests, candidates: &[usize], left: &RowSet) -> Option<RowSet> {
    if candidates.is_empty() {
        return None;
    }
    let mut votes = vec![0_u16; requests.len()];
    for &at in candidates {
        for row in requests.candidates[at].rows.and(left).iter() {
            votes[row] += 1;
        }
    }
    Some(RowSet::of(requests.len(), |row| usize::from(votes[row]) * 2 > candidates.len()))
}

/// The shortest conjunction that stands for `rows` best: conditions are added while each raises the phi
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
        for (at, candidate) in requests.candidates.iter().enumerate() {
            let both = held.and(&candidate.rows);
            let agreement = phi(both.common(rows), both.len(), rows.len(), left.len());
            if agreement > best_phi {
                (best, best_phi) = (Some((at, both)), agreement);
            }
        }
        let Some((at, both)) = best else { break };
        conditions.push(at);
        (held, reached) = (both, best_phi);
    }
    (conditions, held)
}
