//! Suspects by their failures: operations that fail, stop early, or call others for the first time or more often.

use super::hits::slower_by;
use super::site_study::SiteStudy;
use super::sites::{Adapter, onset, surveyed_request};
use super::some_replicas;
use crate::diagnose::answer::{
    AffectedCategory, Evidence, HitFigures, RequestCounts, SurveyResult, Suspect, SuspectReplica,
};
use crate::diagnose::question::DiagnoseQuestion;
use crate::lost_calls::{CallPair, LOST_FACTOR_MAX, incomplete_share};
use crate::outcome_fold::OutcomeFold;
use crate::population::{Population, Selected};
use laggard_engine::RequestView;
use laggard_localize::{
    CallChange, CallChangeKind, Culprit, ErrorRise, Excess, OutcomeTable, OutcomeTree, ReplicaRate,
    RequestNumbers, SiteTable, Spread, changed_calls, error_rises, find_frequent_culprits, find_rate_onset,
    uneven_errors,
};
use laggard_model::{OperationId, ReplicaId, SpanKind};
use laggard_report::{BehaviorChange, Callee, Onset};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most example traces per suspect.
const TRACES_MAX: usize = 5;
/// Most callees per suspect.
const CALLEES_MAX: usize = 5;
/// A change is a consequence of errors when this share of the requests that it hits has them.
const CONSEQUENCE_SHARE: f64 = 0.5;

/// Suspects by failures; those that hit the most requests first.
pub(super) struct Failures {
    /// Operations that fail or stop early.
    pub(super) failing: Vec<Suspect>,
    /// Operations that call others for the first time, or more often, or that only some replicas perform, which takes time.
    pub(super) calling: Vec<Suspect>,
}

pub(super) fn find(outcomes: &OutcomeStudy<'_>) -> Failures {
    let settings = &outcomes.question.settings.sites;
    let window = &outcomes.window.table;
    let (errors, changes) = match &outcomes.baseline {
        Some(Outcomes { table: baseline, .. }) => (
            error_rises(baseline, window, &settings.failures),
            changed_calls(baseline, window, &settings.failures),
        ),
        None => {
            let replica_of = |number, node| outcomes.window.replica_of(number, node);
            let uneven = uneven_errors(window, &settings.failures, &settings.culprits, replica_of);
            (uneven.into_iter().chain(outcomes.errors_since()).collect(), outcomes.missing_since())
        }
    };
    let failed: BTreeSet<u32> = errors.iter().flat_map(|rise| rise.hit.iter().map(|hit| hit.row)).collect();
    let is_own = |change: &CallChange| {
        let consequences = change.hit.iter().filter(|hit| failed.contains(&hit.row)).count();
        (consequences as f64) < CONSEQUENCE_SHARE * change.hit.len() as f64
    };
    let (missing, calling): (Vec<_>, Vec<_>) =
        changes.into_iter().filter(is_own).partition(|change| change.kind == CallChangeKind::Missing);
    let missing: Vec<CallChange> = missing.into_iter().filter(|change| !outcomes.were_lost(change)).collect();
    let failing = errors.iter().map(|rise| outcomes.failing(rise));
    let failing =
        one_per_operation(failing.chain(missing.iter().map(|change| outcomes.changed(change, None))));
    let total = outcomes.study.window.latency_total_ns();
    let takes_time = |total_ns: f64| total_ns >= settings.failures.share_min * total;
    let calling = calling.iter().map(|change| (change, outcomes.extra_time(change)));
    let calling = calling.filter(|(_, extra)| takes_time(extra.total_ns));
    let some_replicas = some_replicas::find(outcomes).into_iter();
    let some_replicas = some_replicas.filter(|suspect| takes_time(suspect.excess.total_ns));
    let calling = calling.map(|(change, extra)| outcomes.changed(change, Some(extra))).chain(some_replicas);
    Failures { failing, calling: one_per_operation(calling) }
}

/// Joins suspects of one operation: the first one's figures, every change.
fn one_per_operation(suspects: impl Iterator<Item = Suspect>) -> Vec<Suspect> {
    let mut joined: Vec<Suspect> = Vec::new();
    for suspect in suspects {
        match joined.iter_mut().find(|known| known.operation == suspect.operation) {
            Some(known) => known.add_behavior(suspect),
            None => joined.push(suspect),
        }
    }
    joined.sort_by_key(|suspect| std::cmp::Reverse(hits(suspect)));
    joined
}

fn hits(suspect: &Suspect) -> u64 {
    suspect.hits.as_ref().map_or(suspect.hit.len() as u64, |hits| hits.requests.hit)
}

/// Adds suspects by failures to slow ones, which are in the order of their excess. Failing calls are retried and waited for, so
/// what fails precedes the slow suspects that hit no more other requests than it does itself, and its callers. An operation
/// that makes fewer calls, without an error, delays no request: it only precedes its callers, and what only explains slow
/// requests.
pub(super) fn join(slow: Vec<Suspect>, failures: Failures, surveyed: &SurveyResult) -> Vec<Suspect> {
    let mut all = slow;
    for suspect in failures.calling {
        if let Some(known) = all.iter_mut().find(|known| known.operation == suspect.operation) {
            known.add_behavior(suspect);
            continue;
        }
        let larger = |known: &&Suspect| known.excess.total_ns >= suspect.excess.total_ns;
        let index = all.iter().take_while(larger).count();
        all.insert(index, suspect);
    }
    let mut first = 0;
    for mut suspect in failures.failing {
        let slow = all.iter().position(|known| known.operation == suspect.operation);
        let slow = slow.map(|index| {
            first -= usize::from(index < first);
            all.remove(index)
        });
        let callers = callers_of(suspect.operation, surveyed);
        let index = all[first..].iter().position(|slow| explains(&suspect, slow, &callers));
        let index = index.map_or(all.len(), |index| first + index);
        // The figures are those of its slow calls, if these are suspect themselves.
        if let Some(mut slow) = slow.filter(|slow| slow.stands_out) {
            slow.add_behavior(suspect);
            suspect = slow;
        }
        all.insert(index, suspect);
        first = index + 1;
    }
    all
}

/// A failing operation explains its callers' slowness if it hits at least this share of the requests that they do.
const CALLER_SHARE_MIN: f64 = 0.1;

fn explains(failing: &Suspect, slow: &Suspect, callers: &BTreeSet<OperationId>) -> bool {
    if !slow.stands_out {
        return true;
    }
    let (Some(failed), Some(slowed)) = (&failing.hits, &slow.hits) else { return true };
    let common = slowed.hit.iter().filter(|row| failed.hit.binary_search(row).is_ok()).count() as u64;
    let is_caller = callers.contains(&slow.operation)
        && failed.requests.hit as f64 >= CALLER_SHARE_MIN * slowed.requests.hit as f64;
    let has_errors = failing.evidence.contains(&Evidence::Errors);
    is_caller || has_errors && failed.requests.hit >= slowed.requests.hit.saturating_sub(common)
}

/// Operations that call an operation, directly or by way of others.
fn callers_of(operation: OperationId, surveyed: &SurveyResult) -> BTreeSet<OperationId> {
    let mut callers = BTreeSet::new();
    for category in &surveyed.categories {
        let parent = |at: &u32| category.positions[*at as usize].parent;
        for position in category.positions.iter().filter(|position| position.operation == operation) {
            let above = std::iter::successors(position.parent, parent);
            callers.extend(above.map(|at| category.positions[at as usize].operation));
        }
    }
    callers
}

/// Which calls the requests of window and baseline make, and which of them fail.
pub(super) struct OutcomeStudy<'a> {
    pub(super) question: &'a DiagnoseQuestion<'a>,
    pub(super) study: &'a SiteStudy,
    adapter: Adapter<'a>,
    pub(super) window: Outcomes<'a>,
    /// `None` if there are too few requests to compare.
    pub(super) baseline: Option<Outcomes<'a>>,
}

/// Outcomes of one population.
pub(super) struct Outcomes<'a> {
    pub(super) selected: Selected<'a>,
    pub(super) table: OutcomeTable,
}

impl<'a> Outcomes<'a> {
    fn new(
        question: &DiagnoseQuestion<'_>,
        study: &'a SiteStudy,
        population: (&Population<'a>, usize),
        rows: &SiteTable,
    ) -> Outcomes<'a> {
        let selected = study.union.select(population.0, population.1);
        let table = question.engine.fold(selected.range(), &OutcomeFold::new(&selected, rows));
        Outcomes { selected, table }
    }

    /// The replica of a call, by the number of its request and the node.
    pub(super) fn replica_of(&self, number: u32, node: u32) -> ReplicaId {
        self.replicas_of(number)(node)
    }

    /// The replicas of a request's calls by node, by the number of the request.
    pub(super) fn replicas_of(&self, number: u32) -> impl Fn(u32) -> ReplicaId + '_ {
        let request = self.selected.range().requests().request(number as usize);
        move |node| self.selected.replica(&request, node as usize)
    }
}

impl<'a> OutcomeStudy<'a> {
    pub(super) fn new(
        question: &'a DiagnoseQuestion<'a>,
        surveyed: &'a SurveyResult,
        study: &'a SiteStudy,
    ) -> OutcomeStudy<'a> {
        let fewest = question.settings.sites.change.requests_min;
        let enough = |rows: &&SiteTable| rows.requests.len().min(study.window.requests.len()) >= fewest;
        let baseline = study.baseline.as_ref().filter(enough).zip(question.earlier());
        OutcomeStudy {
            question,
            study,
            adapter: Adapter { surveyed, study, is_compared: true },
            window: Outcomes::new(question, study, (&question.window(), 0), &study.window),
            baseline: baseline.map(|(rows, earlier)| Outcomes::new(question, study, (&earlier, 1), rows)),
        }
    }

    /// Whether the calls that are missing were made, and their spans lost.
    fn were_lost(&self, change: &CallChange) -> bool {
        let share = |side: &Outcomes<'_>| incomplete_share(&side.selected, change.caller);
        let (incomplete, usually_incomplete) =
            (share(&self.window), self.baseline.as_ref().map_or(0.0, share));
        let missing = change.usual_rate - change.rate;
        if missing <= incomplete - usually_incomplete {
            return true;
        }
        let pair = CallPair { caller: change.caller, callee: change.callees[0] };
        let trees = self.window.table.trees.iter().zip(&self.window.table.clean);
        let calling = trees.filter(|(tree, _)| tree.operation.contains(&pair.callee));
        let with: Vec<u32> =
            calling.flat_map(|(_, requests)| requests.iter().map(|request| request.number)).collect();
        let without: Vec<u32> = change.hit.iter().map(|hit| hit.number).collect();
        let shown = pair.was_lost(&self.window.selected, &without, &with);
        shown.unwrap_or(missing <= LOST_FACTOR_MAX * incomplete)
    }

    fn failing(&self, rise: &ErrorRise) -> Suspect {
        let rates = self.rates(rise.operation, |tree, errors, node| {
            Some(tree.error_starts(errors).any(|start| start == node))
        });
        let behavior = BehaviorChange {
            kind: Evidence::Errors.name().to_owned(),
            callees: Vec::new(),
            rate: rise.rate,
            usual_rate: rise.usual_rate,
            is_against_peers: !rise.replicas.is_empty(),
            p_value: rise.p_adjusted,
            calls: rise.calls,
        };
        let mut suspect = self.suspect(rise.operation, Evidence::Errors, behavior, &rise.hit, rates);
        if !rise.replicas.is_empty() {
            suspect.evidence.push(Evidence::Peers);
            suspect.evidence.sort_unstable();
        }
        suspect
    }

    /// `extra` is the time of additional calls.
    fn changed(&self, change: &CallChange, extra: Option<Excess>) -> Suspect {
        let callee = change.callees.first().copied();
        let mut rates = self.rates(change.caller, |tree, errors, node| {
            let mut called = tree.callees(node);
            let calls_it = called.any(|below| Some(tree.operation[below as usize]) == callee);
            (!errors.contains(&node)).then_some(calls_it != (change.kind == CallChangeKind::Missing))
        });
        let names = self.study.union.names();
        let is_consumer =
            |operation: &OperationId| names.operation_key(*operation).kind == SpanKind::Consumer;
        // A message that was not processed is the consumer's, not its sender's.
        let consumer = callee.filter(is_consumer).filter(|_| change.kind == CallChangeKind::Missing);
        let (subject, others) = match consumer {
            Some(consumer) => (consumer, std::slice::from_ref(&change.caller)),
            None => (change.caller, &change.callees[..]),
        };
        if consumer.is_some() {
            rates.replicas = self.rates(subject, |_, _, _| Some(false)).replicas;
        }
        let evidence = match change.kind {
            CallChangeKind::Missing if consumer.is_some() => Evidence::UnprocessedMessages,
            CallChangeKind::Missing => Evidence::MissingCalls,
            CallChangeKind::New => Evidence::NewCalls,
            CallChangeKind::More => Evidence::MoreCalls,
        };
        let name = |&operation: &OperationId| {
            let key = names.operation_key(operation);
            Callee { service: key.service.to_owned(), operation: key.operation.to_owned() }
        };
        let behavior = BehaviorChange {
            kind: evidence.name().to_owned(),
            callees: others.iter().take(CALLEES_MAX).map(name).collect(),
            rate: change.rate,
            usual_rate: change.usual_rate,
            is_against_peers: false,
            p_value: change.p_adjusted,
            calls: change.calls,
        };
        let met = extra.as_ref().and_then(|extra| {
            let hit: BTreeSet<u32> = change.hit.iter().map(|hit| hit.row).collect();
            let added_ns =
                |row: u32| if hit.contains(&row) { extra.total_ns / hit.len() as f64 } else { 0.0 };
            slower_by(self.study, &rates.rows.iter().copied().collect(), added_ns)
        });
        let mut suspect = self.suspect(subject, evidence, behavior, &change.hit, rates);
        if let Some(hits) = &mut suspect.hits {
            hits.met = met;
            // Where a call was not always made before, only some of the requests without it are hit.
            let changed = change.difference.abs().round() as u64;
            let part = changed as f64 / hits.requests.hit.max(1) as f64;
            if part < 1.0 {
                hits.requests.hit = changed;
                hits.requests.hit_estimated *= part;
            }
        }
        if let Some(extra) = extra {
            suspect.excess = extra;
            suspect.score = suspect.excess.total_ns / 1e9;
            if let Some(hits) = &mut suspect.hits {
                hits.request_effect_ns = suspect.excess.median_ns;
            }
        }
        suspect
    }

    /// The caller's calls of the first callee.
    fn calls_between(&self, view: &RequestView<'_>, change: &CallChange) -> Vec<usize> {
        let operation = |node: usize| self.window.selected.operation(view, node);
        let caller = |node: usize| view.tree().parent[node].map(|parent| operation(parent as usize));
        let is_between = |&node: &usize| {
            change.callees.first() == Some(&operation(node)) && caller(node) == Some(change.caller)
        };
        (1..view.calls()).filter(is_between).collect()
    }

    /// The time of the calls beyond the usual number.
    fn extra_time(&self, change: &CallChange) -> Excess {
        let (mut calls, mut time) = (0.0, 0.0);
        let mut nodes: HashMap<usize, Vec<usize>> = HashMap::new();
        for hit in &change.hit {
            let view = self.window.selected.range().requests().request(hit.number as usize);
            let nodes = nodes.entry(view.structure()).or_insert_with(|| self.calls_between(&view, change));
            calls += nodes.len() as f64;
            time += nodes.iter().map(|&node| view.inclusive_time(node).ns() as f64).sum::<f64>();
        }
        let total_ns = change.difference * time / f64::max(calls, 1.0);
        Excess {
            calls: change.hit.len() as u64,
            total_ns,
            median_ns: total_ns / change.hit.len().max(1) as f64,
            median_factor: change.rate / change.usual_rate,
        }
    }

    /// Calls of an operation by replica, and how many of them are events. `is_event` gets a tree, its failed nodes and a node,
    /// and returns `None` for a call that does not count.
    fn rates(
        &self,
        operation: OperationId,
        is_event: impl Fn(&OutcomeTree, &[u32], u32) -> Option<bool>,
    ) -> Rates {
        let mut rates = Rates::default();
        let events = |tree: &OutcomeTree, errors: &[u32]| -> Vec<(u32, bool)> {
            let here = tree.nodes_of(operation);
            here.filter_map(|node| Some((node, is_event(tree, errors, node)?))).collect()
        };
        let calls_it: Vec<bool> =
            self.window.table.trees.iter().map(|tree| tree.operation.contains(&operation)).collect();
        for (tree, clean) in self.window.table.trees.iter().zip(&self.window.table.clean) {
            let events = events(tree, &[]);
            if !events.is_empty() {
                clean.iter().for_each(|&request| self.add_events(&mut rates, request, &events));
            }
        }
        for failed in self.window.table.failed.iter().filter(|failed| calls_it[failed.tree as usize]) {
            let events = events(&self.window.table.trees[failed.tree as usize], &failed.errors);
            self.add_events(&mut rates, failed.request, &events);
        }
        rates
    }

    fn add_events(&self, rates: &mut Rates, request: RequestNumbers, events: &[(u32, bool)]) {
        rates.rows.push(request.row);
        for &(node, is_event) in events {
            let replica = self.window.replica_of(request.number, node);
            let rate = rates.replicas.entry(replica).or_insert(ReplicaRate { replica, calls: 0, slow: 0 });
            rate.calls += 1;
            rate.slow += u64::from(is_event);
        }
    }

    pub(super) fn suspect(
        &self,
        operation: OperationId,
        evidence: Evidence,
        behavior: BehaviorChange,
        requests: &[RequestNumbers],
        rates: Rates,
    ) -> Suspect {
        let replicas: Vec<ReplicaRate> = rates.replicas.into_values().collect();
        let found = find_frequent_culprits(&replicas, &self.question.settings.sites.culprits);
        let culprits: Vec<ReplicaId> = found.iter().map(|culprit| culprit.replica).collect();
        let rows = requests.iter().map(|request| &self.study.window.requests[request.row as usize]);
        let lost_ns: f64 =
            rows.clone().map(|row| self.window.selected.fair_weight(row) * row.latency_ns).sum();
        let hit: BTreeSet<(usize, u32)> =
            rows.clone().filter_map(|row| surveyed_request(self.adapter.surveyed, self.study, row)).collect();
        let categories: BTreeSet<usize> = hit.iter().map(|&(category, _)| category).collect();
        let positions = categories.iter().flat_map(|&category| self.adapter.positions(category, operation));
        let mut traces: Vec<_> = rows.clone().map(|row| row.trace).collect();
        traces.dedup();
        Suspect {
            operation,
            evidence: vec![evidence],
            spread: if culprits.is_empty() { Spread::Everywhere } else { Spread::Localized },
            replicas: suspect_replicas(&replicas, &found),
            culprits,
            positions: positions.collect(),
            categories: categories.into_iter().collect(),
            excess: Excess {
                calls: requests.len() as u64,
                total_ns: 0.0,
                median_ns: 0.0,
                median_factor: 1.0,
            },
            hit: hit.into_iter().collect(),
            stands_out: true,
            score: lost_ns / 1e9,
            between: None,
            onset: self.onset(&rates.rows, requests),
            behavior: vec![behavior],
            sites: None,
            attributes: Vec::new(),
            load: None,
            in_succession: false,
            hits: Some(HitFigures {
                requests: RequestCounts {
                    hit: requests.len() as u64,
                    hit_estimated: rows.clone().map(|row| self.window.selected.fair_weight(row)).sum(),
                    seen: rates.rows.len() as u64,
                },
                request_effect_ns: 0.0,
                met: None,
                traces: traces.into_iter().take(TRACES_MAX).collect(),
                numbers: rows.clone().map(|row| row.number).collect(),
                affected: self.affected(rows.map(|row| row.category)),
                warming_up: 0.0,
                by_little: false,
                in_periods: vec![None; self.study.incidents.len()],
                hit: requests.iter().map(|request| request.row).collect(),
            }),
        }
    }

    /// Since when more of the requests with these rows are hit.
    fn onset(&self, rows: &[u32], hit: &[RequestNumbers]) -> Option<Onset> {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        let start = |row: u32| self.study.window.requests[row as usize].start;
        let is_hit = |row: u32| hit.binary_search_by_key(&row, |request| request.row).is_ok();
        let series: Vec<_> = rows.iter().map(|&row| (start(row), is_hit(row))).collect();
        find_rate_onset(&series).map(onset)
    }

    /// The categories of requests, those with the most of them first.
    fn affected(&self, categories: impl Iterator<Item = u32>) -> Vec<AffectedCategory> {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        categories.for_each(|category| *counts.entry(category).or_default() += 1);
        let id = |category: u32| self.study.window.categories[category as usize];
        let affected = counts.into_iter().map(|(category, requests)| AffectedCategory {
            id: id(category),
            requests,
            lost_ns: 0.0,
        });
        let mut affected: Vec<AffectedCategory> = affected.collect();
        affected.sort_by_key(|category| std::cmp::Reverse(category.requests));
        affected
    }
}

/// The replicas of a suspect; culprits are those with the most events for their calls.
fn suspect_replicas(rates: &[ReplicaRate], found: &[Culprit]) -> Vec<SuspectReplica> {
    let suspect_replica = |rate: &ReplicaRate| {
        let culprit = found.iter().find(|culprit| culprit.replica == rate.replica);
        SuspectReplica {
            replica: rate.replica,
            is_culprit: culprit.is_some(),
            calls: rate.calls,
            slow_calls: rate.slow,
            p_value: culprit.map(|culprit| culprit.p_adjusted),
            score: 1,
            excess_total_ns: 0.0,
            excess_median_ns: 0.0,
            factor: None,
        }
    };
    rates.iter().map(suspect_replica).collect()
}

/// Calls by replica, and the requests that they are of.
#[derive(Default)]
pub(super) struct Rates {
    pub(super) replicas: BTreeMap<ReplicaId, ReplicaRate>,
    /// Rows of the window's table.
    pub(super) rows: Vec<u32>,
}
