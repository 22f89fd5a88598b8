//! Requests as plain call trees under names that a window and its baseline share.

use crate::case::OperationName;
use crate::measure::{Cost, measured};
use crate::select::each_trace;
use laggard_assembly::assemble;
use laggard_engine::Traces;
use laggard_model::{CallTree, OperationId, ReplicaId};
use std::collections::HashMap;
use std::sync::Arc;

/// Names behind the numbers of [`Call`].
#[derive(Clone, Debug, Default)]
pub struct NameTable {
    /// By number: what is called. Client and server spans of one name are one operation.
    pub operations: Vec<OperationName>,
    /// By number of a replica.
    pub replicas: Vec<String>,
    /// By number of an operation: the number of its service.
    pub service_of: Vec<u32>,
    /// By number of a service.
    pub services: Vec<String>,
    operation_index: HashMap<OperationName, u32>,
    replica_index: HashMap<String, u32>,
    service_index: HashMap<String, u32>,
}

/// One call of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Number of the operation.
    pub operation: u32,
    /// Number of the replica.
    pub replica: u32,
    /// Position of the caller in [`RequestCalls::calls`], which precedes; `None` for the entry.
    pub parent: Option<u32>,
    /// Nanoseconds not spent in callees (the union of their intervals is subtracted, not their sum).
    pub self_ns: u64,
    /// Nanoseconds from start to end.
    pub inclusive_ns: u64,
}

/// One request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestCalls {
    /// Start of the entry, nanoseconds on its own clock.
    pub start_ns: i64,
    /// Calls in depth-first pre-order.
    pub calls: Vec<Call>,
}

impl RequestCalls {
    /// The request's latency in nanoseconds.
    pub fn latency_ns(&self) -> u64 {
        self.calls.first().map_or(0, |entry| entry.inclusive_ns)
    }
}

/// The requests of a case.
#[derive(Clone, Debug, Default)]
pub struct CaseCalls {
    /// The names.
    pub names: Arc<NameTable>,
    /// Requests to explain, by start.
    pub target: Vec<Arc<RequestCalls>>,
    /// Requests to compare with, by start.
    pub baseline: Option<Vec<Arc<RequestCalls>>>,
    /// Cost of assembling them; part of the cost of every method that uses them.
    pub cost: Cost,
}

impl NameTable {
    /// The number of an operation, new or known.
    pub fn operation(&mut self, name: OperationName) -> u32 {
        if let Some(&known) = self.operation_index.get(&name) {
            return known;
        }
        let service = number(&mut self.services, &mut self.service_index, &name.service);
        let new = self.operations.len() as u32;
        self.service_of.push(service);
        self.operations.push(name.clone());
        self.operation_index.insert(name, new);
        new
    }

    /// The number of a replica, new or known.
    pub fn replica(&mut self, name: &str) -> u32 {
        number(&mut self.replicas, &mut self.replica_index, name)
    }
}

fn number(names: &mut Vec<String>, index: &mut HashMap<String, u32>, name: &str) -> u32 {
    if let Some(&known) = index.get(name) {
        return known;
    }
    let new = names.len() as u32;
    names.push(name.to_owned());
    index.insert(name.to_owned(), new);
    new
}

impl CaseCalls {
    /// Assembles a window and its baseline.
    pub fn new(target: &Traces, baseline: Option<&Traces>) -> CaseCalls {
        let (mut calls, cost) = measured(|| {
            let mut names = NameTable::default();
            let target = requests(target, &mut names);
            let baseline = baseline.map(|baseline| requests(baseline, &mut names));
            CaseCalls { names: Arc::new(names), target, baseline, cost: Cost::default() }
        });
        calls.cost = cost;
        calls
    }
}

/// All complete requests of a data set, by start and trace.
pub(crate) fn requests(traces: &Traces, names: &mut NameTable) -> Vec<Arc<RequestCalls>> {
    let known = traces.names();
    let operations: Vec<u32> = (0..known.operations())
        .map(|position| known.operation_key(OperationId::from_index(position)))
        .map(|key| names.operation(OperationName::new(key.service, key.operation)))
        .collect();
    let replicas: Vec<u32> = (0..known.replicas())
        .map(|position| names.replica(known.replica_name(ReplicaId::from_index(position))))
        .collect();
    let mut out = Vec::new();
    for trace in each_trace(traces) {
        let assembled = assemble(trace);
        for request in assembled.requests.iter().filter(|request| request.complete) {
            let calls = calls_of(&request.tree, &operations, &replicas);
            let start_ns = request.start.unix_ns();
            out.push((trace[0].trace, Arc::new(RequestCalls { start_ns, calls })));
        }
    }
    out.sort_by_key(|(trace, request)| (request.start_ns, *trace));
    out.into_iter().map(|(_, request)| request).collect()
}

fn calls_of(tree: &CallTree, operations: &[u32], replicas: &[u32]) -> Vec<Call> {
    (0..tree.len())
        .map(|position| Call {
            operation: operations[tree.operation[position].index()],
            replica: replicas[tree.replica[position].index()],
            parent: tree.parent[position],
            self_ns: tree.self_time[position].ns(),
            inclusive_ns: tree.inclusive_time[position].ns(),
        })
        .collect()
}
