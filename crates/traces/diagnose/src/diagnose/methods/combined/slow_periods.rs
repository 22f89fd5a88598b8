//! Slow periods of the window, and who is slow in them.

use crate::diagnose::question::DiagnoseQuestion;
use laggard_localize::{
    FirstCalls, Incident, ReplicaPeriod, Site, SiteRequest, SiteSuspect, SiteTable, changed_replica_suspects,
    find_incidents, find_onset, find_replica_periods, join_suspects, shifted_suspects, uneven_suspects,
};
use laggard_model::{OperationId, ServiceId, Timestamp};
use std::collections::BTreeSet;
use std::ops::Range;

/// A culprit is standing when its factor in the baseline was at least this part of the current one, on the log scale.
pub(super) const STANDING_PART: f64 = 0.5;

/// Slow bins of a period that is reported in a comparison with a baseline: jobs and caches make single minutes slow all the
/// time.
const BINS_MIN: usize = 2;

/// Slow periods with the operations that are slower there than outside all of them and than in the baseline, unless the baseline
/// has periods in which they are as slow.
pub(super) fn against_baseline(
    window: &SiteTable,
    baseline: &SiteTable,
    services: &[ServiceId],
    question: &DiagnoseQuestion<'_>,
) -> Vec<(Incident, Vec<SiteSuspect>)> {
    let enough = question.settings.sites.change.requests_min;
    if window.requests.len().min(baseline.requests.len()) < enough {
        return Vec::new();
    }
    let mut found = find(window, services, question);
    found
        .iter_mut()
        .filter(|(incident, _)| incident.bins < BINS_MIN)
        .for_each(|(_, suspects)| suspects.clear());
    for (incident, suspects) in found.iter_mut().filter(|(_, suspects)| !suspects.is_empty()) {
        let (inside, numbers) = part_of(window, &time_of(incident));
        let threads = question.engine.threads();
        let mut slower =
            shifted_suspects(baseline, &inside, services, &question.settings.sites, threads).suspects;
        slower.retain(|now| suspects.iter().any(|suspect| suspect.operation == now.operation));
        number_hits(&mut slower, &numbers);
        *suspects = slower;
    }
    if found.iter().any(|(_, suspects)| !suspects.is_empty()) {
        remove_usual(&mut found, &find(baseline, services, question));
    }
    found
}

/// Removes suspects that are as slow in periods of the baseline.
fn remove_usual(found: &mut [(Incident, Vec<SiteSuspect>)], usual: &[(Incident, Vec<SiteSuspect>)]) {
    let is_usual = |now: &SiteSuspect| {
        let usual = usual.iter().flat_map(|(_, suspects)| suspects);
        let mut before = usual.filter(|before| before.operation == now.operation);
        before.any(|before| before.factor.ln() >= STANDING_PART * now.factor.ln())
    };
    found.iter_mut().for_each(|(_, suspects)| suspects.retain(|suspect| !is_usual(suspect)));
}

fn time_of(incident: &Incident) -> Range<Timestamp> {
    incident.since..incident.until
}

/// Requests in the table of a period have other numbers than in that of the window.
fn number_hits(suspects: &mut [SiteSuspect], numbers: &[u32]) {
    for suspect in suspects {
        suspect.hit.iter_mut().for_each(|request| *request = numbers[*request as usize]);
    }
}

fn with_onset(incident: Incident, suspects: &[SiteSuspect], window: &SiteTable) -> Incident {
    let onset = suspects.first().and_then(|lead| {
        let length = incident.until.since(incident.since).magnitude();
        find_onset(window, lead.sites[0], incident.since.minus(length), incident.until)
    });
    Incident { onset, ..incident }
}

/// The requests of a slow period, and their numbers in the window.
fn part_of(window: &SiteTable, time: &Range<Timestamp>) -> (SiteTable, Vec<u32>) {
    let within = |request: &SiteRequest| time.contains(&request.start);
    let numbered = window.requests.iter().zip(0..).filter(|(request, _)| within(request));
    (window.only(within), numbered.map(|(_, number)| number).collect())
}

/// Slow periods, each compared with the time outside all of them.
pub(super) fn find(
    window: &SiteTable,
    services: &[ServiceId],
    question: &DiagnoseQuestion<'_>,
) -> Vec<(Incident, Vec<SiteSuspect>)> {
    let settings = &question.settings.sites;
    let periods = find_incidents(window, &settings.scan, question.engine.threads());
    let within = |incident: &Incident, request: &SiteRequest| time_of(incident).contains(&request.start);
    if periods.is_empty() {
        return Vec::new();
    }
    let outside = window.only(|request| !periods.iter().any(|incident| within(incident, request)));
    let first_calls = FirstCalls::new(window, None, question.engine.threads());
    let study = |incident: &Incident| {
        let (inside, numbers) = part_of(window, &time_of(incident));
        let shifted = shifted_suspects(&outside, &inside, services, settings, question.engine.threads());
        let mut suspects = shifted.suspects;
        let total: f64 = suspects.iter().map(|suspect| suspect.excess_ns).sum();
        suspects.retain(|suspect| suspect.excess_ns >= settings.share_min * total);
        number_hits(&mut suspects, &numbers);
        let is_cold_start =
            |suspect: &SiteSuspect| first_calls.explain(incident, window, &suspect.sites, &suspect.hit);
        suspects.retain(|suspect| !is_cold_start(suspect));
        (with_onset(incident.clone(), &suspects, window), suspects)
    };
    periods.iter().map(study).collect()
}

/// Periods in which replicas are slower than their peers, although they are not over the whole window, with the operations concerned. Those in
/// `known` are left out.
pub(super) fn replica_periods(
    window: &SiteTable,
    baseline: Option<&SiteTable>,
    known: &BTreeSet<OperationId>,
    question: &DiagnoseQuestion<'_>,
) -> Vec<(Incident, Vec<SiteSuspect>)> {
    let mut found = replica_periods_of(window, baseline, known, question);
    if let Some(baseline) = baseline.filter(|_| found.iter().any(|(_, suspects)| !suspects.is_empty())) {
        let usual = replica_periods_of(baseline, None, &BTreeSet::new(), question);
        remove_usual(&mut found, &usual);
    }
    found.retain(|(_, suspects)| !suspects.is_empty());
    found
}

fn replica_periods_of(
    window: &SiteTable,
    baseline: Option<&SiteTable>,
    known: &BTreeSet<OperationId>,
    question: &DiagnoseQuestion<'_>,
) -> Vec<(Incident, Vec<SiteSuspect>)> {
    let (settings, threads) = (&question.settings.sites, question.engine.threads());
    let periods = find_replica_periods(window, known, settings, threads);
    if periods.is_empty() {
        return Vec::new();
    }
    let first_calls = FirstCalls::new(window, None, threads);
    let study = |ReplicaPeriod { time, operations }: ReplicaPeriod| {
        let (inside, numbers) = part_of(window, &time);
        let mut suspects = uneven_suspects(&inside, settings, threads);
        // A difference that is too small to matter by itself does if it is new.
        if let Some(baseline) = baseline {
            suspects.extend(changed_replica_suspects(baseline, &inside, settings, threads));
        }
        let is_found = |site: &Site| operations.contains(&site.operation());
        suspects.retain(|suspect| suspect.sites.iter().any(is_found) && !known.contains(&suspect.operation));
        suspects = join_suspects(suspects);
        number_hits(&mut suspects, &numbers);
        let excess_ns: f64 = suspects.iter().map(|suspect| suspect.excess_ns).sum();
        let hit: BTreeSet<u32> = suspects.iter().flat_map(|suspect| suspect.hit.iter().copied()).collect();
        let requests = hit.iter().map(|&request| &window.requests[request as usize]);
        let latency_ns: f64 = requests.map(|request| f64::from(request.weight) * request.latency_ns).sum();
        let length = time.end.since(time.start).magnitude();
        let incident = Incident {
            bins: (length.ns() / settings.scan.bin.ns().max(1)) as usize,
            excess_share: excess_ns / (latency_ns - excess_ns).max(1.0),
            since: time.start,
            until: time.end,
            onset: None,
        };
        suspects.retain(|suspect| !first_calls.explain(&incident, window, &suspect.sites, &suspect.hit));
        (with_onset(incident, &suspects, window), suspects)
    };
    periods.into_iter().map(study).collect()
}

/// Adds periods to others, in order of time. An operation that is slow in two periods that overlap is so on the replicas of the former.
pub(super) fn add_replica_periods(
    incidents: &mut Vec<(Incident, Vec<SiteSuspect>)>,
    of_replicas: Vec<(Incident, Vec<SiteSuspect>)>,
) {
    for (period, suspects) in of_replicas {
        let time = time_of(&period);
        let overlapping = |known: &Incident| known.since < time.end && time.start < known.until;
        let is_same = |other: &SiteSuspect| suspects.iter().any(|one| one.operation == other.operation);
        incidents.retain_mut(|(known, others)| {
            others.retain(|other| !(overlapping(known) && is_same(other)));
            !overlapping(known) || !others.is_empty()
        });
        incidents.push((period, suspects));
    }
    incidents.sort_by_key(|(incident, _)| incident.since);
}
