//! Requests that some operations made slow in a way of their own, as suspects.

use laggard_engine::LocalEngine;
use laggard_localize::{
    CategoryCalls, Excess, LatencyPattern, PatternSettings, ReplicaCell, ReplicaTest, RequestTable, Spread,
    SuspectOperation, latency_patterns,
};
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::{median, median_of};
use std::collections::{BTreeMap, BTreeSet};

/// An operation of a pattern is a suspect when it holds this part of the pattern's excess latency.
const PART_MIN: f64 = 0.1;

/// Suspects by latency patterns: in each category, operations with a mode of their own that makes requests slow.
pub(crate) fn pattern_suspects(
    categories: &[CategoryCalls],
    settings: &PatternSettings,
    engine: LocalEngine,
) -> Vec<SuspectOperation> {
    let numbered: Vec<(usize, &CategoryCalls)> = categories.iter().enumerate().collect();
    let suspects = engine.map(&numbered, |&(at, category)| of_category(at, category, settings));
    let mut found: BTreeMap<OperationId, SuspectOperation> = BTreeMap::new();
    for suspect in suspects.into_iter().flatten() {
        match found.get_mut(&suspect.operation) {
            Some(known) => join(known, suspect),
            None => {
                found.insert(suspect.operation, suspect);
            }
        }
    }
    found.into_values().collect()
}

fn of_category(at: usize, category: &CategoryCalls, settings: &PatternSettings) -> Vec<SuspectOperation> {
    let latencies = category.latencies();
    let columns = Columns::of(category);
    let times: Vec<&[f64]> = columns.times_ns.iter().map(Vec::as_slice).collect();
    let weights: Vec<f64> = category.requests.iter().map(|request| f64::from(request.weight)).collect();
    let table = RequestTable { columns: &times, latencies: &latencies, weights: Some(&weights) };
    let Ok(patterns) = latency_patterns(&table, settings) else { return Vec::new() };
    let slow: BTreeSet<usize> =
        patterns.patterns.iter().flat_map(|pattern| pattern.rows.iter().copied()).collect();
    let usual = |column: usize| {
        let rows = columns.times_ns[column].iter().enumerate();
        median(&mut rows.filter(|(row, _)| !slow.contains(row)).map(|(_, time)| *time).collect::<Vec<f64>>())
    };
    let mut out = Vec::new();
    for pattern in &patterns.patterns {
        let modes = pattern.conditions.iter().chain(&pattern.companions);
        let operations: BTreeSet<usize> = modes.map(|mode| mode.column).collect();
        for column in operations {
            out.extend(suspect(at, category, &columns, column, usual(column), pattern));
        }
    }
    out
}

fn suspect(
    at: usize,
    category: &CategoryCalls,
    columns: &Columns,
    column: usize,
    usual: f64,
    pattern: &LatencyPattern,
) -> Option<SuspectOperation> {
    let times = &columns.times_ns[column];
    let beyond: Vec<f64> = pattern.rows.iter().map(|&row| times[row] - usual).collect();
    let total_ns: f64 = beyond.iter().sum();
    if total_ns < PART_MIN * pattern.mean_excess * pattern.rows.len() as f64 {
        return None;
    }
    let total_ns = total_ns * category.one_in();
    let operation = columns.operations[column];
    let median_ns = median_of(&beyond);
    Some(SuspectOperation {
        operation,
        spread: Spread::Everywhere,
        replicas: Vec::new(),
        cells: cells(category, operation, pattern, total_ns),
        positions: (category.positions.iter().enumerate())
            .filter(|(_, position)| position.operation == operation)
            .map(|(position, _)| (at, position as u32))
            .collect(),
        categories: vec![at],
        excess: Excess {
            calls: pattern.rows.len() as u64,
            total_ns,
            median_ns,
            median_factor: (usual + median_ns) / usual.max(1.0),
        },
        hit: pattern.rows.iter().map(|&row| (at, row as u32)).collect(),
    })
}

/// How often each replica ran the operation, and how often for a request of the pattern.
fn cells(
    category: &CategoryCalls,
    operation: OperationId,
    pattern: &LatencyPattern,
    excess_total_ns: f64,
) -> Vec<ReplicaCell> {
    let mut counts: BTreeMap<ReplicaId, (u64, u64)> = BTreeMap::new();
    for call in &category.calls {
        if category.positions[call.position as usize].operation == operation {
            let count = counts.entry(call.replica).or_default();
            count.0 += 1;
            count.1 += u64::from(pattern.rows.binary_search(&(call.request as usize)).is_ok());
        }
    }
    let all: u64 = counts.values().map(|count| count.1).sum();
    let cell = |(replica, (calls, exceeding)): (ReplicaId, (u64, u64))| ReplicaCell {
        test: ReplicaTest {
            replica,
            calls,
            exceeding,
            others_rate: 0.0,
            p_exceed: 1.0,
            p_shift: 1.0,
            p_value: 1.0,
            p_adjusted: 1.0,
            shift_factor: 1.0,
            flagged: false,
        },
        culprit: false,
        categories: u64::from(exceeding > 0),
        excess_total_ns: excess_total_ns * exceeding as f64 / all.max(1) as f64,
        excess_median_ns: excess_total_ns / pattern.rows.len().max(1) as f64,
        factor_mean: 1.0,
    };
    counts.into_iter().map(cell).collect()
}

/// The same operation in another category, or in another pattern.
fn join(known: &mut SuspectOperation, other: SuspectOperation) {
    known.positions.extend(other.positions);
    known.positions.sort_unstable();
    known.positions.dedup();
    known.categories.extend(other.categories);
    known.categories.dedup();
    known.hit.extend(other.hit);
    known.hit.sort_unstable();
    known.excess.calls += other.excess.calls;
    if other.excess.total_ns > known.excess.total_ns {
        (known.excess.median_ns, known.excess.median_factor) =
            (other.excess.median_ns, other.excess.median_factor);
    }
    known.excess.total_ns += other.excess.total_ns;
    for cell in other.cells {
        match known.cells.iter_mut().find(|own| own.test.replica == cell.test.replica) {
            Some(own) => {
                own.test.calls += cell.test.calls;
                own.test.exceeding += cell.test.exceeding;
                own.categories += cell.categories;
                own.excess_total_ns += cell.excess_total_ns;
            }
            None => known.cells.push(cell),
        }
    }
}

/// Time by operation and request.
struct Columns {
    operations: Vec<OperationId>,
    times_ns: Vec<Vec<f64>>,
}

impl Columns {
    fn of(category: &CategoryCalls) -> Columns {
        let operations: BTreeSet<OperationId> =
            category.positions.iter().map(|position| position.operation).collect();
        let operations: Vec<OperationId> = operations.into_iter().collect();
        let column_of: Vec<usize> = (category.positions.iter())
            .map(|position| operations.binary_search(&position.operation).expect("it was collected"))
            .collect();
        let mut times_ns = vec![vec![0.0; category.requests.len()]; operations.len()];
        for call in &category.calls {
            times_ns[column_of[call.position as usize]][call.request as usize] += call.time_ns as f64;
        }
        Columns { operations, times_ns }
    }
}
