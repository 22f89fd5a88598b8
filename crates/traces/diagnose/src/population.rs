//! The compared *populations* of requests, and the names that several populations share.
//!
//! ```text
//! Requests A ─ window, service ─► Population 0 ─┐                ┌► handles of A  ─► unified handles
//! Requests B ─ window, service ─► Population 1 ─┴─► UnionNames ──┴► handles of B  ─► unified handles
//! ```
//!
//! Two populations may be two windows of one [`Requests`] or of two whose [`Names`] differ. Handles are only valid
//! with the `Names` that created them, so comparisons use unified handles only:
//! [`Selected`] translates them.

use crate::attribute_filter::AttributeFilter;
use crate::call_gaps::CallGaps;
use crate::selection::{ALL_REQUESTS, RequestSelection};
use laggard_assembly::{ShapePosition, ShapeRule};
use laggard_engine::{RequestRange, RequestView, Requests};
use laggard_localize::SiteRequest;
use laggard_model::{
    AttributeSetId, CallTree, Fingerprint, Names, OperationId, ReplicaId, ServiceId, Timestamp,
};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Requests of one data set, in one window, and of one kind if one is named.
#[derive(Clone, Copy, Debug)]
pub struct Population<'a> {
    /// The data set.
    pub requests: &'a Requests,
    /// Requests that start before this are left out.
    pub since: Timestamp,
    /// Requests that start after this are left out.
    pub until: Timestamp,
    /// Only requests that match this.
    pub selection: &'a RequestSelection,
    /// Only requests with all of these attributes.
    pub attributes: &'a [AttributeFilter],
}

impl<'a> Population<'a> {
    /// All requests of a data set.
    pub fn all(requests: &'a Requests) -> Population<'a> {
        let (since, until) = (Timestamp::MIN, Timestamp::MAX);
        Population { requests, since, until, selection: &ALL_REQUESTS, attributes: &[] }
    }
}

/// From the handles of one population to the unified ones; indexed by the population's handles.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HandleMap {
    operations: Vec<OperationId>,
    replicas: Vec<ReplicaId>,
    services: Vec<ServiceId>,
    attribute_sets: Vec<AttributeSetId>,
}

impl HandleMap {
    /// The unified handle of an operation.
    ///
    /// # Panics
    /// When the handle is not of this population's names; so do the others.
    pub fn operation(&self, operation: OperationId) -> OperationId {
        self.operations[operation.index()]
    }

    /// The unified handle of a replica.
    pub fn replica(&self, replica: ReplicaId) -> ReplicaId {
        self.replicas[replica.index()]
    }

    /// The unified handle of a service.
    pub fn service(&self, service: ServiceId) -> ServiceId {
        self.services[service.index()]
    }

    /// The unified handle of a set of attributes.
    pub fn attribute_set(&self, set: AttributeSetId) -> AttributeSetId {
        self.attribute_sets[set.index()]
    }

    /// Translates the handles of a call tree.
    pub fn unify(&self, tree: &mut CallTree) {
        tree.operation.iter_mut().for_each(|operation| *operation = self.operation(*operation));
        tree.replica.iter_mut().for_each(|replica| *replica = self.replica(*replica));
    }
}

/// The union of the names of several populations. Operations are equal by service, name and kind, replicas
/// and services by name. The handles of the first population keep their values.
#[derive(Clone, Debug, Default)]
pub struct UnionNames {
    names: Names,
    maps: Vec<HandleMap>,
    operations: Vec<Fingerprint>,
}

impl UnionNames {
    /// The union of some names, in this order.
    pub fn of(all: &[&Names]) -> UnionNames {
        let mut union = UnionNames::default();
        for names in all {
            let map = union.add(names);
            union.maps.push(map);
        }
        let operations = (0..union.names.operations()).map(OperationId::from_index);
        union.operations = operations.map(|id| union.names.fingerprint(id)).collect();
        union
    }

    /// The union over some populations, in this order.
    pub fn from_populations(populations: &[Population<'_>]) -> UnionNames {
        let all: Vec<&Names> = populations.iter().map(|population| population.requests.names()).collect();
        UnionNames::of(&all)
    }

    fn add(&mut self, names: &Names) -> HandleMap {
        let mut map = HandleMap::default();
        // A service has a handle because an operation of it has one, which was added first.
        for id in (0..names.operations()).map(OperationId::from_index) {
            let unified = self.names.operation(names.operation_key(id));
            map.operations.push(unified);
            if names.service_of(id).index() == map.services.len() {
                map.services.push(self.names.service_of(unified));
            }
        }
        let replicas = (0..names.replicas()).map(ReplicaId::from_index);
        map.replicas = replicas.map(|id| self.names.replica(names.replica_name(id))).collect();
        let sets = (0..names.attribute_sets()).map(AttributeSetId::from_index);
        map.attribute_sets = sets.map(|id| self.names.attribute_set(names.attribute_set_text(id))).collect();
        map
    }

    /// The unified names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The handles of the n-th population.
    pub fn map(&self, population: usize) -> &HandleMap {
        &self.maps[population]
    }

    /// Stable fingerprint of every unified operation, by handle; input of a shaper of unified trees.
    pub fn fingerprints(&self) -> &[Fingerprint] {
        &self.operations
    }

    /// Selects requests of the n-th population and translates their handles. Categories are those of canonical shapes.
    pub fn select<'a>(&'a self, population: &Population<'a>, population_index: usize) -> Selected<'a> {
        // Shapes are computed before, with more threads, except for a category of compared sets.
        let (rule, threads) = (ShapeRule::Canonical, NonZeroUsize::MIN);
        Selected {
            union: self,
            map: &self.maps[population_index],
            range: population.requests.within(population.since, population.until),
            structures: population.selection.structures(population.requests, rule, threads),
            attributes: population.attributes,
            gaps: None,
        }
    }
}

/// The selected requests of one population, in unified handles.
#[derive(Clone, Debug)]
pub struct Selected<'a> {
    union: &'a UnionNames,
    map: &'a HandleMap,
    range: RequestRange<'a>,
    /// Whether requests of each structure are selected; `None` if all are.
    structures: Option<Arc<[bool]>>,
    attributes: &'a [AttributeFilter],
    /// Calls that are not measured; `None` if all are.
    gaps: Option<Arc<CallGaps>>,
}

impl<'a> Selected<'a> {
    /// The same requests, with calls that are not measured.
    pub(crate) fn with_gaps(self, gaps: Option<Arc<CallGaps>>) -> Selected<'a> {
        Selected { gaps, ..self }
    }

    /// How many requests one of a fair sample stands for ([`Requests::fair_factor`]).
    pub(crate) fn fair_weight(&self, row: &SiteRequest) -> f64 {
        let factor = self.range.requests().fair_factor(row.number as usize);
        f64::from(row.weight) * factor.map_or(1.0, f64::from)
    }

    /// Whether a call is measured.
    pub(crate) fn is_measured(&self, request: &RequestView<'_>, node: usize) -> bool {
        self.gaps.as_ref().is_none_or(|gaps| gaps.is_measured(request, node))
    }

    /// Whether intact calls of incomplete requests are measured.
    pub(crate) fn uses_incomplete(&self) -> bool {
        self.gaps.as_ref().is_some_and(|gaps| gaps.uses_incomplete())
    }

    /// The unified names.
    pub fn union(&self) -> &'a UnionNames {
        self.union
    }

    /// The requests of its window, regardless of their entry: the range of a fold.
    pub fn range(&self) -> RequestRange<'a> {
        self.range
    }

    /// Whether a request of the window is selected.
    pub fn includes(&self, request: &RequestView<'_>) -> bool {
        let text = || self.union.names.attribute_set_text(self.attributes(request));
        self.structures.as_ref().is_none_or(|structures| structures[request.structure()])
            && (self.attributes.is_empty() || AttributeFilter::all_match(self.attributes, text()))
    }

    /// The operation of a call.
    pub fn operation(&self, request: &RequestView<'_>, node: usize) -> OperationId {
        self.map.operation(request.tree().operation[node])
    }

    /// The replica of a call.
    pub fn replica(&self, request: &RequestView<'_>, node: usize) -> ReplicaId {
        self.map.replica(request.replica(node))
    }

    /// The attributes of a request.
    pub fn attributes(&self, request: &RequestView<'_>) -> AttributeSetId {
        self.map.attribute_set(request.attributes())
    }

    /// A request as a call tree.
    pub fn call_tree(&self, request: &RequestView<'_>) -> CallTree {
        let mut tree = request.call_tree();
        self.map.unify(&mut tree);
        tree
    }

    /// Operations of the population's own requests, by their handle there.
    pub fn operations(&self) -> &'a [OperationId] {
        &self.map.operations
    }

    /// Replicas of the population's own requests, by their handle there.
    pub(crate) fn replicas(&self) -> &'a [ReplicaId] {
        &self.map.replicas
    }

    /// Whether some calls may not be measured.
    pub(crate) fn has_gaps(&self) -> bool {
        self.gaps.is_some()
    }

    /// The positions of a shape.
    pub fn positions(&self, positions: &[ShapePosition]) -> Vec<ShapePosition> {
        let unified = |position: &ShapePosition| ShapePosition {
            operation: self.map.operation(position.operation),
            ..*position
        };
        positions.iter().map(unified).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_engine::{RequestSlice, SliceFacts, TraceAttributes};
    use laggard_model::{OperationKey, SpanKind};

    fn names(services: &[(&str, &str)], replicas: &[&str]) -> Names {
        let mut names = Names::new();
        for &(service, operation) in services {
            names.operation(OperationKey { service, operation, kind: SpanKind::Server });
        }
        replicas.iter().for_each(|name| {
            names.replica(name);
        });
        names
    }

    #[test]
    fn equal_names_share_handles_and_new_ones_follow() {
        let a = names(&[("cart", "add"), ("cart", "get"), ("pay", "pay")], &["c1", "p1"]);
        let b = names(&[("pay", "pay"), ("ship", "quote"), ("cart", "get")], &["p1", "s1"]);
        let union = UnionNames::of(&[&a, &b]);
        assert_eq!(
            (union.names().operations(), union.names().services(), union.names().replicas()),
            (4, 3, 3)
        );
        for id in (0..3).map(OperationId::from_index) {
            assert_eq!(union.map(0).operation(id), id, "the first population keeps its handles");
            let unified = union.map(1).operation(id);
            assert_eq!(union.names().operation_key(unified), b.operation_key(id));
            assert_eq!(union.fingerprints()[unified.index()], b.fingerprint(id));
            assert_eq!(union.map(1).service(b.service_of(id)), union.names().service_of(unified));
        }
        let replica = union.map(1).replica(ReplicaId::from_index(0));
        assert_eq!(union.names().replica_name(replica), "p1");
        assert_eq!(replica, ReplicaId::from_index(1));
    }

    #[test]
    fn two_windows_of_one_data_set_share_all_handles() {
        let a = names(&[("cart", "add"), ("pay", "pay")], &["c1"]);
        let union = UnionNames::of(&[&a, &a]);
        assert_eq!(union.map(0), union.map(1));
        assert_eq!(union.names().operations(), 2);
    }

    #[test]
    fn the_same_operation_of_another_kind_is_another_operation() {
        let mut b = Names::new();
        b.operation(OperationKey { service: "cart", operation: "add", kind: SpanKind::Client });
        let union = UnionNames::of(&[&names(&[("cart", "add")], &[]), &b]);
        assert_eq!((union.names().operations(), union.names().services()), (2, 1));
    }

    #[test]
    fn only_selected_requests_are_returned_in_unified_handles() {
        let drawn = laggard_testkit::parse_spans("a - list@h1 100..200\nb a read@h1 110..130");
        let other = names(&[("x", "y")], &["h0"]);
        let union = UnionNames::of(&[&other, &drawn.names]);
        let slice = RequestSlice::assemble(
            drawn.names,
            drawn.rows,
            &TraceAttributes::default(),
            SliceFacts::default(),
        );
        let all = Requests::from_slices(vec![Arc::new(slice)], NonZeroUsize::MIN);
        let everything = Population::all(&all);
        let requests = |population: &Population<'_>| {
            let selected = union.select(population, 1);
            let included = selected.range().iter().filter(|request| selected.includes(request));
            included.map(|request| selected.call_tree(&request)).collect()
        };
        let trees: Vec<CallTree> = requests(&everything);
        let shown = union.names().operation_key(trees[0].operation[1]);
        assert_eq!((trees.len(), shown.operation), (1, "read"));
        assert_eq!(union.names().replica_name(trees[0].replica[0]), "h1");
        let time = Timestamp::from_unix_ns;
        assert_eq!(requests(&Population { since: time(101), ..everything }), []);
        assert_eq!(requests(&Population { until: time(99), ..everything }), []);
        assert_eq!(requests(&Population { since: time(100), until: time(100), ..everything }), trees);
        let service =
            |name: &str| RequestSelection { service: Some(name.to_owned()), ..ALL_REQUESTS.clone() };
        let operation =
            |name: &str| RequestSelection { operation: Some(name.to_owned()), ..ALL_REQUESTS.clone() };
        let shapes = all.shapes(ShapeRule::Canonical, NonZeroUsize::MIN);
        let category = |id: &str| RequestSelection { category: Some(id.to_owned()), ..ALL_REQUESTS.clone() };
        let id = shapes.categories()[0].id.short();
        for selection in
            [service("s"), operation("list"), operation("s:list"), category(&id), category(&id[..3])]
        {
            assert_eq!(requests(&Population { selection: &selection, ..everything }), trees, "{selection:?}");
            assert_eq!(selection.check(&[&all], ShapeRule::Canonical, NonZeroUsize::MIN), Ok(()));
        }
        for selection in
            [service("x"), service("nobody"), operation("read"), operation("x:list"), category("")]
        {
            assert_eq!(requests(&Population { selection: &selection, ..everything }), [], "{selection:?}");
        }
        let message = |selection: RequestSelection| {
            let checked = selection.check(&[&all], ShapeRule::Canonical, NonZeroUsize::MIN);
            checked.expect_err("unknown").to_string()
        };
        assert_eq!(
            message(operation("lisst")),
            "no request enters at operation \"lisst\"; did you mean s:list?"
        );
        assert_eq!(
            message(operation("pay")),
            "no request enters at operation \"pay\"; the most frequent are s:list"
        );
        let unknown = format!("there is no category \"zz\"; the most frequent are {id}");
        assert_eq!(message(category("zz")), unknown);
    }
}
