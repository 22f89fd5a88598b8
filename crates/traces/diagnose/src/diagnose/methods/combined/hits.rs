//! Requests hit, effects, and figures of replicas and categories of every suspect: all from the same calls.
//!
//! ```text
//! sites of the suspect ─► calls in the window ──┐
//!                         normal calls:         ├─ find_hits ─► hit calls ─► requests, effects, replicas, categories
//!                         other replicas, or ───┘
//!                         the same replicas or tenant in the baseline, or
//!                         the baseline, or
//!                         outside slow periods
//! ```

use super::reference::Reference;
use super::site_study::SiteStudy;
use super::sites::surveyed_request;
use crate::diagnose::answer::{
    AffectedCategory, Effect, Evidence, HitFigures, RequestCounts, SurveyResult, Suspect, SuspectReplica,
};
use crate::diagnose::question::DiagnoseQuestion;
use crate::site_calls::SiteCall;
use laggard_assembly::ShapeRule;
use laggard_localize::{
    CallLevel, ComparedSite, FALSE_HITS_MAX, FirstCalls, Incident, Site, WindowCall, find_hits,
};
use laggard_model::{ReplicaId, TraceId};
use laggard_numeric::{Weights, binomial_upper_tail, mean, median_of, sample_std, weighted_median};
use laggard_report::{CulpritReplica, MetRequests};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// Most example traces per suspect.
const TRACES_MAX: usize = 5;
/// Level of the test that more requests of a category are hit than by chance.
const CHANCE_LEVEL: f64 = 0.05;

/// From this share of hit calls on, and below this median factor of theirs, single calls vary more than they are slower.
const MOST_CALLS: f64 = 0.5;
const SMALL_FACTOR: f64 = 1.5;

/// Calls that are hit with less than this probability do not count in the effect: of many normal calls, some have one by chance.
const WEIGHED_MIN: f32 = 0.3;

/// Larger slowdowns of requests are reported as this.
const SLOWER_MAX: f64 = 1e6;

/// Applies the one definition of a hit to suspects of every finder.
pub(super) struct HitStudy<'a> {
    pub(super) question: &'a DiagnoseQuestion<'a>,
    pub(super) surveyed: &'a SurveyResult,
    pub(super) study: &'a SiteStudy,
    pub(super) first_calls: FirstCalls,
    /// The same in the baseline, once they are needed.
    pub(super) earlier_first_calls: OnceLock<FirstCalls>,
}

/// A call of a suspect in the window.
#[derive(Clone, Copy)]
pub(super) struct LeveledCall {
    pub(super) call: SiteCall,
    /// Median time of normal calls of its category, nanoseconds; 0 if there were none.
    pub(super) usual_ns: f32,
    /// Mean time of the same calls, nanoseconds.
    pub(super) usual_mean_ns: f32,
    /// Whether it can be hit.
    pub(super) is_judged: bool,
    pub(super) is_hit: bool,
    /// As [`CallLevel::probability`].
    pub(super) probability: f32,
}

/// Time of a request's hit calls beyond the usual, nanoseconds.
#[derive(Clone, Copy, Default)]
struct RequestExcess {
    /// Beyond the median, for the typical request.
    effect_ns: f64,
    /// Beyond the mean, for sums over requests.
    lost_ns: f64,
}

impl LeveledCall {
    fn excess_ns(&self) -> f64 {
        f64::from(self.call.time_ns) - f64::from(self.usual_ns)
    }

    fn lost_ns(&self) -> f64 {
        f64::from(self.call.time_ns) - f64::from(self.usual_mean_ns)
    }

    /// The logarithm of its time over the usual time.
    pub(super) fn log_ratio(&self) -> f64 {
        f64::from(self.call.time_ns.max(1.0)).ln() - f64::from(self.usual_ns.max(1.0)).ln()
    }
}

impl HitStudy<'_> {
    /// The suspect with the figures of its hit calls.
    pub(super) fn with_hits(&self, mut suspect: Suspect) -> Suspect {
        let sites = self.sites(&suspect);
        let calls = self.calls_on_slow_replicas(&mut suspect, &sites);
        let mut excess = self.excess_by_request(&calls);
        let requests = &self.study.window.requests;
        excess.retain(|&request, _| self.study.is_complete(&requests[request as usize]));
        let figures = self.figures(&suspect, &calls, &excess);
        suspect.excess.calls = calls.iter().filter(|call| call.is_hit).count() as u64;
        if let Some(effect) = effect(calls.iter()) {
            (suspect.excess.median_ns, suspect.excess.median_factor) = (effect.excess_ns, effect.factor);
        }
        let surveyed = |&request: &u32| {
            surveyed_request(self.surveyed, self.study, &self.study.window.requests[request as usize])
        };
        let hit: BTreeSet<(usize, u32)> = excess.keys().filter_map(surveyed).collect();
        suspect.hit = hit.into_iter().collect();
        self.set_categories(&mut suspect, &figures.affected);
        let by_replica = self.by_replica(&suspect, &calls);
        suspect.replicas = self.replicas(&suspect, by_replica);
        self.set_culprits(&mut suspect, &calls);
        suspect.hits = Some(figures);
        suspect
    }

    /// The excess of each hit request: sums over its hit calls. Where most calls are hit by less than they vary anyway, it
    /// is the median excess of its categories' calls: those that are found to be hit are the longer ones.
    fn excess_by_request(&self, calls: &[LeveledCall]) -> BTreeMap<u32, RequestExcess> {
        let hits = || calls.iter().filter(|call| call.is_hit);
        let by_level = are_most_slower_by_little(calls);
        let category = |call: &LeveledCall| self.study.window.requests[call.call.request as usize].category;
        let mut levels: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        if by_level {
            hits().for_each(|call| levels.entry(category(call)).or_default().push(call.excess_ns()));
        }
        let levels: BTreeMap<u32, f64> =
            levels.into_iter().map(|(category, excess)| (category, median_of(&excess))).collect();
        let mut excess: BTreeMap<u32, RequestExcess> = BTreeMap::new();
        for call in hits() {
            let level = levels.get(&category(call)).copied();
            let sums = excess.entry(call.call.request).or_default();
            sums.effect_ns += level.unwrap_or_else(|| call.excess_ns());
            sums.lost_ns += level.unwrap_or_else(|| call.lost_ns());
        }
        excess
    }

    /// The sites that were compared; for other finders those that the operation's self time is spent at.
    fn sites(&self, suspect: &Suspect) -> Vec<Site> {
        let compared = suspect.sites.as_ref().map_or(&[][..], |figures| &figures.sites);
        let by_requests = |kind: &Evidence| matches!(kind, Evidence::Dispersion | Evidence::Pattern);
        let mut sites = compared.to_vec();
        if sites.is_empty() || suspect.evidence.iter().any(by_requests) && !sites.iter().any(is_chain) {
            let own = |site: &Site| match *site {
                Site::Operation(operation) => operation == suspect.operation,
                Site::Link { caller, .. } => caller == suspect.operation,
                Site::Chain(_) => false,
            };
            sites.extend(self.study.window.by_site().map(|(site, _)| site).filter(own));
        }
        sites.sort();
        sites.dedup();
        sites
    }

    /// All calls of a suspect in the window, with their levels, in the order of sites and requests.
    pub(super) fn calls(&self, suspect: &Suspect, sites: &[Site], reference: Reference) -> Vec<LeveledCall> {
        let mut calls: Vec<Vec<SiteCall>> = Vec::new();
        let mut compared: Vec<ComparedSite> = Vec::new();
        for &site in sites {
            let own = self.study.window_calls(self.question, site);
            compared.push(self.compared(suspect, site, &own, reference));
            calls.push(own);
        }
        let leveled = |((call, level), compared): ((SiteCall, CallLevel), WindowCall)| LeveledCall {
            call,
            usual_ns: level.usual_ns,
            usual_mean_ns: level.usual_mean_ns,
            is_judged: compared.is_judged,
            is_hit: level.is_hit,
            probability: level.probability,
        };
        let levels = find_hits(&compared);
        (calls.into_iter().zip(levels).zip(compared))
            .flat_map(|((calls, levels), compared)| calls.into_iter().zip(levels).zip(compared.calls))
            .map(leveled)
            .collect()
    }

    /// Figures over all requests, by the excess of each hit request.
    fn figures(
        &self,
        suspect: &Suspect,
        calls: &[LeveledCall],
        excess_by_request: &BTreeMap<u32, RequestExcess>,
    ) -> HitFigures {
        let requests = &self.study.window.requests;
        let mut seen: Vec<u32> = calls.iter().map(|call| call.call.request).collect();
        seen.sort();
        seen.dedup();
        seen.retain(|&request| self.study.is_complete(&requests[request as usize]));
        let hit_requests = || excess_by_request.keys().map(|&request| &requests[request as usize]);
        let mut slowest: Vec<(f64, TraceId)> =
            hit_requests().map(|request| (request.latency_ns, request.trace)).collect();
        slowest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        slowest.dedup_by_key(|&mut (_, trace)| trace);
        let excess: Vec<f64> = excess_by_request.values().map(|excess| excess.effect_ns).collect();
        let start = |call: &&LeveledCall| requests[call.call.request as usize].start;
        let in_period = |incident: &Incident| {
            let period = incident.since..incident.until;
            effect(calls.iter().filter(|call| period.contains(&start(call))))
        };
        HitFigures {
            in_periods: self.study.incidents.iter().map(|(incident, _)| in_period(incident)).collect(),
            warming_up: self.warming_up(calls),
            by_little: are_most_slower_by_little(calls),
            requests: RequestCounts {
                hit: excess.len() as u64,
                hit_estimated: hit_requests().fold(0.0, |sum, request| sum + f64::from(request.weight)),
                seen: seen.len() as u64,
            },
            request_effect_ns: if excess.is_empty() { suspect.excess.median_ns } else { median_of(&excess) },
            met: self.met(calls, excess_by_request),
            traces: slowest.into_iter().take(TRACES_MAX).map(|(_, trace)| trace).collect(),
            affected: self.affected(calls, excess_by_request),
            hit: excess_by_request.keys().copied().collect(),
            numbers: hit_requests().map(|request| request.number).collect(),
        }
    }

    /// The requests with a call that could be hit, and how much slower the hit ones make them.
    fn met(
        &self,
        calls: &[LeveledCall],
        excess_by_request: &BTreeMap<u32, RequestExcess>,
    ) -> Option<MetRequests> {
        let requests = &self.study.window.requests;
        let judged = calls.iter().filter(|call| call.is_judged).map(|call| call.call.request);
        let met: BTreeSet<u32> =
            judged.filter(|&at| self.study.is_complete(&requests[at as usize])).collect();
        slower_by(self.study, &met, |at| excess_by_request.get(&at).map_or(0.0, |excess| excess.lost_ns))
    }

    /// Share of the hit calls' excess that is on replicas which had just started.
    fn warming_up(&self, calls: &[LeveledCall]) -> f64 {
        let window = &self.study.window;
        let (mut all_ns, mut warming_up_ns) = (0.0, 0.0);
        for call in calls.iter().filter(|call| call.is_hit) {
            let start = window.requests[call.call.request as usize].start;
            let mut replicas = window.sets[call.call.set as usize].iter();
            let excess_ns = call.excess_ns().max(0.0);
            all_ns += excess_ns;
            if replicas.any(|&replica| self.first_calls.is_warming_up(replica, start)) {
                warming_up_ns += excess_ns;
            }
        }
        if all_ns > 0.0 { warming_up_ns / all_ns } else { 0.0 }
    }

    /// Categories of which more is hit than by chance, by lost time.
    fn affected(
        &self,
        calls: &[LeveledCall],
        excess: &BTreeMap<u32, RequestExcess>,
    ) -> Vec<AffectedCategory> {
        let window = &self.study.window;
        // By number of the category: judged calls, hit calls, hit requests, lost time.
        let mut counts: BTreeMap<u32, (u64, u64, u64, f64)> = BTreeMap::new();
        for call in calls.iter().filter(|call| call.is_judged) {
            let count = counts.entry(window.requests[call.call.request as usize].category).or_default();
            count.0 += 1;
            count.1 += u64::from(call.is_hit);
        }
        for (&request, excess) in excess {
            let request = &window.requests[request as usize];
            let count = counts.entry(request.category).or_default();
            count.2 += 1;
            count.3 += excess.lost_ns * f64::from(request.weight);
        }
        let (judged, hit) = counts.values().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        let false_hits = FALSE_HITS_MAX * hit as f64;
        let normal = judged as f64 - (hit as f64 - false_hits);
        let chance = (false_hits / normal.max(1.0)).min(FALSE_HITS_MAX);
        let pays = |&(_, count): &(&u32, &(u64, u64, u64, f64))| {
            count.2 > 0 && binomial_upper_tail(count.0, chance, count.1) <= CHANCE_LEVEL
        };
        let affected = |(&category, count): (&u32, &(u64, u64, u64, f64))| AffectedCategory {
            id: window.categories[category as usize],
            requests: count.2,
            lost_ns: count.3.max(0.0),
        };
        let mut out: Vec<AffectedCategory> = counts.iter().filter(pays).map(affected).collect();
        out.sort_by(|a, b| b.lost_ns.total_cmp(&a.lost_ns).then(a.id.cmp(&b.id)));
        out
    }

    /// The affected categories that were gathered, and the operation's positions in them.
    fn set_categories(&self, suspect: &mut Suspect, affected: &[AffectedCategory]) {
        let categories = &self.surveyed.categories;
        let mut indices: Vec<usize> = match self.surveyed.rule {
            ShapeRule::Canonical => (affected.iter())
                .filter_map(|category| categories.binary_search_by_key(&category.id, |row| row.id).ok())
                .collect(),
            ShapeRule::Exact => suspect.hit.iter().map(|&(category, _)| category).collect(),
        };
        indices.sort_unstable();
        indices.dedup();
        let mut positions: Vec<(usize, u32)> = Vec::new();
        for &category in &indices {
            let known = suspect.positions.iter().filter(|position| position.0 == category);
            let before = positions.len();
            positions.extend(known);
            if positions.len() == before {
                let called = categories[category].positions.iter().enumerate();
                let own = called.filter(|(_, position)| position.operation == suspect.operation);
                positions.extend(own.map(|(position, _)| (category, position as u32)));
            }
        }
        (suspect.categories, suspect.positions) = (indices, positions);
    }

    /// The calls of every replica that ran the operation at the suspect's sites.
    pub(super) fn by_replica(
        &self,
        suspect: &Suspect,
        calls: &[LeveledCall],
    ) -> BTreeMap<ReplicaId, Vec<LeveledCall>> {
        let window = &self.study.window;
        let homes: BTreeSet<ReplicaId> = window.homes_of(suspect.operation).collect();
        let mut by_replica: BTreeMap<ReplicaId, Vec<LeveledCall>> = BTreeMap::new();
        for call in calls {
            let set = window.sets[call.call.set as usize].iter();
            set.filter(|replica| homes.contains(replica))
                .for_each(|&replica| by_replica.entry(replica).or_default().push(*call));
        }
        by_replica
    }

    fn replicas(
        &self,
        suspect: &Suspect,
        by_replica: BTreeMap<ReplicaId, Vec<LeveledCall>>,
    ) -> Vec<SuspectReplica> {
        let window = &self.study.window;
        let figures = |(replica, calls): (ReplicaId, Vec<LeveledCall>)| {
            let known = suspect.replicas.iter().find(|known| known.replica == replica);
            let hits = || calls.iter().filter(|call| call.is_hit);
            let excess: Vec<f64> = hits().map(LeveledCall::excess_ns).collect();
            let categories: BTreeSet<u32> =
                hits().map(|call| window.requests[call.call.request as usize].category).collect();
            SuspectReplica {
                replica,
                is_culprit: suspect.culprits.contains(&replica),
                calls: calls.len() as u64,
                slow_calls: excess.len() as u64,
                p_value: known.and_then(|known| known.p_value),
                score: categories.len() as u64,
                excess_total_ns: hits().map(LeveledCall::lost_ns).sum(),
                excess_median_ns: median_of(&excess),
                factor: mean_factor(&calls),
            }
        };
        by_replica.into_iter().map(figures).collect()
    }

    /// Orders culprits by factor, then name, and sets the factors of those that were compared with their peers.
    fn set_culprits(&self, suspect: &mut Suspect, calls: &[LeveledCall]) {
        let names = self.study.union.names();
        let factor = |replica: ReplicaId| {
            let known = suspect.replicas.iter().find(|known| known.replica == replica);
            known.and_then(|known| known.factor).unwrap_or(1.0)
        };
        let mut culprits: Vec<(f64, ReplicaId)> =
            suspect.culprits.iter().map(|&replica| (factor(replica), replica)).collect();
        culprits.sort_by(|a, b| {
            b.0.total_cmp(&a.0).then_with(|| names.replica_name(a.1).cmp(names.replica_name(b.1)))
        });
        suspect.culprits = culprits.into_iter().map(|(_, replica)| replica).collect();
        let Some(figures) = &mut suspect.sites else { return };
        let sets = &self.study.window.sets;
        for culprit in &mut figures.culprits {
            let takes_part = |call: &&LeveledCall| {
                let mut set = sets[call.call.set as usize].iter();
                set.any(|&replica| names.replica_name(replica) == culprit.replica)
            };
            let can_be_hit = calls.iter().filter(|call| call.is_judged);
            let own: Vec<LeveledCall> = can_be_hit.filter(takes_part).copied().collect();
            set_factor(culprit, &own);
        }
        figures.culprits.sort_by(|a, b| b.factor.total_cmp(&a.factor).then(a.replica.cmp(&b.replica)));
    }
}

/// Whether most of the calls that can be hit are, by less than single calls vary.
fn are_most_slower_by_little(calls: &[LeveledCall]) -> bool {
    let judged = calls.iter().filter(|call| call.is_judged).count() as f64;
    let hit = calls.iter().filter(|call| call.is_hit).count() as f64;
    let factor = effect(calls.iter()).map_or(1.0, |effect| effect.factor);
    factor < SMALL_FACTOR && hit >= MOST_CALLS * judged
}

/// The effect of hit calls; `None` without any. Calls count by the probability that they were hit: the certain ones are the
/// longest, so that their median would be too large.
fn effect<'c>(calls: impl Iterator<Item = &'c LeveledCall>) -> Option<Effect> {
    let (mut excess, mut logs, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let mut any = false;
    for call in calls.filter(|call| call.probability >= WEIGHED_MIN) {
        any |= call.is_hit;
        excess.push(call.excess_ns());
        logs.push(if call.usual_ns > 0.0 { call.log_ratio() } else { f64::INFINITY });
        weights.push(f64::from(call.probability));
    }
    let median = |values: &[f64]| weighted_median(values, Weights::from_slice(&weights));
    any.then(|| Effect { excess_ns: median(&excess), factor: median(&logs).exp() })
}

const fn is_chain(site: &Site) -> bool {
    matches!(site, Site::Chain(_))
}

/// Geometric mean of the times over the usual ones; `None` where nothing is usual.
fn mean_factor(calls: &[LeveledCall]) -> Option<f64> {
    let known: Vec<f64> =
        calls.iter().filter(|call| call.usual_ns > 0.0).map(LeveledCall::log_ratio).collect();
    (!known.is_empty()).then(|| (known.iter().sum::<f64>() / known.len() as f64).exp())
}

/// Sets the factor of a culprit, with its 95 % interval, to that of its calls.
fn set_factor(culprit: &mut CulpritReplica, calls: &[LeveledCall]) {
    let logs: Vec<f64> =
        calls.iter().filter(|call| call.usual_ns > 0.0).map(LeveledCall::log_ratio).collect();
    if logs.len() < 2 {
        return;
    }
    let mean = mean(&logs);
    let error = 1.96 * sample_std(&logs) / (logs.len() as f64).sqrt();
    (culprit.factor, culprit.factor_low, culprit.factor_high) =
        (mean.exp(), (mean - error).exp(), (mean + error).exp());
}

/// How much slower an excess in nanoseconds makes requests, by their rows. `None` without any.
pub(super) fn slower_by(
    study: &SiteStudy,
    met: &BTreeSet<u32>,
    excess_ns: impl Fn(u32) -> f64,
) -> Option<MetRequests> {
    let (mut usual_ns, mut added_ns) = (0.0, 0.0);
    for &at in met {
        let request = &study.window.requests[at as usize];
        let (weight, excess_ns) = (f64::from(request.weight), excess_ns(at));
        // What other suspects add to the request is no part of its usual time.
        let usual = study.usual_latency_ns.get(request.category as usize).copied();
        usual_ns += weight * usual.unwrap_or(request.latency_ns - excess_ns).max(0.0);
        added_ns += weight * excess_ns;
    }
    let slower = (added_ns / usual_ns.max(1.0)).clamp(0.0, SLOWER_MAX);
    (!met.is_empty()).then_some(MetRequests { requests: met.len() as u64, slower })
}
