//! A call tree as visits of a request to replicas.

use laggard_model::{CallTree, Names, Nanos, OperationId, ReplicaId, ServiceId, SpanKind};

/// What an outbound call went to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Callee {
    /// A service that is traced, too.
    Service(ServiceId),
    /// Something that is not, as a database: the operation of the client span stands for it.
    Operation(OperationId),
}

/// One outbound call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutboundCall {
    /// Where it went.
    pub callee: Callee,
    /// The part of the visit's time that was spent waiting for it, in ns: calls at the same time share what was
    /// waited for by their lengths. So equation 6 (Cherkasova et al. 2009) gives the time at the replica itself.
    pub waited_ns: u64,
}

/// What one replica did for one request, in one go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Visit {
    /// What was asked for.
    pub operation: OperationId,
    /// The service of that.
    pub service: ServiceId,
    /// Where.
    pub replica: ReplicaId,
    /// Whether a client asked, and not another replica of the system.
    pub is_entry: bool,
    /// From request to response.
    pub inclusive: Nanos,
    /// The outbound calls, in the order of the tree.
    pub calls: Vec<OutboundCall>,
}

/// The visits of a request, in the order of the tree. `O(nodes)`.
///
/// A visit begins at the root, at a server or consumer span, and wherever replica or service change; it takes
/// in everything below that runs there. A client span is an outbound call with all that is below it. A client
/// span at the root is a client of the system: what it calls are entries.
pub fn visits(tree: &CallTree, names: &Names) -> Vec<Visit> {
    let mut found: Vec<Begun> = Vec::new();
    // The visit that each node is a part of, and the outbound call of it that the node is below.
    let mut part: Vec<Part> = Vec::with_capacity(tree.len());
    for node in 0..tree.len() {
        let parent = tree.parent[node].map(|parent| parent as usize);
        let above = parent.map(|parent| part[parent]);
        let begins = parent.is_none_or(|parent| begins_visit(tree, names, node, parent));
        let here = match above {
            Some(above) if !begins => continue_visit(&mut found, tree, names, node, above),
            above => begin_visit(&mut found, tree, names, node, above),
        };
        part.push(here);
    }
    found.into_iter().filter(|begun| !begun.is_client).map(Begun::finish).collect()
}

/// Where a node belongs.
#[derive(Clone, Copy)]
struct Part {
    visit: usize,
    /// The outbound call that it is, or that it is below.
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
    found: &mut Vec<Begun>,
    tree: &CallTree,
    names: &Names,
    node: usize,
    above: Option<Part>,
) -> Part {
    let operation = tree.operation[node];
    let is_client = above.is_none() && kind(names, operation) == SpanKind::Client;
    let is_entry = above.is_none_or(|above| found[above.visit].is_client);
    if let Some(above) = above {
        let caller = &mut found[above.visit].visit;
        let callee = Callee::Service(names.service_of(operation));
        match above.call {
            Some(call) => caller.calls[call].callee = callee,
            // No client span stands between: the callee's own time is what the caller waited.
            None => caller.calls.push(OutboundCall { callee, waited_ns: tree.inclusive_time[node].ns() }),
        }
    }
    found.push(Begun {
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
    Part { visit: found.len() - 1, call: None }
}

fn continue_visit(found: &mut [Begun], tree: &CallTree, names: &Names, node: usize, above: Part) -> Part {
    let begun = &mut found[above.visit];
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
    /// Shares what was waited for among the calls.
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
