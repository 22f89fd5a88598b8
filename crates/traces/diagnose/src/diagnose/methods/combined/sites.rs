//! Suspects by their sites: slower on some replicas, than in the baseline, or in a period.

use super::site_study::SiteStudy;
use crate::diagnose::answer::{RequestCounts, SiteFigures, SurveyResult, Suspect, SuspectReplica};
use crate::diagnose::question::DiagnoseQuestion;
use laggard_assembly::ShapeRule;
use laggard_localize::{
    Culprit, Excess, ReplicaLevel, RequestRow, Site, SiteRequest, SiteSuspect, Spread, add_up_suspects,
    join_suspects, replica_levels,
};
use laggard_model::{OperationId, TraceId};
use laggard_report::{Between, CulpritReplica, Onset, Shift};
use std::collections::BTreeSet;

/// Most example traces per suspect.
const TRACES_MAX: usize = 5;

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
    join_suspects(shifted.chain(&study.uneven).chain(&incidents).cloned().collect())
}

struct Adapter<'a> {
    surveyed: &'a SurveyResult,
    study: &'a SiteStudy,
    /// Whether there were enough requests to compare replicas.
    is_compared: bool,
}

impl Adapter<'_> {
    fn suspect(&self, suspect: &SiteSuspect) -> Suspect {
        let requests = &self.study.window.requests;
        let hit: BTreeSet<(usize, u32)> = (suspect.hit.iter())
            .filter_map(|&request| self.surveyed_request(&requests[request as usize]))
            .collect();
        let categories: BTreeSet<usize> = hit.iter().map(|&(category, _)| category).collect();
        let called = |category: usize| {
            let positions = self.surveyed.categories[category].positions.iter().enumerate();
            let here = positions.filter(|(_, position)| position.operation == suspect.operation);
            here.map(move |(position, _)| (category, position as u32))
        };
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
            sites: Some(self.figures(suspect)),
        }
    }

    /// `(category, row)` of a request of the window among the surveyed categories, if it was gathered.
    fn surveyed_request(&self, request: &SiteRequest) -> Option<(usize, u32)> {
        let categories = &self.surveyed.categories;
        let row = |category: usize| {
            let key = |row: &RequestRow| (row.start, row.trace);
            let rows = &categories[category].requests;
            let row = rows.binary_search_by_key(&(request.start, request.trace), key).ok()?;
            Some((category, row as u32))
        };
        if self.surveyed.rule != ShapeRule::Canonical {
            // The table of sites groups by the canonical shape: its ids of categories are others.
            return (0..categories.len()).rev().find_map(row);
        }
        let id = self.study.window.categories[request.category as usize];
        row(categories.binary_search_by_key(&id, |category| category.id).ok()?)
    }

    fn spread(&self, suspect: &SiteSuspect, replicas: usize) -> Spread {
        match (suspect.culprits.is_empty(), self.is_compared || replicas < 2) {
            (false, _) => Spread::Localized,
            (true, true) => Spread::Everywhere,
            (true, false) => Spread::Undecided,
        }
    }

    fn replicas(&self, suspect: &SiteSuspect) -> Vec<SuspectReplica> {
        let homes: BTreeSet<_> = self.study.window.homes_of(suspect.operation).collect();
        let site = if suspect.culprits.is_empty() { suspect.sites.first() } else { suspect.sites.last() };
        let levels = site.map_or_else(Vec::new, |&site| replica_levels(&self.study.window, site));
        let replica = |level: &ReplicaLevel| {
            let culprit = suspect.culprits.iter().find(|culprit| culprit.replica == level.replica);
            SuspectReplica {
                replica: level.replica,
                is_culprit: culprit.is_some(),
                calls: level.observations,
                slow_calls: level.slow,
                p_value: culprit.map(|culprit| culprit.p_adjusted),
                score: 1,
                excess_total_ns: suspect.excess_ns / suspect.culprits.len().max(1) as f64,
                excess_median_ns: suspect.effect_ns,
                factor: Some(level.factor),
            }
        };
        levels.iter().filter(|level| homes.contains(&level.replica)).map(replica).collect()
    }

    fn figures(&self, suspect: &SiteSuspect) -> SiteFigures {
        let requests = &self.study.window.requests;
        let hit = || suspect.hit.iter().map(|&request| &requests[request as usize]);
        let mut slowest: Vec<(f64, TraceId)> =
            hit().map(|request| (request.latency_ns, request.trace)).collect();
        slowest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        slowest.dedup_by_key(|&mut (_, trace)| trace);
        let rows = suspect.sites.iter().flat_map(|&site| self.study.window.rows_of(site));
        let mut requests: Vec<u32> = rows.map(|row| row.request).collect();
        // Stable, because it merges lists that are sorted by site.
        requests.sort();
        requests.dedup();
        SiteFigures {
            requests: RequestCounts {
                hit: suspect.hit.len() as u64,
                hit_estimated: hit().fold(0.0, |sum, request| sum + f64::from(request.weight)),
                seen: requests.len() as u64,
            },
            traces: slowest.into_iter().take(TRACES_MAX).map(|(_, trace)| trace).collect(),
            culprits: suspect.culprits.iter().map(|culprit| self.culprit(culprit)).collect(),
            shift: suspect.shift.map(|shift| Shift {
                factor: shift.factor,
                factor_low: shift.factor_low,
                factor_high: shift.factor_high,
                p_value: shift.p_adjusted,
                baseline_calls: shift.baseline_calls,
            }),
            onset: suspect.sites.first().and_then(|&site| self.study.onset(site)).map(onset),
            is_chain: suspect.sites.iter().any(|site| matches!(site, Site::Chain(_))),
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

/// Caller and callee, if most of the operation's time is spent between it and a single callee.
pub(super) fn link_of(study: &SiteStudy, operation: OperationId) -> Option<Between> {
    let table = &study.window;
    let self_rows = table.by_site().find(|(site, _)| *site == Site::Operation(operation));
    let is_link = |site: &Site| matches!(*site, Site::Link { caller, .. } if caller == operation);
    let links = table.by_site().filter(|(site, _)| is_link(site));
    let (site, rows) = links.max_by_key(|(_, rows)| rows.len())?;
    match site {
        Site::Link { caller, callee } if rows.len() > self_rows.map_or(0, |(_, rows)| rows.len()) => {
            Some(between_operations(study, caller, callee))
        }
        _ => None,
    }
}

/// Caller and callee, if the suspect's first site is the link between them.
pub(super) fn between(study: &SiteStudy, suspect: &SiteSuspect) -> Option<Between> {
    let Some(&Site::Link { caller, callee }) = suspect.sites.first() else { return None };
    Some(between_operations(study, caller, callee))
}

fn between_operations(study: &SiteStudy, caller: OperationId, callee: OperationId) -> Between {
    let names = study.union.names();
    let (caller, callee) = (names.operation_key(caller), names.operation_key(callee));
    Between {
        caller_service: caller.service.to_owned(),
        caller_operation: caller.operation.to_owned(),
        callee_service: callee.service.to_owned(),
        callee_operation: callee.operation.to_owned(),
    }
}

/// An onset, as in the report.
pub(super) fn onset(onset: laggard_localize::Onset) -> Onset {
    Onset { at: onset.at, earliest: onset.earliest, latest: onset.latest }
}
