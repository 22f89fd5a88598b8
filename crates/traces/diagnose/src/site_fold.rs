//! Computes the time of requests by site.

use crate::population::Selected;
use laggard_assembly::ShapeRule;
use laggard_engine::{Fold, LocalEngine, RequestView, StructureShapes, TreeStructure, incomplete_category};
use laggard_localize::{Site, SiteNumbers, SiteRequest, SiteTable, SiteTableBuilder, Spent};
use laggard_model::{AdjustedCount, Fingerprint, Names, OperationId, ReplicaId, SpanKind};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Adds the times of every request of a population to a table, by site; of incomplete ones those of intact calls, if any.
pub struct SiteFold<'a> {
    selected: Selected<'a>,
    /// Weight of requests that do not report one.
    assumed_count: Option<AdjustedCount>,
    shapes: &'a StructureShapes,
    threads: NonZeroUsize,
    /// All sites of the requests, except chains, and ids of the shapes' categories.
    numbers: Arc<SiteNumbers>,
    forms: Vec<StructureSites>,
}

/// The sites of requests of one tree structure: everything that does not depend on replicas and times.
struct StructureSites {
    nodes: Vec<NodeSites>,
    /// Whether an operation calls itself, perhaps on another replica.
    may_chain: bool,
}

/// The sites of one call: numbers of [`SiteFold::numbers`].
#[derive(Clone, Copy)]
struct NodeSites {
    operation: u32,
    /// The link to its only callee.
    link: Option<Link>,
}

#[derive(Clone, Copy)]
struct Link {
    site: u32,
    callee: u32,
}

impl<'a> SiteFold<'a> {
    /// A fold over the selected requests, in unified handles.
    pub fn new(
        selected: Selected<'a>,
        assumed_count: Option<AdjustedCount>,
        engine: LocalEngine,
    ) -> SiteFold<'a> {
        let requests = selected.range().requests();
        let mut finder = SiteFinder::new(selected.clone());
        let forms = requests.structures().iter().map(|structure| finder.sites_of(structure)).collect();
        let shapes = requests.shapes(ShapeRule::Canonical, engine.threads());
        let mut categories: Vec<Fingerprint> =
            shapes.categories().iter().map(|category| category.id).collect();
        if selected.uses_incomplete() {
            categories.extend(selected.union().fingerprints().iter().copied().map(incomplete_category));
        }
        let numbers = Arc::new(SiteNumbers::new(finder.sites, categories));
        SiteFold { selected, assumed_count, shapes, threads: engine.threads(), numbers, forms }
    }

    /// The requests of the fold.
    pub fn selected(&self) -> &Selected<'a> {
        &self.selected
    }
}

impl Fold for SiteFold<'_> {
    type Partial = SiteTableBuilder;
    type Output = SiteTable;

    fn start(&self) -> SiteTableBuilder {
        SiteTableBuilder::with_numbers(self.numbers.clone())
    }

    fn add(&self, partial: &mut SiteTableBuilder, request: &RequestView<'_>) {
        if !(request.is_complete() || self.selected.uses_incomplete()) || !self.selected.includes(request) {
            return;
        }
        partial.request_at(self.row(request));
        self.spend(partial, request);
    }

    fn merge(&self, into: &mut SiteTableBuilder, later: SiteTableBuilder) {
        into.merge(later);
    }

    fn finish(&self, partial: SiteTableBuilder) -> SiteTable {
        partial.finish(self.threads)
    }
}

impl SiteFold<'_> {
    fn row(&self, request: &RequestView<'_>) -> SiteRequest {
        SiteRequest {
            start: request.start(),
            trace: request.trace(),
            latency_ns: request.latency().ns() as f64,
            category: self.category(request) as u32,
            weight: request.weight(self.assumed_count),
            number: request.number() as u32,
            attributes: self.selected.attributes(request),
        }
    }

    /// The number of a request's category. What the call tree of an incomplete request was is unknown: they are of one category by
    /// entry.
    fn category(&self, request: &RequestView<'_>) -> usize {
        match request.is_complete() {
            true => self.shapes.category_of(request.structure()),
            false => self.shapes.categories().len() + self.selected.operation(request, 0).index(),
        }
    }

    fn spend(&self, partial: &mut SiteTableBuilder, request: &RequestView<'_>) {
        let structure = &self.forms[request.structure()];
        for (node, sites) in structure.nodes.iter().enumerate() {
            let replica = self.selected.replica(request, node);
            partial.home(self.selected.operation(request, node), replica);
            if !self.selected.is_measured(request, node) {
                continue;
            }
            let waiting = sites.link.filter(|link| waits_for(request, node, link.callee as usize));
            let link = waiting.map(|link| (link, self.selected.replica(request, link.callee as usize)));
            let (site, replicas) = match link {
                Some((link, callee)) => (link.site, [replica, callee]),
                None => (sites.operation, [replica; 2]),
            };
            let spent = Spent {
                site: self.numbers.site(site),
                replicas: if link.is_some() { &replicas } else { &replicas[..1] },
                time_ns: request.self_time(node).ns() as f64,
                path_ns: request.path_time(node).ns() as f64,
            };
            partial.spend_at(site, spent);
        }
        if structure.may_chain {
            self.spend_chains(partial, request);
        }
    }

    fn spend_chains(&self, partial: &mut SiteTableBuilder, request: &RequestView<'_>) {
        let chains = Chains::of(request);
        let mut replicas = Vec::new();
        for node in (0..request.calls()).filter(|&node| chains.starts_at(node)) {
            self.chain(request, node, &mut replicas);
            partial.spend(Spent {
                site: Site::Chain(self.selected.operation(request, node)),
                replicas: &replicas,
                time_ns: request.inclusive_time(node).ns() as f64,
                path_ns: 0.0,
            });
        }
    }

    /// The replicas of the operation's service that took part below a chain's first call.
    fn chain(&self, request: &RequestView<'_>, from: usize, replicas: &mut Vec<ReplicaId>) {
        let names = self.selected.union().names();
        let service_of = |node| names.service_of(self.selected.operation(request, node));
        let service = service_of(from);
        let parents = &request.tree().parent;
        let depth_first = (from + 1..request.calls())
            .take_while(|&node| parents[node].is_some_and(|parent| parent as usize >= from));
        replicas.clear();
        replicas.push(self.selected.replica(request, from));
        let below = depth_first.filter(|&node| service_of(node) == service);
        replicas.extend(below.map(|node| self.selected.replica(request, node)));
        replicas.sort_unstable();
        replicas.dedup();
    }
}

/// Numbers the sites of tree structures.
struct SiteFinder<'a> {
    selected: Selected<'a>,
    sites: Vec<Site>,
    /// By operation, in unified handles.
    operations: Vec<Option<u32>>,
    /// By caller: callees with the number of the link, by callee.
    links: Vec<Vec<(OperationId, u32)>>,
}

impl<'a> SiteFinder<'a> {
    fn new(selected: Selected<'a>) -> SiteFinder<'a> {
        let operations = selected.union().names().operations();
        SiteFinder {
            selected,
            sites: Vec::new(),
            operations: vec![None; operations],
            links: vec![Vec::new(); operations],
        }
    }

    fn sites_of(&mut self, structure: &TreeStructure) -> StructureSites {
        let nodes = only_children(structure).into_iter().enumerate().map(|(node, only_child)| NodeSites {
            operation: self.operation(self.unified(structure, node)),
            link: only_child.and_then(|child| self.link(structure, node, child)),
        });
        StructureSites { nodes: nodes.collect(), may_chain: calls_itself(structure) }
    }

    fn unified(&self, structure: &TreeStructure, node: usize) -> OperationId {
        self.selected.operations()[structure.operation[node].index()]
    }

    fn operation(&mut self, operation: OperationId) -> u32 {
        let sites = &mut self.sites;
        *self.operations[operation.index()].get_or_insert_with(|| {
            sites.push(Site::Operation(operation));
            (sites.len() - 1) as u32
        })
    }

    /// The link of a call whose only callee may run elsewhere.
    fn link(&mut self, structure: &TreeStructure, node: usize, child: usize) -> Option<Link> {
        let (caller, callee) = (self.unified(structure, node), self.unified(structure, child));
        if !may_wait(self.selected.union().names(), caller) {
            return None;
        }
        let known = &mut self.links[caller.index()];
        let index = known.binary_search_by_key(&callee, |&(callee, _)| callee).unwrap_or_else(|index| {
            known.insert(index, (callee, self.sites.len() as u32));
            self.sites.push(Site::Link { caller, callee });
            index
        });
        Some(Link { site: known[index].1, callee: child as u32 })
    }
}

/// Whether calls of an operation may do nothing but wait for their callee.
pub(crate) fn may_wait(names: &Names, caller: OperationId) -> bool {
    matches!(names.operation_key(caller).kind, SpanKind::Client | SpanKind::Unspecified)
}

/// Whether the only callee of a call runs on another replica and returns before its caller.
pub(crate) fn waits_for(request: &RequestView<'_>, caller: usize, callee: usize) -> bool {
    request.inclusive_time(callee) <= request.inclusive_time(caller)
        && request.replica(callee) != request.replica(caller)
}

/// Whether an operation is among its own near ancestors.
fn calls_itself(structure: &TreeStructure) -> bool {
    (1..structure.len()).any(|node| {
        ancestors(structure, node).any(|above| structure.operation[above] == structure.operation[node])
    })
}

/// The callers of a call, the nearest first; at most [`ANCESTORS_MAX`].
fn ancestors(structure: &TreeStructure, node: usize) -> impl Iterator<Item = usize> + '_ {
    let above = |&node: &usize| structure.parent[node].map(|parent| parent as usize);
    std::iter::successors(above(&node), above).take(ANCESTORS_MAX)
}

/// For every node its child, if it has exactly one.
pub(crate) fn only_children(tree: &TreeStructure) -> Vec<Option<usize>> {
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

// Limit: callers searched for a chain | the call starts no chain
/// Most ancestors searched: chains alternate few operations.
const ANCESTORS_MAX: usize = 16;

impl Chains {
    fn of(request: &RequestView<'_>) -> Chains {
        let structure = request.tree();
        let mut starts = vec![false; structure.len()];
        // The outermost call of the same operation on another replica, by node.
        let mut first: Vec<Option<usize>> = vec![None; structure.len()];
        for node in 1..structure.len() {
            let same = ancestors(structure, node)
                .find(|&above| structure.operation[above] == structure.operation[node]);
            if let Some(above) = same {
                let elsewhere = request.replica(above) != request.replica(node);
                first[node] = first[above].or(elsewhere.then_some(above));
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
