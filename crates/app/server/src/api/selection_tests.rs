//! Tests of what distinguishes some requests from others.

use super::latencies::quantile;
use laggard_engine::{RequestView, Requests};
use laggard_formats::attribute_name;
use laggard_localize::AttributeSettings;
use laggard_localize::compare::{Stratum, fisher_exact, stratified_test};
use laggard_model::{Attribute, AttributeSetId, OperationId, ReplicaId, ServiceId, Status, attributes_in};
use laggard_numeric::{benjamini_hochberg, spread_evenly};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use utoipa::ToSchema;

/// Most features that are tested: those of the most requests.
const TESTS_MAX: usize = 5_000;

/// Requests of each side whose times are ranked, and the fewest.
const RANKED_MAX: usize = 2_000;
const RANKED_MIN: usize = 5;

/// What a request has or has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DifferenceKind {
    /// A value of an attribute.
    Attribute,
    /// It calls the replica.
    Replica,
    /// It calls the operation.
    Operation,
    /// Its entry fails.
    Error,
}

/// Something that more or fewer of the selected requests have.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct Difference {
    kind: DifferenceKind,
    /// The service that it belongs to; empty for attributes of the request itself, and for errors.
    service: String,
    /// Name of the attribute; else empty.
    name: String,
    /// Value of the attribute, or the replica or operation; empty for errors.
    value: String,
    /// Selected requests that have it, of those compared.
    selected: u64,
    selected_share: f64,
    /// Other requests that have it, of those compared.
    rest: u64,
    rest_share: f64,
    /// Of Fisher's exact test, two-sided, adjusted (Benjamini–Hochberg).
    p_value: f64,
}

/// An operation whose own time differs.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct SlowerOperation {
    service: String,
    operation: String,
    kind: &'static str,
    /// Requests that were ranked of each side, of those that call it and whose entry both sides have.
    selected: u64,
    rest: u64,
    /// Median of its own time in a selected request, and in another.
    selected_p50_ns: u64,
    rest_p50_ns: u64,
    /// The chance that it takes longer in a selected request than in another with the same entry.
    chance: f64,
    /// Of the two-sided test within entries, adjusted (Benjamini–Hochberg).
    p_value: f64,
}

/// Requests of two sides, by their numbers.
pub(crate) struct Compared<'a> {
    pub(crate) requests: &'a Requests,
    pub(crate) selected: &'a [usize],
    pub(crate) rest: &'a [usize],
}

/// Requests of each side that have something.
type SideCounts = [u64; 2];

impl<'a> Compared<'a> {
    /// Level of the tests: that of the attributes of suspects.
    pub(crate) fn level() -> f64 {
        AttributeSettings::default().level
    }

    fn sides(&self) -> impl Iterator<Item = (usize, RequestView<'a>)> {
        let requests = self.requests;
        let side = move |side: usize, numbers: &'a [usize]| {
            numbers.iter().map(move |&number| (side, requests.request(number)))
        };
        side(0, self.selected).chain(side(1, self.rest))
    }

    /// What distinguishes the sides, the largest difference first.
    pub(crate) fn differences(&self) -> Vec<Difference> {
        let sizes = [self.selected.len() as u64, self.rest.len() as u64];
        let mut found: Vec<(Difference, SideCounts)> = Vec::new();
        self.attributes(&mut found);
        self.replicas(&mut found);
        self.called(&mut found);
        self.failed(&mut found);
        // What all have, or none, cannot differ.
        found.retain(|(_, counts)| (1..sizes[0] + sizes[1]).contains(&(counts[0] + counts[1])));
        found.sort_by_key(|(_, counts)| std::cmp::Reverse(counts[0] + counts[1]));
        found.truncate(TESTS_MAX);
        let p: Vec<f64> = (found.iter())
            .map(|(_, counts)| fisher_exact(counts[0], sizes[0], counts[1], sizes[1]))
            .collect();
        let share = |count: u64, all: u64| if all == 0 { 0.0 } else { count as f64 / all as f64 };
        let mut differing: Vec<Difference> = (found.into_iter().zip(benjamini_hochberg(&p)))
            .filter(|(_, p_value)| *p_value <= Compared::level())
            .map(|((difference, [selected, rest]), p_value)| Difference {
                selected,
                selected_share: share(selected, sizes[0]),
                rest,
                rest_share: share(rest, sizes[1]),
                p_value,
                ..difference
            })
            .collect();
        let size = |one: &Difference| (one.selected_share - one.rest_share).abs();
        differing.sort_by(|a, b| {
            let names = |one: &Difference| (one.service.clone(), one.name.clone(), one.value.clone());
            size(b).total_cmp(&size(a)).then_with(|| names(a).cmp(&names(b)))
        });
        differing
    }

    fn attributes(&self, found: &mut Vec<(Difference, SideCounts)>) {
        let mut sets: BTreeMap<AttributeSetId, SideCounts> = BTreeMap::new();
        self.sides().for_each(|(side, request)| sets.entry(request.attributes()).or_default()[side] += 1);
        let mut values: BTreeMap<Attribute<'_>, SideCounts> = BTreeMap::new();
        for (set, counts) in sets {
            for attribute in attributes_in(self.requests.names().attribute_set_text(set)) {
                let known = values.entry(attribute).or_default();
                *known = [known[0] + counts[0], known[1] + counts[1]];
            }
        }
        found.extend(values.into_iter().map(|(attribute, counts)| {
            let name = attribute_name(attribute.key);
            (difference(DifferenceKind::Attribute, attribute.service, name, attribute.value), counts)
        }));
    }

    fn replicas(&self, found: &mut Vec<(Difference, SideCounts)>) {
        let names = self.requests.names();
        let mut counts: BTreeMap<(ServiceId, ReplicaId), SideCounts> = BTreeMap::new();
        for (side, request) in self.sides() {
            let calls = request.tree().operation.iter().enumerate();
            let ran: BTreeSet<_> = calls
                .map(|(node, &operation)| (names.service_of(operation), request.replica(node)))
                .collect();
            ran.into_iter().for_each(|replica| counts.entry(replica).or_default()[side] += 1);
        }
        let named = counts.into_iter().map(|((service, replica), counts)| {
            let (service, replica) = (names.service_name(service), names.replica_name(replica));
            (difference(DifferenceKind::Replica, service, "", replica), counts)
        });
        found.extend(named.filter(|(difference, _)| !difference.value.is_empty()));
    }

    fn called(&self, found: &mut Vec<(Difference, SideCounts)>) {
        let names = self.requests.names();
        let mut structures: BTreeMap<usize, SideCounts> = BTreeMap::new();
        self.sides()
            .for_each(|(side, request)| structures.entry(request.structure()).or_default()[side] += 1);
        let mut operations: BTreeMap<OperationId, SideCounts> = BTreeMap::new();
        for (structure, counts) in structures {
            let distinct: BTreeSet<OperationId> =
                self.requests.structures()[structure].operation.iter().copied().collect();
            for operation in distinct {
                let known = operations.entry(operation).or_default();
                *known = [known[0] + counts[0], known[1] + counts[1]];
            }
        }
        found.extend(operations.into_iter().map(|(operation, counts)| {
            let key = names.operation_key(operation);
            (difference(DifferenceKind::Operation, key.service, "", key.operation), counts)
        }));
    }

    fn failed(&self, found: &mut Vec<(Difference, SideCounts)>) {
        let mut counts = [0; 2];
        self.sides()
            .filter(|(_, request)| request.status() == Status::Error)
            .for_each(|(side, _)| counts[side] += 1);
        found.push((difference(DifferenceKind::Error, "", "", ""), counts));
    }

    /// Operations whose own time in a request differs between requests with the same entry, the largest difference of the
    /// medians first.
    pub(crate) fn operations(&self) -> Vec<SlowerOperation> {
        let mut times = self.own_times();
        times.retain(|_, kinds| {
            // What only one side has is not compared.
            kinds.retain(|_, kind| !kind.before.is_empty() && !kind.after.is_empty());
            let values = |side: fn(&Stratum) -> usize| kinds.values().map(side).sum::<usize>();
            values(|kind| kind.after.len()).min(values(|kind| kind.before.len())) >= RANKED_MIN
        });
        let strata = times.into_iter().map(|(operation, kinds)| (operation, kinds.into_values().collect()));
        let strata: Vec<(OperationId, Vec<Stratum>)> = strata.collect();
        let tests: Vec<_> = strata.iter().map(|(_, kinds)| stratified_test(kinds)).collect();
        let p: Vec<f64> = tests.iter().map(|test| test.p_value).collect();
        let rows = strata.iter().zip(tests).zip(benjamini_hochberg(&p));
        let mut differing: Vec<SlowerOperation> = rows
            .filter(|(_, p_value)| *p_value <= Compared::level())
            .map(|(((operation, kinds), test), p_value)| {
                self.slower(*operation, kinds, (test.effect, p_value))
            })
            .collect();
        differing.sort_by(|a, b| {
            let size = |one: &SlowerOperation| one.selected_p50_ns.abs_diff(one.rest_p50_ns);
            let names = |one: &SlowerOperation| (one.service.clone(), one.operation.clone());
            size(b).cmp(&size(a)).then_with(|| names(a).cmp(&names(b)))
        });
        differing
    }

    /// The own time of each operation in a request, in nanoseconds, by the entry of the request: the others before, the
    /// selected after.
    fn own_times(&self) -> BTreeMap<OperationId, BTreeMap<OperationId, Stratum>> {
        let mut times: BTreeMap<OperationId, BTreeMap<OperationId, Stratum>> = BTreeMap::new();
        for (is_selected, numbers) in [(true, self.selected), (false, self.rest)] {
            for number in spread_evenly(numbers.len(), RANKED_MAX).map(|index| numbers[index]) {
                let request = self.requests.request(number);
                let operations = &request.tree().operation;
                let Some(&entry) = operations.first() else { continue };
                let mut own: BTreeMap<OperationId, u64> = BTreeMap::new();
                for (node, &operation) in operations.iter().enumerate() {
                    *own.entry(operation).or_default() += request.self_time(node).ns();
                }
                for (operation, ns) in own {
                    let kind = times.entry(operation).or_default().entry(entry).or_default();
                    if is_selected { kind.after.push(ns) } else { kind.before.push(ns) }
                }
            }
        }
        times
    }

    fn slower(
        &self,
        operation: OperationId,
        kinds: &[Stratum],
        (chance, p_value): (f64, f64),
    ) -> SlowerOperation {
        let key = self.requests.names().operation_key(operation);
        let selected: Vec<u64> = kinds.iter().flat_map(|kind| &kind.after).copied().collect();
        let rest: Vec<u64> = kinds.iter().flat_map(|kind| &kind.before).copied().collect();
        let median = |side: &[u64]| quantile(&mut side.to_vec(), 50).unwrap_or(0);
        SlowerOperation {
            service: key.service.to_owned(),
            operation: key.operation.to_owned(),
            kind: key.kind.name(),
            selected: selected.len() as u64,
            rest: rest.len() as u64,
            selected_p50_ns: median(&selected),
            rest_p50_ns: median(&rest),
            chance,
            p_value,
        }
    }
}

fn difference(kind: DifferenceKind, service: &str, name: &str, value: &str) -> Difference {
    Difference {
        kind,
        service: service.to_owned(),
        name: name.to_owned(),
        value: value.to_owned(),
        selected: 0,
        selected_share: 0.0,
        rest: 0,
        rest_share: 0.0,
        p_value: 1.0,
    }
}
