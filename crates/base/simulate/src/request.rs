//! One request: its calls with their times and hosts.

use crate::Scenario;
use crate::call_tree::TreeShape;
use crate::components::COUNT;
use crate::hosts::NodeIndex;
use crate::layout::lay_out;
use crate::operations::OperationIndex;
use crate::random::{Random, Stream, mix};
use crate::simulation::{Arrival, Simulation};
use crate::system::CategoryIndex;
use laggard_model::{
    Nanos, ReplicaSource, Sampling, SpanAttributes, SpanId, SpanKind, SpanRecord, Status, Timestamp, TraceId,
};
use std::sync::Arc;

/// One request in this many is sampled; only those are generated.
pub const SAMPLING: u64 = 200;

/// Standard deviation of the logarithm of the size in [`Scenario::HeavyTail`].
const HEAVY_TAIL_SIGMA: f64 = 1.5;

/// A sampled request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The trace. Its lower 64 bits, hashed by splitmix64's finalizer, are a multiple of [`SAMPLING`].
    pub trace_id: TraceId,
    /// Number of its category: requests with equal numbers have equal call trees.
    pub category: usize,
    /// Its calls in depth-first pre-order: position 0 is the entry, parents precede children.
    pub calls: Vec<Call>,
    pub(crate) arrival: Arrival,
    pub(crate) simulation: Arc<Simulation>,
}

/// One call of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The span's id.
    pub span_id: SpanId,
    /// Position of the caller; `None` for the entry only.
    pub parent: Option<u32>,
    /// True start, on a clock that does not err.
    pub true_start: Timestamp,
    /// True end.
    pub true_end: Timestamp,
    /// Start on the host's own clock: what the records say.
    pub start: Timestamp,
    /// From start to end on the host's own clock.
    pub inclusive: Nanos,
    /// `inclusive` less that of the callees, each on its own clock.
    pub self_time: Nanos,
    /// How much of the (true) self time a fault has added.
    pub injected: Nanos,
    pub(crate) operation: OperationIndex,
    pub(crate) node: NodeIndex,
}

impl Request {
    /// The service (component) of a call.
    pub fn service(&self, call: &Call) -> &str {
        self.simulation.system.operations.get(call.operation).service()
    }

    /// The operation of a call.
    pub fn operation(&self, call: &Call) -> &str {
        &self.simulation.system.operations.get(call.operation).name
    }

    /// The role of a call: server for the entry and for handled remote calls, client for sent ones.
    pub fn kind(&self, call: &Call) -> SpanKind {
        self.simulation.system.operations.get(call.operation).kind
    }

    /// The node a call runs on.
    pub fn replica(&self, call: &Call) -> &str {
        &self.simulation.system.hosts.names[usize::from(call.node)]
    }

    /// The span of a call, as a reader would hand it over.
    pub fn span<'a>(&'a self, call: &'a Call) -> SpanRecord<'a> {
        SpanRecord {
            trace_id: self.trace_id,
            trace_text: None,
            span_id: call.span_id,
            parent: call.parent.map(|parent| self.calls[parent as usize].span_id),
            service: self.service(call),
            replica: self.replica(call),
            replica_source: ReplicaSource::Column,
            operation: self.operation(call),
            kind: self.kind(call),
            status: Status::Unset,
            start: call.start,
            inclusive: call.inclusive,
            sampling: Sampling::default(),
            attributes: SpanAttributes::default(),
        }
    }

    /// The request's latency.
    pub fn latency(&self) -> Nanos {
        self.calls.first().map_or(Nanos::ZERO, |entry| entry.inclusive)
    }

    /// Draws a request. Depends on the settings and the arrival only.
    pub(crate) fn draw(simulation: &Arc<Simulation>, arrival: Arrival) -> Request {
        let settings = &simulation.settings;
        let path = [u64::from(settings.run), arrival.entry as u64, u64::from(arrival.index)];
        let mut random = Random::new(settings.seed, Stream::Request, &path);
        let mut injection = Random::new(settings.seed, Stream::Injection, &path);
        let trace_id = sampled_trace_id(&mut random);
        let base = simulation.system.pick_category(arrival.entry, &mut random);
        let mut nodes = simulation.pick_nodes(&mut random);
        simulation.plan.redirect(arrival.entry, &mut nodes, &mut injection);
        let category = simulation.plan.category(base, &nodes);
        let mut draft = Draft::new(simulation, arrival, category, nodes, &mut random);
        simulation.plan.inject(settings, &simulation.system, &mut draft, &mut injection);
        let calls = lay_out(simulation, &draft, trace_id, arrival.start_ns);
        Request { trace_id, category, calls, arrival, simulation: Arc::clone(simulation) }
    }
}

/// Draws ids until one passes the sampling.
fn sampled_trace_id(random: &mut Random) -> TraceId {
    let high = random.bits();
    loop {
        let low = random.bits();
        if mix(low).is_multiple_of(SAMPLING) {
            return TraceId::from_value(u128::from(high) << 64 | u128::from(low));
        }
    }
}

/// A request before the times of its calls are computed.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) entry: usize,
    pub(crate) category: CategoryIndex,
    pub(crate) shape: &'a TreeShape,
    /// By component.
    pub(crate) nodes: [NodeIndex; COUNT],
    /// By position: undisturbed self time.
    pub(crate) self_ns: Vec<u64>,
    /// By position: what the fault adds.
    pub(crate) extra_ns: Vec<u64>,
}

impl<'a> Draft<'a> {
    fn new(
        simulation: &'a Simulation,
        arrival: Arrival,
        category: CategoryIndex,
        nodes: [NodeIndex; COUNT],
        random: &mut Random,
    ) -> Draft<'a> {
        let shape = &simulation.system.categories[category].shape;
        let size = Size::draw(simulation, random);
        let ln_load = nodes.map(|node| simulation.system.hosts.ln_load(node, arrival.start_ns));
        let draw = |&operation| {
            let operation = simulation.system.operations.get(operation);
            let exponent = size.exponent.unwrap_or(operation.cost.size_exponent);
            let ln_ns = operation.cost.ln_median
                + operation.cost.sigma * random.normal()
                + exponent * size.ln_size
                + ln_load[operation.component];
            let pauses = random.chance(simulation.settings.pause_probability);
            let pause_ns = if pauses { random.between(2e6, 15e6) } else { 0.0 };
            (libm::exp(ln_ns) + pause_ns) as u64
        };
        let self_ns: Vec<u64> = shape.operation.iter().map(draw).collect();
        let extra_ns = vec![0; self_ns.len()];
        Draft { entry: arrival.entry, category, shape, nodes, self_ns, extra_ns }
    }

    /// The positions of some operations.
    pub(crate) fn positions(&self, operations: &[OperationIndex]) -> Vec<usize> {
        let all = self.shape.operation.iter().enumerate();
        all.filter(|(_, called)| operations.contains(called)).map(|(call_index, _)| call_index).collect()
    }

    /// Adds to what the fault adds at a position.
    pub(crate) fn add_extra(&mut self, call_index: usize, extra_ns: f64) {
        self.extra_ns[call_index] = self.extra_ns[call_index].saturating_add(extra_ns as u64);
    }
}

/// How large a request is, and how its operations depend on that.
struct Size {
    ln_size: f64,
    /// The same for all operations, or each operation's own.
    exponent: Option<f64>,
}

impl Size {
    fn draw(simulation: &Simulation, random: &mut Random) -> Size {
        let heavy = simulation.settings.scenario == Scenario::HeavyTail;
        let sigma = if heavy { HEAVY_TAIL_SIGMA } else { simulation.settings.size_sigma };
        Size { ln_size: sigma * random.normal(), exponent: heavy.then_some(1.0) }
    }
}
