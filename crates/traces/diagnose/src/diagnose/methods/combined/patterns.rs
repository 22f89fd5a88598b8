//! Suspects by latency patterns: operations with a mode of their own that makes requests slow.

use crate::diagnose::answer::{Evidence, Suspect, SuspectReplica};
use laggard_engine::LocalEngine;
use laggard_localize::{
    Call, CategoryCalls, Excess, LatencyPattern, PatternSettings, RequestTable, Spread, latency_patterns,
};
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::{median, median_of};
use std::collections::{BTreeMap, BTreeSet};

/// An operation of a pattern is a suspect when it holds this part of the pattern's excess latency.
const PART_MIN: f64 = 0.1;

/// Suspects by latency patterns: in each category, operations with a mode of their own that makes requests slow.
pub(super) fn suspects(
    categories: &[CategoryCalls],
    settings: &PatternSettings,
    engine: LocalEngine,
) -> Vec<Suspect> {
    let enough = |(_, category): &(usize, &CategoryCalls)| category.requests.len() >= settings.rows_min;
    let numbered: Vec<(usize, &CategoryCalls)> = categories.iter().enumerate().filter(enough).collect();
    let suspects = engine.map(&numbered, |&(index, category)| suspects_in(index, category, settings));
    let mut by_operation: BTreeMap<OperationId, Suspect> = BTreeMap::new();
    for suspect in suspects.into_iter().flatten() {
        match by_operation.get_mut(&suspect.operation) {
            Some(known) => add(known, suspect),
            None => {
                by_operation.insert(suspect.operation, suspect);
            }
        }
    }
    by_operation.into_values().collect()
}

fn suspects_in(index: usize, category: &CategoryCalls, settings: &PatternSettings) -> Vec<Suspect> {
    let latencies = category.latencies();
    let columns = Columns::new(category);
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
            out.extend(suspect(index, category, &columns, column, usual(column), pattern));
        }
    }
    out
}

fn suspect(
    index: usize,
    category: &CategoryCalls,
    columns: &Columns,
    column: usize,
    usual: f64,
    pattern: &LatencyPattern,
) -> Option<Suspect> {
    let times = &columns.times_ns[column];
    let beyond: Vec<f64> = pattern.rows.iter().map(|&row| times[row] - usual).collect();
    let total_ns: f64 = beyond.iter().sum();
    if total_ns < PART_MIN * pattern.mean_excess * pattern.rows.len() as f64 {
        return None;
    }
    let total_ns = total_ns * category.one_in();
    let operation = columns.operations[column];
    let median_ns = median_of(&beyond);
    Some(Suspect {
        operation,
        evidence: vec![Evidence::Pattern],
        spread: Spread::Everywhere,
        culprits: Vec::new(),
        replicas: replicas(category, operation, pattern, total_ns),
        positions: (category.positions.iter().enumerate())
            .filter(|(_, position)| position.operation == operation)
            .map(|(position, _)| (index, position as u32))
            .collect(),
        categories: vec![index],
        excess: Excess {
            calls: pattern.rows.len() as u64,
            total_ns,
            median_ns,
            median_factor: (usual + median_ns) / usual.max(1.0),
        },
        hit: pattern.rows.iter().map(|&row| (index, row as u32)).collect(),
        stands_out: false,
        score: 0.0,
        between: None,
        behavior: Vec::new(),
        onset: None,
        sites: None,
        hits: None,
        attributes: Vec::new(),
        load: None,
        in_succession: false,
    })
}

/// Requests for which each replica ran the operation, and those of the pattern among them: the calls of one request are no
/// independent evidence. Replicas are not tested.
fn replicas(
    category: &CategoryCalls,
    operation: OperationId,
    pattern: &LatencyPattern,
    excess_total_ns: f64,
) -> Vec<SuspectReplica> {
    let own = |call: &&Call| category.positions[call.position as usize].operation == operation;
    let ran: BTreeSet<(ReplicaId, u32)> =
        category.calls.iter().filter(own).map(|call| (call.replica, call.request)).collect();
    let mut counts: BTreeMap<ReplicaId, (u64, u64)> = BTreeMap::new();
    for (replica, request) in ran {
        let count = counts.entry(replica).or_default();
        count.0 += 1;
        count.1 += u64::from(pattern.rows.binary_search(&(request as usize)).is_ok());
    }
    let all: u64 = counts.values().map(|count| count.1).sum();
    let replica = |(replica, (calls, slow_calls)): (ReplicaId, (u64, u64))| SuspectReplica {
        replica,
        is_culprit: false,
        calls,
        slow_calls,
        p_value: None,
        score: u64::from(slow_calls > 0),
        excess_total_ns: excess_total_ns * slow_calls as f64 / all.max(1) as f64,
        excess_median_ns: excess_total_ns / pattern.rows.len().max(1) as f64,
        factor: None,
    };
    counts.into_iter().map(replica).collect()
}

/// Adds the same operation in another category, or in another pattern.
fn add(known: &mut Suspect, other: Suspect) {
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
    for replica in other.replicas {
        match known.replicas.iter_mut().find(|known_replica| known_replica.replica == replica.replica) {
            Some(known_replica) => {
                known_replica.calls += replica.calls;
                known_replica.slow_calls += replica.slow_calls;
                known_replica.score += replica.score;
                known_replica.excess_total_ns += replica.excess_total_ns;
            }
            None => known.replicas.push(replica),
        }
    }
}

/// Time by operation and request.
struct Columns {
    operations: Vec<OperationId>,
    times_ns: Vec<Vec<f64>>,
}

impl Columns {
    fn new(category: &CategoryCalls) -> Columns {
        let operations: BTreeSet<OperationId> =
            category.positions.iter().map(|position| position.operation).collect();
        let operations: Vec<OperationId> = operations.into_iter().collect();
        let column_of: Vec<usize> = (category.positions.iter())
            .map(|position| operations.binary_search(&position.operation).expect("it was collected"))
            .collect();
        let mut times_ns = vec![vec![0.0; category.requests.len()]; operations.len()];
        let mut is_measured = vec![vec![false; category.requests.len()]; operations.len()];
        for call in &category.calls {
            let (column, row) = (column_of[call.position as usize], call.request as usize);
            times_ns[column][row] += call.time_ns as f64;
            is_measured[column][row] = true;
        }
        // What is not measured is as usual.
        for (times, is_measured) in times_ns.iter_mut().zip(&is_measured) {
            if is_measured.iter().all(|&is_measured| is_measured) {
                continue;
            }
            let known = times.iter().zip(is_measured).filter(|(_, is_measured)| **is_measured);
            let usual = median(&mut known.map(|(time, _)| *time).collect::<Vec<f64>>());
            let gaps = times.iter_mut().zip(is_measured).filter(|(_, is_measured)| !**is_measured);
            gaps.for_each(|(time, _)| *time = usual);
        }
        Columns { operations, times_ns }
    }
}
