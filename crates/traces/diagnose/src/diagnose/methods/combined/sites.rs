//! Suspects by their sites: slower on some replicas, than in the baseline, or in a period.

use super::site_study::SiteStudy;
use crate::diagnose::answer::{SiteFigures, SurveyResult, Suspect, SuspectReplica};
use crate::diagnose::question::DiagnoseQuestion;
use laggard_assembly::ShapeRule;
use laggard_localize::{
    Culprit, Excess, RequestRow, Site, SiteRequest, SiteSuspect, Spread, add_up_suspects, join_suspects,
};
use laggard_model::{OperationId, ReplicaId};
use laggard_report::{Between, CulpritReplica, LinkEnd, Onset, Shift, SlowCalls};
use std::collections::BTreeSet;

/// Suspects by their sites, one per operation; without evidence and score.
pub(super) fn suspects(
    question: &DiagnoseQuestion<'_>,
    surveyed: &SurveyResult,
    study: &SiteStudy,
) -> Vec<Suspect> {
    let culprits = &question.settings.sites.culprits;
    let is_compared = study.window.requests.len() >= culprits.observations_min;
    let adapter = Adapter { surveyed, study, is_compared };
    by_operation(question, study).iter().map(|suspect| adapter.suspect(suspect)).collect()
}

/// One suspect per operation. Those with little of the slowdown are left out.
fn by_operation(question: &DiagnoseQuestion<'_>, study: &SiteStudy) -> Vec<SiteSuspect> {
    let total: f64 = study.shifted.iter().map(|suspect| suspect.excess_ns).sum();
    let share_min = question.settings.sites.share_min;
    let shifted = study.shifted.iter().filter(|suspect| suspect.excess_ns >= share_min * total);
    let incidents = study.incidents.iter().flat_map(|(_, suspects)| suspects.iter().cloned());
    let incidents = add_up_suspects(incidents.collect());
    let by_attribute = study.uneven_values.iter().map(|one| &one.found.suspect);
    join_suspects(shifted.chain(&study.uneven).chain(&incidents).chain(by_attribute).cloned().collect())
}

/// Suspects in the numbers of the surveyed categories.
pub(super) struct Adapter<'a> {
    pub(super) surveyed: &'a SurveyResult,
    pub(super) study: &'a SiteStudy,
    /// Whether there were enough requests to compare replicas.
    pub(super) is_compared: bool,
}

impl Adapter<'_> {
    fn suspect(&self, suspect: &SiteSuspect) -> Suspect {
        let requests = &self.study.window.requests;
        let hit: BTreeSet<(usize, u32)> = (suspect.hit.iter())
            .filter_map(|&request| surveyed_request(self.surveyed, self.study, &requests[request as usize]))
            .collect();
        let categories: BTreeSet<usize> = hit.iter().map(|&(category, _)| category).collect();
        let called = |category: usize| self.positions(category, suspect.operation);
        let replicas = self.replicas(suspect);
        Suspect {
            operation: suspect.operation,
            evidence: Vec::new(),
            spread: self.spread(suspect, replicas.len()),
            culprits: suspect.culprits.iter().map(|culprit| culprit.replica).collect(),
            positions: categories.iter().flat_map(|&category| called(category)).collect(),
            categories: categories.into_iter().collect(),
            excess: Excess {
                calls: suspect.hit.len() as u64,
                total_ns: suspect.excess_ns,
                median_ns: suspect.effect_ns,
                median_factor: suspect.factor,
            },
            hit: hit.into_iter().collect(),
            replicas,
            stands_out: false,
            score: 0.0,
            between: between(self.study, suspect),
            onset: self.onset(suspect).map(onset),
            behavior: Vec::new(),
            sites: Some(self.figures(suspect)),
            hits: None,
            attributes: Vec::new(),
            load: None,
            in_succession: false,
        }
    }

    /// `(category, position)` of the calls of an operation in a category.
    pub(super) fn positions(
        &self,
        category: usize,
        operation: OperationId,
    ) -> impl Iterator<Item = (usize, u32)> + '_ {
        let positions = self.surveyed.categories[category].positions.iter().enumerate();
        let here = positions.filter(move |(_, position)| position.operation == operation);
        here.map(move |(position, _)| (category, position as u32))
    }

    /// Since when it is slow, unless it is slow in periods only.
    fn onset(&self, suspect: &SiteSuspect) -> Option<laggard_localize::Onset> {
        let by_value = self.study.uneven_values.iter().map(|one| &one.found.suspect);
        let mut throughout = self.study.shifted.iter().chain(&self.study.uneven).chain(by_value);
        throughout.any(|known| known.operation == suspect.operation).then_some(())?;
        self.study.onset(*suspect.sites.first()?)
    }

    fn spread(&self, suspect: &SiteSuspect, replicas: usize) -> Spread {
        match (suspect.culprits.is_empty(), self.is_compared || replicas < 2) {
            (false, _) => Spread::Localized,
            (true, true) => Spread::Everywhere,
            (true, false) => Spread::Undecided,
        }
    }

    /// The replicas with calls at the suspect's first site; their figures follow from the calls that are hit.
    fn replicas(&self, suspect: &SiteSuspect) -> Vec<SuspectReplica> {
        let window = &self.study.window;
        let homes: BTreeSet<_> = window.homes_of(suspect.operation).collect();
        let site = if suspect.culprits.is_empty() { suspect.sites.first() } else { suspect.sites.last() };
        let rows = site.map_or(&[][..], |&site| window.rows_of(site));
        let sets: BTreeSet<u32> = rows.iter().map(|row| row.set).collect();
        let replicas: BTreeSet<ReplicaId> =
            sets.iter().flat_map(|&set| &window.sets[set as usize]).copied().collect();
        let replica = |&replica: &ReplicaId| {
            let culprit = suspect.culprits.iter().find(|culprit| culprit.replica == replica);
            SuspectReplica {
                replica,
                is_culprit: culprit.is_some(),
                p_value: culprit.map(|culprit| culprit.p_adjusted),
                calls: 0,
                slow_calls: 0,
                score: 0,
                excess_total_ns: 0.0,
                excess_median_ns: 0.0,
                factor: None,
            }
        };
        replicas.intersection(&homes).map(replica).collect()
    }

    fn figures(&self, suspect: &SiteSuspect) -> SiteFigures {
        SiteFigures {
            sites: suspect.sites.clone(),
            culprits: suspect.culprits.iter().map(|culprit| self.culprit(culprit)).collect(),
            shift: suspect.shift.map(|shift| Shift {
                factor: shift.factor,
                factor_low: shift.factor_low,
                factor_high: shift.factor_high,
                p_value: shift.p_adjusted,
                baseline_calls: shift.baseline_calls,
            }),
            slow_calls: suspect.slow_calls.map(|slow| SlowCalls {
                share: slow.share,
                usual_share: slow.usual_share,
                p_value: slow.p_adjusted,
            }),
        }
    }

    fn culprit(&self, culprit: &Culprit) -> CulpritReplica {
        CulpritReplica {
            replica: self.study.union.names().replica_name(culprit.replica).to_owned(),
            factor: culprit.factor,
            factor_low: culprit.factor_low,
            factor_high: culprit.factor_high,
            p_value: culprit.p_adjusted,
            observations: culprit.observations,
        }
    }
}

/// `(category, row)` of a request of the window among the surveyed categories, if it was gathered.
pub(super) fn surveyed_request(
    surveyed: &SurveyResult,
    study: &SiteStudy,
    request: &SiteRequest,
) -> Option<(usize, u32)> {
    let categories = &surveyed.categories;
    let row = |category: usize| {
        let key = |row: &RequestRow| (row.start, row.trace);
        let rows = &categories[category].requests;
        let row = rows.binary_search_by_key(&(request.start, request.trace), key).ok()?;
        Some((category, row as u32))
    };
    if surveyed.rule != ShapeRule::Canonical {
        // The table of sites groups by the canonical shape: its ids of categories are others.
        return (0..categories.len()).rev().find_map(row);
    }
    let id = study.window.categories[request.category as usize];
    row(categories.binary_search_by_key(&id, |category| category.id).ok()?)
}

/// Caller and callee, if most of the operation's time is spent between it and a single callee.
pub(super) fn link_of(study: &SiteStudy, operation: OperationId) -> Option<Between> {
    let table = &study.window;
    let self_rows = table.by_site().find(|(site, _)| *site == Site::Operation(operation));
    let is_link = |site: &Site| matches!(*site, Site::Link { caller, .. } if caller == operation);
    let links = table.by_site().filter(|(site, _)| is_link(site));
    let (site, rows) = links.max_by_key(|(_, rows)| rows.len())?;
    match site {
        Site::Link { caller, callee } if rows.len() > self_rows.map_or(0, |(_, rows)| rows.len()) => {
            Some(between_operations(study, (caller, callee), LinkEnd::Unknown))
        }
        _ => None,
    }
}

/// Caller and callee, if the suspect's first site is the link between them.
pub(super) fn between(study: &SiteStudy, suspect: &SiteSuspect) -> Option<Between> {
    let Some(&Site::Link { caller, callee }) = suspect.sites.first() else { return None };
    let end = match suspect.operation {
        _ if suspect.is_end_unknown => LinkEnd::Unknown,
        operation if operation == caller => LinkEnd::Caller,
        _ => LinkEnd::Callee,
    };
    Some(between_operations(study, (caller, callee), end))
}

/// Decides what the culprits say about each other, and about the ends of a link.
pub(super) fn describe_culprits(study: &SiteStudy, suspect: &mut Suspect) {
    suspect.in_succession = study.window.ran_in_succession(suspect.operation, &suspect.culprits);
    decide_end(study, suspect);
}

/// Where nothing else shows which end of a link is the cause, culprit replicas do, unless they run the operation at the other end
/// as well.
fn decide_end(study: &SiteStudy, suspect: &mut Suspect) {
    let Some(between) = &mut suspect.between else { return };
    if between.end != LinkEnd::Unknown || suspect.culprits.is_empty() {
        return;
    }
    let names = study.union.names();
    let is = |operation: OperationId, service: &str, name: &str| {
        let key = names.operation_key(operation);
        (key.service, key.operation) == (service, name)
    };
    let (end, service, name) = match is(suspect.operation, &between.caller_service, &between.caller_operation)
    {
        true => (LinkEnd::Caller, &between.callee_service, &between.callee_operation),
        false => (LinkEnd::Callee, &between.caller_service, &between.caller_operation),
    };
    let homes = study.window.homes.iter().filter(|&&(operation, _)| is(operation, service, name));
    let other_end: BTreeSet<ReplicaId> = homes.map(|&(_, replica)| replica).collect();
    if !suspect.culprits.iter().all(|culprit| other_end.contains(culprit)) {
        between.end = end;
    }
}

fn between_operations(
    study: &SiteStudy,
    (caller, callee): (OperationId, OperationId),
    end: LinkEnd,
) -> Between {
    let names = study.union.names();
    let (caller, callee) = (names.operation_key(caller), names.operation_key(callee));
    Between {
        caller_service: caller.service.to_owned(),
        caller_operation: caller.operation.to_owned(),
        callee_service: callee.service.to_owned(),
        callee_operation: callee.operation.to_owned(),
        end,
    }
}

/// An onset, as in the report.
pub(super) fn onset(onset: laggard_localize::Onset) -> Onset {
    Onset { at: onset.at, earliest: onset.earliest, latest: onset.latest }
}
