//! Deployments and other changes of the system, and which of them fit the onset of a suspect.

use super::context::Context;
use crate::diagnose::answer::Suspect as FoundSuspect;
use crate::versions::VersionStudy;
use laggard_model::{Nanos, OperationId, ReplicaId, Timestamp};
use laggard_report::{
    Onset, SuspectEvent, SystemEvent, SystemEventKind, SystemEventSource, Window, incidents_of,
};
use std::collections::BTreeSet;

/// An event at most this long before the onset's interval fits (ten minutes: a rolling update of a few replicas).
const BEFORE_MAX: Nanos = Nanos::from_secs(600);

/// An interval that is longer than this contains events by chance, which are not reported.
const ONSET_LENGTH_MAX: Nanos = Nanos::from_secs(1_800);

/// A version that spans report for the first time at most this long after it was declared is the declared deployment.
const SAME_DEPLOYMENT: Nanos = Nanos::from_secs(3_600);

/// Events of one suspect, and of a report.
const NEAR_MAX: usize = 5;
const REPORTED_MAX: usize = 100;

/// All events that are known, and the versions of the data.
pub(crate) struct SystemEvents {
    /// In order of time.
    events: Vec<SystemEvent>,
    versions: VersionStudy,
}

impl SystemEvents {
    pub(crate) fn new(context: &Context<'_>) -> SystemEvents {
        let versions = VersionStudy::new(context.requests);
        let mut events = context.facts.events.clone();
        for new in versions.new_versions() {
            match events.iter_mut().find(|known| is_same_deployment(known, &new)) {
                Some(known) => {
                    known.time.time = known.at().min(new.at());
                    known.running = new.running;
                }
                None => events.push(new),
            }
        }
        events.sort_by(|a, b| {
            (a.at(), a.kind, &a.service, &a.version).cmp(&(b.at(), b.kind, &b.service, &b.version))
        });
        events.dedup();
        SystemEvents { events, versions }
    }

    /// Those of the window, or shortly before it; the latest if there are many.
    pub(crate) fn in_report(&self, window: Option<Window>) -> Vec<SystemEvent> {
        let Some(window) = window else { return Vec::new() };
        let times = window.since.minus(BEFORE_MAX)..=window.until;
        let within = self.events.iter().filter(|event| times.contains(&event.at()));
        let within: Vec<&SystemEvent> = within.collect();
        within[within.len().saturating_sub(REPORTED_MAX)..].iter().copied().cloned().collect()
    }

    /// The events of a suspect's service, or of one that it calls, that fit its onset.
    pub(crate) fn near(&self, context: &Context<'_>, suspect: &FoundSuspect) -> Vec<SuspectEvent> {
        let Some(onset) = onset_of(context, suspect) else { return Vec::new() };
        let fitting: Vec<&SystemEvent> =
            self.events.iter().filter(|event| fits(&onset, event.at())).collect();
        if fitting.is_empty() {
            return Vec::new();
        }
        let services = services_of(context, suspect);
        let own = context.requests.names().operation_key(suspect.operation).service;
        let mut near: Vec<SuspectEvent> = (fitting.into_iter())
            .filter(|event| event.service.is_empty() || services.contains(event.service.as_str()))
            .filter_map(|event| self.related(event, &onset, own, &suspect.culprits))
            .collect();
        near.sort_by(|a, b| a.before_s.abs().total_cmp(&b.before_s.abs()));
        near.truncate(NEAR_MAX);
        near
    }

    /// An event next to an onset; `None` if it deployed a version that none of the culprits runs. A version that spans reported
    /// at another time is one that no span of these requests reports: it was rolled back. Of a declared one, spans may write the
    /// version in another way.
    fn related(
        &self,
        event: &SystemEvent,
        onset: &Onset,
        own_service: &str,
        culprits: &[ReplicaId],
    ) -> Option<SuspectEvent> {
        let is_unused = |version: &str| self.versions.is_unused(&event.service, version);
        if event.source == SystemEventSource::Spans && event.version.as_deref().is_some_and(is_unused) {
            return None;
        }
        let version =
            event.version.as_deref().filter(|_| event.service == own_service && !culprits.is_empty());
        let running = version
            .and_then(|version| self.versions.running(&event.service, version, culprits, onset.earliest));
        let all_run_others =
            running.is_some_and(|running| running.replicas == 0 && running.of == culprits.len() as u64);
        (!all_run_others).then(|| SuspectEvent {
            event: event.clone(),
            before_s: onset.at.since(event.at()).ns() as f64 / 1e9,
            is_within_onset: (onset.earliest..=onset.latest).contains(&event.at()),
            suspected_running: running,
        })
    }
}

/// Since when a suspect is slow or fails: its onset, or that of the only period in which it is slow. With several periods, an
/// event near one of them says little.
fn onset_of(context: &Context<'_>, suspect: &FoundSuspect) -> Option<Onset> {
    let key = context.requests.names().operation_key(suspect.operation);
    let of_period = || match incidents_of(&context.answer.incidents, key.service, key.operation).as_slice() {
        [only] => only.onset,
        _ => None,
    };
    let is_known = |onset: &Onset| onset.latest.since(onset.earliest).magnitude() <= ONSET_LENGTH_MAX;
    suspect.onset.or_else(of_period).filter(is_known)
}

/// Whether an event lies inside the interval of an onset or shortly before it.
fn fits(onset: &Onset, event: Timestamp) -> bool {
    (onset.earliest.minus(BEFORE_MAX)..=onset.latest).contains(&event)
}

/// Whether a version that spans report is that of a declared deployment.
fn is_same_deployment(declared: &SystemEvent, new: &SystemEvent) -> bool {
    declared.kind == SystemEventKind::Deployment
        && declared.service == new.service
        && declared.version == new.version
        && new.at().since(declared.at()).magnitude() <= SAME_DEPLOYMENT
}

/// The suspect's service, the other side of its link, and the services that its operation calls.
fn services_of<'a>(context: &'a Context<'_>, suspect: &'a FoundSuspect) -> BTreeSet<&'a str> {
    let names = context.requests.names();
    let service = |operation: OperationId| names.operation_key(operation).service;
    let own = service(suspect.operation);
    let mut services = BTreeSet::from([own]);
    if let Some(between) = &suspect.between {
        services.extend([between.caller_service.as_str(), between.callee_service.as_str()]);
    }
    for category in context.categories() {
        let positions = &category.positions;
        // Positions precede their callees: whether each is the operation, or called by it within its service.
        let mut is_inside: Vec<bool> = Vec::with_capacity(positions.len());
        for position in positions {
            let is_called = position.parent.is_some_and(|parent| is_inside[parent as usize]);
            let service_id = service(position.operation);
            if is_called {
                services.insert(service_id);
            }
            is_inside.push(position.operation == suspect.operation || (is_called && service_id == own));
        }
    }
    services
}
