//! From traces to time by site.

use crate::population::Selected;
use laggard_assembly::{Request, ShapeRule, Shaper};
use laggard_engine::Fold;
use laggard_localize::{Site, SiteRequest, SiteTable, SiteTableBuilder, Spent};
use laggard_model::{AdjustedCount, CallTree, ReplicaId, SpanKind, SpanRow, TraceId};

/// Files what every complete request of a population spent, by site.
pub struct SiteFold<'a> {
    /// Which requests, in unified handles.
    pub selected: Selected<'a>,
    /// How many requests one stands for that does not tell it.
    pub assumed_count: Option<AdjustedCount>,
}

impl Fold for SiteFold<'_> {
    type Partial = SiteTableBuilder;
    type Output = SiteTable;

    fn start(&self) -> SiteTableBuilder {
        SiteTableBuilder::default()
    }

    fn add(&self, partial: &mut SiteTableBuilder, trace: &[SpanRow]) {
        let assembled = self.selected.assemble(trace);
        let mut shaper = Shaper::new(ShapeRule::Canonical, self.selected.union().fingerprints());
        for request in assembled.requests.iter().filter(|request| request.complete) {
            let shape = shaper.shape(&request.tree);
            partial.request(shape.fingerprint, row(request, trace[0].trace, self.assumed_count));
            self.spend(partial, &request.tree);
        }
    }

    fn merge(&self, into: &mut SiteTableBuilder, later: SiteTableBuilder) {
        into.merge(later);
    }

    fn finish(&self, partial: SiteTableBuilder) -> SiteTable {
        partial.finish()
    }
}

fn row(request: &Request, trace: TraceId, assumed: Option<AdjustedCount>) -> SiteRequest {
    SiteRequest {
        start: request.start,
        trace,
        latency_ns: request.tree.latency().ns() as f64,
        category: 0,
        weight: request.adjusted_count.or(assumed).unwrap_or(AdjustedCount::ONE).get(),
    }
}

impl SiteFold<'_> {
    fn spend(&self, partial: &mut SiteTableBuilder, tree: &CallTree) {
        let chains = Chains::of(tree);
        let mut replicas = Vec::new();
        for (node, only_child) in only_children(tree).into_iter().enumerate() {
            let operation = tree.operation[node];
            partial.home(operation, tree.replica[node]);
            replicas.clear();
            replicas.push(tree.replica[node]);
            let site = match only_child.and_then(|child| self.link(tree, node, child)) {
                Some((site, callee)) => {
                    replicas.push(callee);
                    replicas.sort_unstable();
                    site
                }
                None => Site::Operation(operation),
            };
            partial.spend(Spent {
                site,
                replicas: &replicas,
                time_ns: tree.self_time[node].ns() as f64,
                path_ns: tree.path_time[node].ns() as f64,
            });
            if chains.starts_at(node) {
                self.chain(tree, node, &mut replicas);
                partial.spend(Spent {
                    site: Site::Chain(operation),
                    replicas: &replicas,
                    time_ns: tree.inclusive_time[node].ns() as f64,
                    path_ns: 0.0,
                });
            }
        }
    }

    /// The link of a call whose only callee runs elsewhere and returns before it.
    fn link(&self, tree: &CallTree, node: usize, child: usize) -> Option<(Site, ReplicaId)> {
        let callee = tree.replica[child];
        let kind = self.selected.union().names().operation_key(tree.operation[node]).kind;
        let calls = matches!(kind, SpanKind::Client | SpanKind::Unspecified);
        let waits = tree.inclusive_time[child] <= tree.inclusive_time[node];
        let site = Site::Link { caller: tree.operation[node], callee: tree.operation[child] };
        (calls && waits && callee != tree.replica[node]).then_some((site, callee))
    }

    /// The replicas of the operation's service that took part below a chain's first call.
    fn chain(&self, tree: &CallTree, from: usize, replicas: &mut Vec<ReplicaId>) {
        let names = self.selected.union().names();
        let service = names.service_of(tree.operation[from]);
        let depth_first = (from + 1..tree.len())
            .take_while(|&node| tree.parent[node].is_some_and(|parent| parent as usize >= from));
        replicas.clear();
        replicas.push(tree.replica[from]);
        let below = depth_first.filter(|&node| names.service_of(tree.operation[node]) == service);
        replicas.extend(below.map(|node| tree.replica[node]));
        replicas.sort_unstable();
        replicas.dedup();
    }
}

/// For every node its child, if it has exactly one.
fn only_children(tree: &CallTree) -> Vec<Option<usize>> {
    let mut children: Vec<(u32, usize)> = vec![(0, 0); tree.len()];
    for (node, parent) in tree.parent.iter().enumerate() {
        if let Some(parent) = parent {
            children[*parent as usize].0 += 1;
            children[*parent as usize].1 = node;
        }
    }
    children.into_iter().map(|(count, child)| (count == 1).then_some(child)).collect()
}

/// Operations that call themselves on other replicas.
struct Chains {
    starts: Vec<bool>,
}

/// Ancestors looked at: chains alternate few operations.
const ANCESTORS_MAX: usize = 16;

impl Chains {
    fn of(tree: &CallTree) -> Chains {
        let mut starts = vec![false; tree.len()];
        // The outermost call of the same operation on another replica, by node.
        let mut first: Vec<Option<usize>> = vec![None; tree.len()];
        for node in 1..tree.len() {
            let mut at = tree.parent[node];
            for _ in 0..ANCESTORS_MAX {
                let Some(ancestor) = at.map(|at| at as usize) else { break };
                if tree.operation[ancestor] == tree.operation[node] {
                    let elsewhere = tree.replica[ancestor] != tree.replica[node];
                    first[node] = first[ancestor].or(elsewhere.then_some(ancestor));
                    break;
                }
                at = tree.parent[ancestor];
            }
            if let Some(first) = first[node] {
                starts[first] = true;
            }
        }
        Chains { starts }
    }

    fn starts_at(&self, node: usize) -> bool {
        self.starts[node]
    }
}
