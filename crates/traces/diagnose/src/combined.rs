//! The default: whatever evidence there is, in one list.
//!
//! ```text
//! CloudDiag ── some requests are slower than others of their shape ─┐
//! peers ────── some replicas are slower than others ────────────────┤  join by operation, rank by
//! baseline ─── slower than before ──────────────────────────────────┤  time on the critical path
//! periods ──── slower than in the rest of the window ───────────────┘
//! ```

use crate::clouddiag::{cautions, judged, ruled_out};
use crate::combined_patterns::pattern_suspects;
use crate::combined_sites::SiteStudy;
use crate::findings::{Detail, Findings, RequestCounts};
use crate::report::{Context, counted, report};
use crate::scan::{Question, Scanned};
use laggard_localize::{
    Culprit, Excess, Mode, ReplicaCell, ReplicaRate, ReplicaTest, RequestRow, Site, SiteRequest, SiteSuspect,
    Spread, SuspectOperation, add_up_suspects, cloud_diag, find_frequent_culprits, join_suspects,
    long_calls_rose, replica_levels,
};
use laggard_model::{OperationId, TraceId};
use laggard_report::{
    Baseline, Between, CulpritReplica, Incident, IncidentSuspect, Onset, Report, Shift, Window, rfc3339,
};
use std::collections::{BTreeMap, BTreeSet};

/// Answers a question with everything there is.
pub(crate) fn diagnose(question: &Question<'_>) -> Report {
    let settings = &question.settings.clouddiag;
    let scanned = question.scan(settings.requests_min);
    let answer = cloud_diag(&scanned.categories, settings, question.engine.threads());
    let study = SiteStudy::of(question);
    let mut found = Findings {
        ruled_out: ruled_out(question, &scanned, &answer),
        cautions: cautions(&answer),
        categories: answer.categories.iter().map(judged).collect(),
        excess_ns: answer.excess_ns,
        baseline: baseline(&study),
        incidents: study
            .incidents
            .iter()
            .map(|(incident, found)| describe(&study, incident, found))
            .collect(),
        enough: study.window.requests.len() >= question.settings.sites.culprits.observations_min,
        ..Findings::default()
    };
    found.cautions.extend(too_small(&study, question));
    if study.left_out > 0 {
        found.cautions.push(format!(
            "{} in slow periods outside the window {} left out of the baseline.",
            counted(study.left_out, "request", "requests"),
            if study.left_out == 1 { "was" } else { "were" }
        ));
    }
    let joiner = Joiner { question, scanned: &scanned, study: &study };
    joiner.join(answer.suspects, &mut found);
    report(&Context { question, survey: &scanned.survey, categories: &scanned.categories, found: &found })
}

fn too_small(study: &SiteStudy, question: &Question<'_>) -> Option<String> {
    let requests = study.baseline.as_ref()?.requests.len();
    let needed = question.settings.sites.change.requests_min;
    (requests < needed).then(|| {
        format!(
            "The baseline has {}; {needed} are needed to compare.",
            counted(requests, "request", "requests")
        )
    })
}

fn baseline(study: &SiteStudy) -> Option<Baseline> {
    let (table, change) = (study.baseline.as_ref()?, study.change?);
    let window = table.requests.first().zip(table.requests.last()).map(|(first, last)| Window {
        since_ns: first.start.unix_ns(),
        until_ns: last.start.unix_ns(),
        since: rfc3339(first.start),
        until: rfc3339(last.start),
    });
    Some(Baseline {
        requests: table.requests.len() as u64,
        window,
        mean_ns: change.baseline_mean_ns,
        window_mean_ns: change.window_mean_ns,
        slower_ns: change.slower_mean_ns,
        mix_ns: change.mix_mean_ns,
    })
}

/// Suspects an incident shows.
const INCIDENT_SUSPECTS_MAX: usize = 5;

fn describe(study: &SiteStudy, incident: &laggard_localize::Incident, found: &[SiteSuspect]) -> Incident {
    let total: f64 = found.iter().map(|suspect| suspect.excess_ns).sum();
    let names = study.union.names();
    let suspect = |suspect: &SiteSuspect| {
        let key = names.operation_key(suspect.operation);
        IncidentSuspect {
            service: key.service.to_owned(),
            operation: key.operation.to_owned(),
            between: between(study, suspect),
            factor: suspect.factor,
            effect_ns: suspect.effect_ns.max(0.0) as u64,
            share: suspect.excess_ns / total.max(1.0),
        }
    };
    Incident {
        since_ns: incident.since.unix_ns(),
        until_ns: incident.until.unix_ns(),
        since: rfc3339(incident.since),
        until: rfc3339(incident.until),
        excess_share: incident.excess_share,
        onset: incident.onset.map(onset),
        suspects: found.iter().take(INCIDENT_SUSPECTS_MAX).map(suspect).collect(),
    }
}

fn onset(found: laggard_localize::Onset) -> Onset {
    Onset {
        at_ns: found.at.unix_ns(),
        earliest_ns: found.earliest.unix_ns(),
        latest_ns: found.latest.unix_ns(),
        at: rfc3339(found.at),
        earliest: rfc3339(found.earliest),
        latest: rfc3339(found.latest),
    }
}

fn between(study: &SiteStudy, suspect: &SiteSuspect) -> Option<Between> {
    let Some(&Site::Link { caller, callee }) = suspect.sites.first() else { return None };
    Some(between_operations(study, caller, callee))
}

fn between_operations(study: &SiteStudy, caller: OperationId, callee: OperationId) -> Between {
    let (caller, callee) =
        (study.union.names().operation_key(caller), study.union.names().operation_key(callee));
    Between {
        caller_service: caller.service.to_owned(),
        caller_operation: caller.operation.to_owned(),
        callee_service: callee.service.to_owned(),
        callee_operation: callee.operation.to_owned(),
    }
}

/// Most example traces a suspect shows.
const TRACES_MAX: usize = 5;

struct Joiner<'a> {
    question: &'a Question<'a>,
    scanned: &'a Scanned,
    study: &'a SiteStudy,
}

impl Joiner<'_> {
    /// Joins what CloudDiag found with what the sites say.
    fn join(&self, dispersed: Vec<SuspectOperation>, found: &mut Findings) {
        let by_site = self.by_site();
        let mut evidence: BTreeMap<OperationId, Vec<&'static str>> = BTreeMap::new();
        let mut note = |operations: &mut dyn Iterator<Item = OperationId>, word| {
            for operation in operations {
                let words = evidence.entry(operation).or_default();
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        };
        let patterned = pattern_suspects(
            &self.scanned.categories,
            &self.question.settings.patterns,
            self.question.engine,
        );
        note(&mut dispersed.iter().map(|suspect| suspect.operation), "dispersion");
        note(&mut patterned.iter().map(|suspect| suspect.operation), "pattern");
        // Where CloudDiag has found an operation, it knows more about it.
        let known: BTreeSet<OperationId> = dispersed.iter().map(|suspect| suspect.operation).collect();
        let patterned = patterned.into_iter().filter(|suspect| !known.contains(&suspect.operation));
        let mut dispersed = self.still_suspect(dispersed.into_iter().chain(patterned).collect(), found);
        dispersed.iter_mut().for_each(|suspect| self.localize(suspect));
        note(&mut self.study.uneven.iter().map(|suspect| suspect.operation), "peers");
        note(&mut self.study.shifted.iter().map(|suspect| suspect.operation), "baseline");
        let incidents = self.study.incidents.iter().flat_map(|(_, suspects)| suspects);
        note(&mut incidents.map(|suspect| suspect.operation), "period");
        let mut joined: BTreeMap<OperationId, SuspectOperation> =
            dispersed.into_iter().map(|suspect| (suspect.operation, suspect)).collect();
        for suspect in &by_site {
            let own = self.suspect(suspect);
            match joined.remove(&suspect.operation) {
                None => joined.insert(suspect.operation, own),
                Some(known) => joined.insert(suspect.operation, self.merge(known, own, suspect)),
            };
        }
        let details = by_site.iter().map(|suspect| (suspect.operation, self.detail(suspect)));
        found.details = details.collect();
        for suspect in joined.values() {
            let detail = found.details.entry(suspect.operation).or_default();
            if detail.between.is_none() && !by_site.iter().any(|known| known.operation == suspect.operation) {
                detail.between = self.link_of(suspect.operation);
            }
            detail.evidence = evidence.remove(&suspect.operation).unwrap_or_default();
            detail.score = suspect.excess.total_ns / 1e9;
        }
        found.suspects = joined.into_values().collect();
        found.suspects.sort_by(|a, b| {
            b.excess.total_ns.total_cmp(&a.excess.total_ns).then(a.operation.cmp(&b.operation))
        });
        if let Some(change) = self.study.change {
            found.excess_ns = change.slower_ns.max(0.0);
        }
        let largest = found.suspects.iter().map(|suspect| suspect.excess.total_ns).fold(0.0, f64::max);
        found.excess_ns = found.excess_ns.max(largest);
        for &operation in &self.study.standing {
            found.ruled_out.push(format!(
                "Replicas of `{}` differ, but they did so in the baseline as well.",
                self.text(operation)
            ));
        }
    }

    /// Suspects by their sites, one an operation. What holds little of the slowdown is left out.
    fn by_site(&self) -> Vec<SiteSuspect> {
        let total: f64 = self.study.shifted.iter().map(|suspect| suspect.excess_ns).sum();
        let share_min = self.question.settings.sites.share_min;
        let shifted = self.study.shifted.iter().filter(|suspect| suspect.excess_ns >= share_min * total);
        let incidents = self.study.incidents.iter().flat_map(|(_, suspects)| suspects.iter().cloned());
        let incidents = add_up_suspects(incidents.collect());
        join_suspects(shifted.chain(&self.study.uneven).chain(&incidents).cloned().collect())
    }

    /// What lies between an operation that does nothing but call another, elsewhere, and the one it calls.
    fn link_of(&self, operation: OperationId) -> Option<Between> {
        let table = &self.study.window;
        let own = table.by_site().find(|(site, _)| *site == Site::Operation(operation));
        let is_link = |site: &Site| matches!(*site, Site::Link { caller, .. } if caller == operation);
        let links = table.by_site().filter(|(site, _)| is_link(site));
        let (site, rows) = links.max_by_key(|(_, rows)| rows.len())?;
        let (caller, callee) = match site {
            Site::Link { caller, callee } if rows.len() > own.map_or(0, |(_, rows)| rows.len()) => {
                (caller, callee)
            }
            _ => return None,
        };
        Some(between_operations(self.study, caller, callee))
    }

    /// Few slow calls say where they come from, if they come from few replicas.
    fn localize(&self, suspect: &mut SuspectOperation) {
        if suspect.spread == Spread::Localized {
            return;
        }
        let rates: Vec<ReplicaRate> = (suspect.cells.iter())
            .map(|cell| ReplicaRate {
                replica: cell.test.replica,
                calls: cell.test.calls,
                slow: cell.test.exceeding,
            })
            .collect();
        let culprits = find_frequent_culprits(&rates, &self.question.settings.sites.culprits);
        if culprits.is_empty() {
            return;
        }
        suspect.spread = Spread::Localized;
        suspect.replicas = culprits.iter().map(|culprit| culprit.replica).collect();
        for cell in &mut suspect.cells {
            let culprit = culprits.iter().find(|culprit| culprit.replica == cell.test.replica);
            cell.culprit = culprit.is_some();
            if let Some(culprit) = culprit {
                cell.test.flagged = true;
                cell.test.p_adjusted = culprit.p_adjusted;
            }
        }
    }

    /// Without those that are as uneven as they were in the baseline.
    fn still_suspect(&self, suspects: Vec<SuspectOperation>, found: &mut Findings) -> Vec<SuspectOperation> {
        if self.study.change.is_none() || self.too_few_to_compare() {
            return suspects;
        }
        let slower: BTreeSet<OperationId> = (self.study.shifted.iter())
            .flat_map(|suspect| suspect.sites.iter().flat_map(|site| operations(*site)))
            .collect();
        let baseline = self.study.baseline.as_ref().expect("there is a change only against a baseline");
        let (kept, known): (Vec<_>, Vec<_>) = suspects.into_iter().partition(|suspect| {
            let factor = suspect.excess.median_factor.max(1.0).sqrt();
            slower.contains(&suspect.operation)
                || long_calls_rose(baseline, &self.study.window, suspect.operation, factor)
        });
        for suspect in known {
            found.ruled_out.push(format!(
                "Some calls of `{}` are slow, but no more than in the baseline.",
                self.text(suspect.operation)
            ));
        }
        kept
    }

    fn too_few_to_compare(&self) -> bool {
        let fewest = self.question.settings.sites.change.requests_min;
        self.study.baseline.as_ref().is_none_or(|baseline| baseline.requests.len() < fewest)
            || self.study.window.requests.len() < fewest
    }

    fn text(&self, operation: OperationId) -> String {
        let key = self.study.union.names().operation_key(operation);
        format!("{} {}", key.service, key.operation)
    }

    /// Where a request of the window is among the categories that were gathered, if it was taken.
    fn place(&self, request: &SiteRequest) -> Option<(usize, u32)> {
        let categories = &self.scanned.categories;
        let row = |at: usize| {
            let key = |row: &RequestRow| (row.start, row.trace);
            let found = categories[at].requests.binary_search_by_key(&(request.start, request.trace), key);
            Some((at, found.ok()? as u32))
        };
        if self.question.settings.clouddiag.mode == Mode::Paper {
            // Shapes by another rule than the table's: its category has another id here.
            return (0..categories.len()).rev().find_map(row);
        }
        let id = self.study.window.categories[request.category as usize];
        row(categories.binary_search_by_key(&id, |category| category.id).ok()?)
    }

    /// A suspect by its sites in CloudDiag's form.
    fn suspect(&self, suspect: &SiteSuspect) -> SuspectOperation {
        let requests = &self.study.window.requests;
        let mut hit: Vec<(usize, u32)> =
            suspect.hit.iter().filter_map(|&at| self.place(&requests[at as usize])).collect();
        hit.sort_unstable();
        let mut categories: Vec<usize> = hit.iter().map(|&(category, _)| category).collect();
        categories.dedup();
        let called = |category: usize| {
            let positions = self.scanned.categories[category].positions.iter().enumerate();
            let here = positions.filter(|(_, position)| position.operation == suspect.operation);
            here.map(move |(at, _)| (category, at as u32))
        };
        let cells = self.cells(suspect);
        SuspectOperation {
            operation: suspect.operation,
            spread: self.spread(suspect, cells.len()),
            replicas: suspect.culprits.iter().map(|culprit| culprit.replica).collect(),
            positions: categories.iter().flat_map(|&category| called(category)).collect(),
            categories,
            excess: Excess {
                calls: suspect.hit.len() as u64,
                total_ns: suspect.excess_ns,
                median_ns: suspect.effect_ns,
                median_factor: suspect.factor,
            },
            hit,
            cells,
        }
    }

    fn spread(&self, suspect: &SiteSuspect, replicas: usize) -> Spread {
        let compared =
            self.study.window.requests.len() >= self.question.settings.sites.culprits.observations_min;
        match (suspect.culprits.is_empty(), compared || replicas < 2) {
            (false, _) => Spread::Localized,
            (true, true) => Spread::Everywhere,
            (true, false) => Spread::Undecided,
        }
    }

    fn cells(&self, suspect: &SiteSuspect) -> Vec<ReplicaCell> {
        let homes: BTreeSet<_> = self.study.window.homes_of(suspect.operation).collect();
        let site = if suspect.culprits.is_empty() { suspect.sites.first() } else { suspect.sites.last() };
        let levels = site.map_or_else(Vec::new, |&site| replica_levels(&self.study.window, site));
        let cell = |level: &laggard_localize::ReplicaLevel| {
            let culprit = suspect.culprits.iter().find(|culprit| culprit.replica == level.replica);
            ReplicaCell {
                test: ReplicaTest {
                    replica: level.replica,
                    calls: level.observations,
                    exceeding: level.slow,
                    others_rate: 0.0,
                    p_exceed: 1.0,
                    p_shift: culprit.map_or(1.0, |culprit| culprit.p_adjusted),
                    p_value: culprit.map_or(1.0, |culprit| culprit.p_adjusted),
                    p_adjusted: culprit.map_or(1.0, |culprit| culprit.p_adjusted),
                    shift_factor: culprit.map_or(level.factor, |culprit| culprit.factor),
                    flagged: culprit.is_some(),
                },
                culprit: culprit.is_some(),
                categories: 1,
                excess_total_ns: suspect.excess_ns / suspect.culprits.len().max(1) as f64,
                excess_median_ns: suspect.effect_ns,
                factor_mean: level.factor,
            }
        };
        levels.iter().filter(|level| homes.contains(&level.replica)).map(cell).collect()
    }

    /// One suspect of the two: numbers of the larger excess; replicas of both, except that calls in a chain are
    /// judged as a chain only.
    fn merge(
        &self,
        dispersed: SuspectOperation,
        own: SuspectOperation,
        sites: &SiteSuspect,
    ) -> SuspectOperation {
        let chained = sites.sites.iter().any(|site| matches!(site, Site::Chain(_)));
        let mut replicas = own.replicas.clone();
        if !chained {
            let more = dispersed.replicas.iter().filter(|replica| !own.replicas.contains(replica));
            replicas.extend(more);
        }
        let spread = match (replicas.is_empty(), dispersed.spread) {
            (false, _) => Spread::Localized,
            (true, Spread::Localized) => own.spread,
            (true, spread) => spread,
        };
        let cells = if dispersed.cells.len() >= own.cells.len() && !chained { &dispersed } else { &own };
        let mut cells = cells.cells.clone();
        for cell in &mut cells {
            cell.culprit = replicas.contains(&cell.test.replica);
        }
        let larger = if dispersed.excess.total_ns > own.excess.total_ns { &dispersed } else { &own };
        let mut hit: Vec<_> = dispersed.hit.iter().chain(&own.hit).copied().collect();
        hit.sort_unstable();
        hit.dedup();
        // CloudDiag says at which positions; a site is a place in the code, wherever it is called from.
        let positions = if dispersed.positions.is_empty() { &own.positions } else { &dispersed.positions };
        let mut categories: Vec<_> = dispersed.categories.iter().chain(&own.categories).copied().collect();
        categories.sort_unstable();
        categories.dedup();
        SuspectOperation {
            operation: own.operation,
            spread,
            replicas,
            cells,
            positions: positions.clone(),
            categories,
            excess: larger.excess,
            hit,
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

    fn detail(&self, suspect: &SiteSuspect) -> Detail {
        let requests = &self.study.window.requests;
        let mut slowest: Vec<(f64, TraceId)> = (suspect.hit.iter())
            .map(|&at| (requests[at as usize].latency_ns, requests[at as usize].trace))
            .collect();
        slowest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        slowest.dedup_by_key(|&mut (_, trace)| trace);
        let rows = suspect.sites.iter().flat_map(|&site| self.study.window.rows_of(site));
        let mut seen: Vec<u32> = rows.map(|row| row.request).collect();
        // Stable, for what is sorted by site is merged.
        seen.sort();
        seen.dedup();
        Detail {
            requests: Some(RequestCounts {
                hit: suspect.hit.len() as u64,
                hit_estimated: suspect
                    .hit
                    .iter()
                    .fold(0.0, |sum, &at| sum + f64::from(requests[at as usize].weight)),
                seen: seen.len() as u64,
            }),
            traces: slowest.into_iter().take(TRACES_MAX).map(|(_, trace)| trace).collect(),
            between: between(self.study, suspect),
            evidence: Vec::new(),
            culprits: suspect.culprits.iter().map(|culprit| self.culprit(culprit)).collect(),
            shift: suspect.shift.map(|shift| Shift {
                factor: shift.factor,
                factor_low: shift.factor_low,
                factor_high: shift.factor_high,
                p_value: shift.p_adjusted,
                baseline_calls: shift.baseline_calls,
            }),
            onset: suspect.sites.first().and_then(|&site| self.study.onset(site)).map(onset),
            score: 0.0,
        }
    }
}

fn operations(site: Site) -> impl Iterator<Item = OperationId> {
    let (first, second) = match site {
        Site::Operation(operation) | Site::Chain(operation) => (operation, None),
        Site::Link { caller, callee } => (caller, Some(callee)),
    };
    std::iter::once(first).chain(second)
}
