//! Counts the truth while requests pass by.

use crate::hosts::NodeIndex;
use crate::operations::OperationIndex;
use crate::random::{Random, Stream};
use crate::request::{Call, Request};
use crate::scenario::FaultScope;
use crate::simulation::Simulation;
use crate::system::CategoryIndex;
use crate::truth::{
    CategoryTruth, Expected, ExpectedVerdict, OperationName, PositionTruth, RecordCounts,
    TRUTH_SCHEMA_VERSION, Truth,
};
use crate::write::text::{push_decimal, push_trace_id};
use laggard_model::TraceId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The file that lists the delayed calls.
pub(crate) const INJECTIONS_FILE: &str = "injections.csv";
pub(crate) const INJECTIONS_HEADER: &str = "trace_id,index,service,operation,replica,extra_us\n";

/// Running counts.
#[derive(Debug)]
pub(crate) struct Tally {
    simulation: Arc<Simulation>,
    requests: u64,
    spans: u64,
    injected_calls: u64,
    categories: BTreeMap<CategoryIndex, CategoryTally>,
    injected_ns: BTreeMap<OperationIndex, u128>,
    replicas: BTreeSet<NodeIndex>,
}

#[derive(Debug)]
struct CategoryTally {
    example: TraceId,
    requests: u64,
    affected: u64,
    /// By position.
    injected_calls: Vec<u64>,
}

impl Tally {
    pub(crate) fn new(simulation: &Arc<Simulation>) -> Tally {
        Tally {
            simulation: Arc::clone(simulation),
            requests: 0,
            spans: 0,
            injected_calls: 0,
            categories: BTreeMap::new(),
            injected_ns: BTreeMap::new(),
            replicas: BTreeSet::new(),
        }
    }

    /// Counts a request and appends its delayed calls as lines of the injections file.
    pub(crate) fn add(&mut self, request: &Request, injections: &mut Vec<u8>) {
        self.requests += 1;
        self.spans += request.calls.len() as u64;
        let category = self.categories.entry(request.category).or_insert_with(|| CategoryTally {
            example: request.trace_id,
            requests: 0,
            affected: 0,
            injected_calls: vec![0; request.calls.len()],
        });
        category.requests += 1;
        let before = self.injected_calls;
        for (call_index, call) in request.calls.iter().enumerate().filter(|(_, call)| call.injected.ns() > 0)
        {
            category.injected_calls[call_index] += 1;
            self.injected_calls += 1;
            *self.injected_ns.entry(call.operation).or_default() += u128::from(call.injected.ns());
            self.replicas.insert(call.node);
            push_injection(injections, request, call_index, call);
        }
        category.affected += u64::from(self.injected_calls > before);
    }

    /// The truth about everything counted.
    pub(crate) fn truth(&self, records: RecordCounts) -> Truth {
        let settings = &self.simulation.settings;
        Truth {
            schema_version: TRUTH_SCHEMA_VERSION,
            scenario: settings.scenario.name().to_owned(),
            seed: settings.seed,
            run: settings.run,
            mild: settings.mild,
            start_unix_ns: settings.start_unix_ns,
            window_s: settings.window_s,
            requests: self.requests,
            spans: self.spans,
            records,
            late_host: self.simulation.late_host().map(|node| self.node_name(node)),
            services: crate::components::COMPONENTS
                .iter()
                .map(|component| component.name.to_owned())
                .collect(),
            expected: self.expected(),
            categories: self
                .categories
                .iter()
                .map(|(&category, tally)| self.category(category, tally))
                .collect(),
            injected_calls: self.injected_calls,
            injections: INJECTIONS_FILE.to_owned(),
        }
    }

    fn node_name(&self, node: NodeIndex) -> String {
        self.simulation.system.hosts.names[usize::from(node)].clone()
    }

    /// A sample so small that the fault hit nothing in it is healthy.
    fn expected(&self) -> Expected {
        let scenario = self.simulation.settings.scenario;
        let hit = self.injected_calls > 0;
        let scope = if hit { scenario.scope() } else { FaultScope::None };
        let replicas = match scope {
            FaultScope::Replicas => self.replicas.iter().map(|&node| self.node_name(node)).collect(),
            FaultScope::All | FaultScope::None => Vec::new(),
        };
        Expected {
            verdict: if hit { ExpectedVerdict::Suspects } else { ExpectedVerdict::Healthy },
            needs_baseline: hit && scenario.needs_baseline(),
            operations: self.culprits(),
            scope,
            replicas,
        }
    }

    fn culprits(&self) -> Vec<OperationName> {
        let mut culprits: Vec<(u128, OperationName)> = self
            .injected_ns
            .iter()
            .map(|(&index, &ns)| {
                let operation = self.simulation.system.operations.get(index);
                let service = operation.service().to_owned();
                (ns, OperationName { service, operation: operation.name.clone() })
            })
            .collect();
        culprits.sort_by(|(a_ns, a), (b_ns, b)| b_ns.cmp(a_ns).then_with(|| a.cmp(b)));
        culprits.into_iter().map(|(_, name)| name).collect()
    }

    fn category(&self, category: CategoryIndex, tally: &CategoryTally) -> CategoryTruth {
        let system = &self.simulation.system;
        let shape = &system.categories[category].shape;
        let entry = system.operations.get(shape.operation[0]);
        let hit = tally.injected_calls.iter().enumerate().filter(|(_, calls)| **calls > 0);
        CategoryTruth {
            category,
            service: entry.service().to_owned(),
            operation: entry.name.clone(),
            example_trace_id: format!("{:032x}", tally.example.value()),
            requests: tally.requests,
            affected_requests: tally.affected,
            positions_total: shape.len(),
            affected_positions: hit
                .map(|(index, &injected_calls)| PositionTruth {
                    path: system.path(shape, index),
                    index,
                    injected_calls,
                })
                .collect(),
        }
    }
}

fn push_injection(out: &mut Vec<u8>, request: &Request, call_index: usize, call: &Call) {
    push_trace_id(out, request.trace_id);
    out.push(b',');
    push_decimal(out, call_index as u64);
    for text in [request.service(call), request.operation(call), request.replica(call)] {
        out.push(b',');
        out.extend_from_slice(text.as_bytes());
    }
    let extra_ns = call.injected.ns();
    out.extend_from_slice(format!(",{}.{:03}\n", extra_ns / 1_000, extra_ns % 1_000).as_bytes());
}

impl Simulation {
    /// The node whose records come late, when there is one.
    pub(crate) fn late_host(&self) -> Option<NodeIndex> {
        let nodes = self.system.hosts.names.len();
        let mut random = Random::new(self.settings.seed, Stream::Export, &[]);
        self.settings.late_host.then(|| random.index(nodes) as NodeIndex)
    }
}
