//! Versions of services, as the spans of requests report them: which appear for the first time in the middle of the data, and
//! which replicas run them.

use laggard_engine::{RequestView, Requests};
use laggard_model::{AttributeSetId, Names, Nanos, ReplicaId, Timestamp, attributes_in};
use laggard_report::{ReplicasRunning, SystemEvent, SystemEventKind, SystemEventSource};
use std::collections::{BTreeMap, BTreeSet};

/// The attribute with the version of a service.
const VERSION: &str = "version";

/// How improbable it must be that a version was missing from the requests before its first one by chance, as `-ln p`: one in a
/// million.
const ABSENCE_MIN: f64 = 13.8;

/// Requests with a version before it counts.
const REQUESTS_MIN: u64 = 5;

/// Versions of a service that are considered, at most the bits of its reports: with more, the attribute is no version.
const VERSIONS_MAX: usize = 100;

/// The versions of all services.
pub(crate) struct VersionStudy {
    /// By service.
    reported: BTreeMap<String, BTreeSet<String>>,
    /// Those that have several.
    services: Vec<ServiceVersions>,
}

/// The versions of one service.
struct ServiceVersions {
    service: String,
    /// The number of each version, from 0.
    versions: BTreeMap<String, u32>,
    /// The start of each request that reports versions of the service, and a bit for each version that it met.
    reports: Vec<(Timestamp, u128)>,
    /// Which replicas ran which version, and when last.
    homes: BTreeMap<(ReplicaId, u32), Timestamp>,
}

/// A version that appears in the middle of the data.
struct NewVersion {
    first: Timestamp,
    last: Timestamp,
}

impl VersionStudy {
    /// Reads the versions of all requests, whose order is that of their starts.
    pub(crate) fn new(requests: &Requests) -> VersionStudy {
        let names = requests.names();
        let reported = versions_of(names);
        let mut services = with_several(&reported);
        if services.is_empty() {
            return VersionStudy { reported, services };
        }
        let sets = reports_of(names, &services);
        for request in requests.all().iter() {
            for (service, versions) in &sets[request.attributes().index()] {
                services[*service].add(&request, *versions, names);
            }
        }
        VersionStudy { reported, services }
    }

    /// Versions that were not there before: the first version of a service is none of them.
    pub(crate) fn new_versions(&self) -> Vec<SystemEvent> {
        let mut events: Vec<SystemEvent> = self.services.iter().flat_map(ServiceVersions::events).collect();
        events.sort_by_key(SystemEvent::at);
        events
    }

    /// Whether spans report versions of a service, but not this one.
    pub(crate) fn is_unused(&self, service: &str, version: &str) -> bool {
        self.reported.get(service).is_some_and(|versions| !versions.contains(version))
    }

    /// How many of the replicas run a version of a service, of those whose version is known at all since a time; `None` when
    /// that of none is.
    pub(crate) fn running(
        &self,
        service: &str,
        version: &str,
        replicas: &[ReplicaId],
        since: Timestamp,
    ) -> Option<ReplicasRunning> {
        let versions = self.services.iter().find(|known| known.service == service)?;
        let number = *versions.versions.get(version)?;
        let running = versions.running(number, since, |replica| replicas.contains(&replica));
        (running.of > 0).then_some(running)
    }
}

/// The versions that spans report, by service.
fn versions_of(names: &Names) -> BTreeMap<String, BTreeSet<String>> {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for index in 0..names.attribute_sets() {
        let text = names.attribute_set_text(AttributeSetId::from_index(index));
        let versions =
            attributes_in(text).filter(|attribute| attribute.key == VERSION && !attribute.service.is_empty());
        for attribute in versions {
            known.entry(attribute.service.to_owned()).or_default().insert(attribute.value.to_owned());
        }
    }
    known
}

/// Services with several versions.
fn with_several(reported: &BTreeMap<String, BTreeSet<String>>) -> Vec<ServiceVersions> {
    let several = reported.iter().filter(|(_, versions)| (2..=VERSIONS_MAX).contains(&versions.len()));
    let service = |(service, versions): (&String, &BTreeSet<String>)| ServiceVersions {
        service: service.clone(),
        versions: versions.iter().cloned().zip(0..).collect(),
        reports: Vec::new(),
        homes: BTreeMap::new(),
    };
    several.map(service).collect()
}

/// For each set of attributes, the services in it and a bit for each of their versions.
fn reports_of(names: &Names, services: &[ServiceVersions]) -> Vec<Vec<(usize, u128)>> {
    let of_set = |index: usize| {
        let text = names.attribute_set_text(AttributeSetId::from_index(index));
        let mut found: BTreeMap<usize, u128> = BTreeMap::new();
        for attribute in attributes_in(text).filter(|attribute| attribute.key == VERSION) {
            let Some(service) = services.iter().position(|known| known.service == attribute.service) else {
                continue;
            };
            if let Some(number) = services[service].versions.get(attribute.value) {
                *found.entry(service).or_default() |= 1 << number;
            }
        }
        found.into_iter().collect()
    };
    (0..names.attribute_sets()).map(of_set).collect()
}

impl ServiceVersions {
    fn add(&mut self, request: &RequestView<'_>, versions: u128, names: &Names) {
        self.reports.push((request.start(), versions));
        if versions.count_ones() != 1 {
            // It is not known which replica ran which.
            return;
        }
        let version = versions.trailing_zeros();
        for (node, operation) in request.tree().operation.iter().enumerate() {
            if names.operation_key(*operation).service == self.service {
                self.homes.insert((request.replica(node), version), request.start());
            }
        }
    }

    fn events(&self) -> Vec<SystemEvent> {
        let new = self.versions.iter().filter_map(|(version, &number)| {
            let new = self.new_version(number)?;
            // Replicas that are gone by then are not counted: a rolling update replaces all of them.
            let half = Nanos::from_ns(new.last.since(new.first).magnitude().ns() / 2);
            let running = self.running(number, new.first.plus(half), |_| true);
            let running = Some(running).filter(|running| running.replicas > 0 && running.of > 1);
            Some(SystemEvent {
                version: Some(version.clone()),
                source: SystemEventSource::Spans,
                running,
                ..SystemEvent::declared(SystemEventKind::Deployment, self.service.clone(), new.first)
            })
        });
        new.collect()
    }

    /// Whether it is certain that the version was not there before its first request.
    fn new_version(&self, number: u32) -> Option<NewVersion> {
        let has = |(_, versions): &(Timestamp, u128)| versions & (1 << number) != 0;
        let before = self.reports.iter().position(has)?;
        let last = self.reports.iter().rposition(has)?;
        let since = &self.reports[before..=last];
        let with = since.iter().filter(|report| has(report)).count() as u64;
        // By the rule of succession: it is never certain that every request has it.
        let share = with as f64 / (since.len() + 1) as f64;
        let is_new = with >= REQUESTS_MIN && -(before as f64) * (-share).ln_1p() >= ABSENCE_MIN;
        let [first, last] = [before, last].map(|index| self.reports[index].0);
        is_new.then_some(NewVersion { first, last })
    }

    /// Replicas with a call since a time: those that run the version, and all of them.
    fn running(
        &self,
        number: u32,
        since: Timestamp,
        includes: impl Fn(ReplicaId) -> bool,
    ) -> ReplicasRunning {
        let mut with: BTreeSet<ReplicaId> = BTreeSet::new();
        let mut all: BTreeSet<ReplicaId> = BTreeSet::new();
        for (&(replica, version), &last) in &self.homes {
            if last >= since && includes(replica) {
                all.insert(replica);
                if version == number {
                    with.insert(replica);
                }
            }
        }
        ReplicasRunning { replicas: with.len() as u64, of: all.len() as u64 }
    }
}
