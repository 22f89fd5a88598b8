//! The calls of one subject, whether or not anything is wrong with it: how a suspect that is known from before does now.

use crate::population::{Population, Selected, UnionNames};
use crate::site_calls::site_calls;
use crate::site_fold::SiteFold;
use laggard_engine::LocalEngine;
use laggard_localize::Site;
use laggard_model::{Names, OperationId, ReplicaId, Timestamp};
use std::collections::{BTreeMap, HashMap};

/// The subject of a verdict: an operation, or the link to it from a caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subject<'a> {
    /// Service and name of the operation.
    pub operation: (&'a str, &'a str),
    /// Service and name of the caller, if the time is spent between the two; those of the operation itself, if it is spent
    /// between it and what it calls.
    pub caller: Option<(&'a str, &'a str)>,
    /// Only calls on one of these replicas; on any if there are none.
    pub replicas: &'a [String],
    /// Whether the time of a call includes that of the calls it makes. Without a caller only. Requests are then not divided into
    /// categories, since additional calls make another call tree.
    pub is_inclusive: bool,
}

/// One call of a subject.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SubjectCall {
    /// Start of its request.
    pub start: Timestamp,
    /// Its time, nanoseconds: self time or inclusive time of an operation, or the time between caller and callee.
    pub time_ns: f64,
    /// The number of its request among those of the population.
    pub request: u32,
    /// The number of its request's category: requests of one category have call trees of one shape. 0 for inclusive times.
    pub category: u32,
}

/// The calls of a subject in complete requests of a population, in order of the requests' start. Operations that call themselves
/// on other replicas are taken by themselves.
pub fn subject_calls(
    population: &Population<'_>,
    subject: &Subject<'_>,
    engine: LocalEngine,
) -> Vec<SubjectCall> {
    let union = UnionNames::from_populations(&[*population]);
    let names = union.names();
    let callees = operations_of(names, subject.operation);
    let callers = subject.caller.map(|caller| operations_of(names, caller));
    let replicas: Vec<ReplicaId> =
        subject.replicas.iter().filter_map(|name| names.find_replica(name)).collect();
    let is_on = |set: &[ReplicaId]| {
        subject.replicas.is_empty() || set.iter().any(|replica| replicas.contains(replica))
    };
    let selected = union.select(population, 0);
    if subject.is_inclusive {
        return inclusive_calls(&selected, &callees, |replica| {
            subject.replicas.is_empty() || replicas.contains(&replica)
        });
    }
    let table = engine.fold(selected.range(), &SiteFold::new(selected.clone(), None, engine));
    let is_itself = subject.caller == Some(subject.operation);
    let is_subject = |site: &Site| match (*site, &callers) {
        (Site::Operation(operation), None) => callees.contains(&operation),
        (Site::Link { caller, callee }, Some(callers)) => {
            callers.contains(&caller) && (is_itself || callees.contains(&callee))
        }
        _ => false,
    };
    let mut calls = Vec::new();
    for &site in table.sites.iter().filter(|site| is_subject(site)) {
        let on_replicas = site_calls(&selected, &table, site);
        let on_replicas = on_replicas.into_iter().filter(|call| is_on(&table.sets[call.set as usize]));
        calls.extend(on_replicas.map(|call| {
            let request = &table.requests[call.request as usize];
            let (start, category) = (request.start, request.category);
            SubjectCall { start, time_ns: f64::from(call.time_ns), request: call.request, category }
        }));
    }
    sort(&mut calls);
    calls
}

/// The calls of some operations with their inclusive times, as [`subject_calls`].
fn inclusive_calls(
    selected: &Selected<'_>,
    operations: &[OperationId],
    is_on: impl Fn(ReplicaId) -> bool,
) -> Vec<SubjectCall> {
    let mut nodes_of: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut calls = Vec::new();
    for (number, request) in (0..).zip(selected.range().iter()) {
        if !request.is_complete() || !selected.includes(&request) {
            continue;
        }
        let nodes = nodes_of.entry(request.structure()).or_insert_with(|| {
            let is_subject = |node: &usize| operations.contains(&selected.operation(&request, *node));
            (0..request.calls()).filter(is_subject).collect()
        });
        for &node in nodes.iter().filter(|node| is_on(selected.replica(&request, **node))) {
            let time_ns = request.inclusive_time(node).ns() as f64;
            calls.push(SubjectCall { start: request.start(), time_ns, request: number, category: 0 });
        }
    }
    sort(&mut calls);
    calls
}

/// The calls of every operation of a service in complete requests of a population, by the operation's name, in order of the
/// requests' start. Times are self times.
pub fn service_calls(
    population: &Population<'_>,
    service: &str,
    engine: LocalEngine,
) -> BTreeMap<String, Vec<SubjectCall>> {
    let union = UnionNames::from_populations(&[*population]);
    let names = union.names();
    let selected = union.select(population, 0);
    let table = engine.fold(selected.range(), &SiteFold::new(selected.clone(), None, engine));
    let mut out: BTreeMap<String, Vec<SubjectCall>> = BTreeMap::new();
    for &site in &table.sites {
        let Site::Operation(operation) = site else { continue };
        let key = names.operation_key(operation);
        if key.service == service {
            let calls = site_calls(&selected, &table, site).into_iter().map(|call| {
                let request = &table.requests[call.request as usize];
                let (start, category) = (request.start, request.category);
                SubjectCall { start, time_ns: f64::from(call.time_ns), request: call.request, category }
            });
            out.entry(key.operation.to_owned()).or_default().extend(calls);
        }
    }
    out.values_mut().for_each(|calls| sort(calls));
    out
}

/// By the start of their request.
fn sort(calls: &mut [SubjectCall]) {
    calls.sort_by(|a, b| a.start.cmp(&b.start).then(a.time_ns.total_cmp(&b.time_ns)));
}

/// The operations of a service and name: one for each kind of span.
fn operations_of(names: &Names, (service, operation): (&str, &str)) -> Vec<OperationId> {
    let all = (0..names.operations()).map(OperationId::from_index);
    let is_wanted = |id: &OperationId| {
        let key = names.operation_key(*id);
        key.service == service && key.operation == operation
    };
    all.filter(is_wanted).collect()
}
