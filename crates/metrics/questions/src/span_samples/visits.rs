//! Converts a call tree to visits of a request to replicas.

use laggard_model::{CallTree, Names, Nanos, OperationId, ReplicaId, ServiceId, SpanKind};

/// The target of an outbound call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Callee {
    /// A traced service.
    Service(ServiceId),
    /// A target that is not traced, such as a database, by the operation of the client span.
    Operation(OperationId),
}

/// One outbound call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutboundCall {
    /// The target.
    pub callee: Callee,
    /// The part of the visit's time spent waiting for it, in ns: simultaneous calls share the wait in proportion to their
    /// lengths. So equation 6 (Cherkasova et al. 2009) gives the time at the replica itself.
    pub waited_ns: u64,
}

/// One visit of a request to a replica.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Visit {
    /// The requested operation.
    pub operation: OperationId,
    /// The service of the operation.
    pub service: ServiceId,
    /// The replica.
    pub replica: ReplicaId,
    /// Whether the caller is a client of the system, not another replica.
    pub is_entry: bool,
    /// From request to response.
    pub inclusive: Nanos,
    /// The outbound calls, in the order of the tree.
    pub calls: Vec<OutboundCall>,
}

/// The visits of a request, in the order of the tree. `O(nodes)`.
///
/// A visit begins at the root, at a server or consumer span, and where the replica or service changes; it includes all nodes
/// below on the same replica. A client span is an outbound call including all nodes below it. A client span at the root is a
/// client of the system: its calls are entries.
pub fn visits(tree: &CallTree, names: &Names) -> Vec<Visit> {
    let mut open_visits: Vec<Begun> = Vec::new();
    // The visit that each node is a part of, and the outbound call of it that the node is below.
    let mut part: Vec<Part> = Vec::with_capacity(tree.len());
    for node in 0..tree.len() {
        let parent = tree.parent[node].map(|parent| parent as usize);
        let above = parent.map(|parent| part[parent]);
        let begins = parent.is_none_or(|parent| begins_visit(tree, names, node, parent));
        let node_part = match above {
            Some(above) if !begins => continue_visit(&mut open_visits, tree, names, node, above),
            above => begin_visit(&mut open_visits, tree, names, node, above),
        };
        part.push(node_part);
    }
    open_visits.into_iter().filter(|begun| !begun.is_client).map(Begun::finish).collect()
}

/// The visit and call of a node.
#[derive(Clone, Copy)]
struct Part {
    visit: usize,
    /// The outbound call that it is part of.
    call: Option<usize>,
}

/// A visit while its tree is walked.
struct Begun {
    visit: Visit,
    /// The root is a client span: a client, not a visit.
    is_client: bool,
    own_ns: u64,
}

fn kind(names: &Names, operation: OperationId) -> SpanKind {
    names.operation_key(operation).kind
}

fn begins_visit(tree: &CallTree, names: &Names, node: usize, parent: usize) -> bool {
    let operation = tree.operation[node];
    tree.replica[node] != tree.replica[parent]
        || matches!(kind(names, operation), SpanKind::Server | SpanKind::Consumer)
        || names.service_of(operation) != names.service_of(tree.operation[parent])
}

fn begin_visit(
    open_visits: &mut Vec<Begun>,
    tree: &CallTree,
    names: &Names,
    node: usize,
    above: Option<Part>,
) -> Part {
    let operation = tree.operation[node];
    let is_client = above.is_none() && kind(names, operation) == SpanKind::Client;
    let is_entry = above.is_none_or(|above| open_visits[above.visit].is_client);
    if let Some(above) = above {
        let caller = &mut open_visits[above.visit].visit;
        let callee = Callee::Service(names.service_of(operation));
        match above.call {
            Some(call) => caller.calls[call].callee = callee,
            // Without a client span, the caller waits for the callee's inclusive time.
            None => caller.calls.push(OutboundCall { callee, waited_ns: tree.inclusive_time[node].ns() }),
        }
    }
    open_visits.push(Begun {
        visit: Visit {
            operation,
            service: names.service_of(operation),
            replica: tree.replica[node],
            is_entry: is_entry && !is_client,
            inclusive: tree.inclusive_time[node],
            calls: Vec::new(),
        },
        is_client,
        own_ns: if is_client { 0 } else { tree.self_time[node].ns() },
    });
    Part { visit: open_visits.len() - 1, call: None }
}

fn continue_visit(
    open_visits: &mut [Begun],
    tree: &CallTree,
    names: &Names,
    node: usize,
    above: Part,
) -> Part {
    let begun = &mut open_visits[above.visit];
    if above.call.is_some() {
        return above;
    }
    let operation = tree.operation[node];
    if kind(names, operation) == SpanKind::Client {
        begun.visit.calls.push(OutboundCall {
            callee: Callee::Operation(operation),
            waited_ns: tree.inclusive_time[node].ns(),
        });
        return Part { visit: above.visit, call: Some(begun.visit.calls.len() - 1) };
    }
    begun.own_ns = begun.own_ns.saturating_add(tree.self_time[node].ns());
    above
}

impl Begun {
    /// Divides the waiting time among the calls.
    fn finish(self) -> Visit {
        let mut visit = self.visit;
        let waited = visit.inclusive.ns().saturating_sub(self.own_ns);
        let lengths: u128 = visit.calls.iter().map(|call| u128::from(call.waited_ns)).sum();
        for call in &mut visit.calls {
            let share = u128::from(call.waited_ns) * u128::from(waited);
            call.waited_ns = share.checked_div(lengths).map_or(0, |share_ns| share_ns as u64);
        }
        visit
    }
}
