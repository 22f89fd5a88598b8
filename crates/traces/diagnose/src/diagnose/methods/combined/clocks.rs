//! Suspects that skewed clocks could explain.

use super::site_study::SiteStudy;
use crate::diagnose::answer::{Evidence, Suspect};
use crate::diagnose::question::DiagnoseQuestion;
use crate::population::Selected;
use crate::site_calls::each_call;
use laggard_engine::RequestView;
use laggard_localize::{Site, SiteTable, Spread};
use laggard_model::{Fingerprint, OperationId, ReplicaId};
use std::collections::{BTreeMap, BTreeSet};

/// Whether skewed clocks may be why the self time of the operation seems to be longer than on other replicas, or than in the baseline: which part
/// of a call several callees on other replicas cover is known from their clocks.
pub(super) fn may_explain(suspect: &Suspect, study: &SiteStudy, question: &DiagnoseQuestion<'_>) -> bool {
    have_skewed_clocks(suspect, study, question) && overlap_may_explain(suspect, study, question)
}

/// Whether the clock of a replica of the operation is known to disagree with that of one that it calls. By how much does not matter: a callee
/// that lies a little outside its caller is compared with no other one.
fn have_skewed_clocks(suspect: &Suspect, study: &SiteStudy, question: &DiagnoseQuestion<'_>) -> bool {
    let names = question.requests.names();
    let pairs = question.requests.clocks().pairs();
    let skewed = pairs.iter().filter(|(_, bounds)| !bounds.agree());
    let skewed: BTreeSet<&str> = skewed.map(|((caller, _), _)| names.replica_name(*caller)).collect();
    let mut replicas = study.window.homes_of(suspect.operation);
    replicas.any(|replica| skewed.contains(study.union.names().replica_name(replica)))
}

/// The part of the longer self times that a longer overlap of callees must be for clocks to explain them.
const OVERLAP_PART: f64 = 0.5;

/// Whether the callees, as recorded, overlap for so much longer than those of the calls that the suspect's calls are compared with that
/// clocks may be all there is. Durations are each measured by one clock: only when callees ran is judged by several.
fn overlap_may_explain(suspect: &Suspect, study: &SiteStudy, question: &DiagnoseQuestion<'_>) -> bool {
    let of_replicas = |kind: &Evidence| match kind {
        Evidence::Period => study.uneven_in_periods.contains(&suspect.operation),
        kind => *kind != Evidence::Baseline,
    };
    let is_of_replicas = suspect.spread == Spread::Localized
        && !study.changed_replicas.contains(&suspect.operation)
        && suspect.evidence.iter().all(of_replicas);
    let is_culprit = |replica: ReplicaId| suspect.culprits.contains(&replica);
    let is_slow = |replica: ReplicaId| suspect.culprits.is_empty() || is_culprit(replica);
    let window = study.selected(&question.window(), 0);
    let slow = CallTimes::of(suspect.operation, &window, &study.window, is_slow);
    let usual = match (question.earlier(), &study.baseline) {
        _ if is_of_replicas => {
            CallTimes::of(suspect.operation, &window, &study.window, |replica| !is_culprit(replica))
        }
        (Some(earlier), Some(baseline)) => {
            CallTimes::of(suspect.operation, &study.selected(&earlier, 1), baseline, |_| true)
        }
        // In one period and the rest of the window clocks are the same.
        _ => return false,
    };
    let (longer_self_ns, longer_overlap_ns) = slow.longer_than(&usual);
    longer_self_ns > 0.0 && longer_overlap_ns >= OVERLAP_PART * longer_self_ns
}

/// Sums over the calls of an operation, by category of the request.
struct CallTimes(BTreeMap<Fingerprint, CategoryTimes>);

#[derive(Clone, Copy, Default)]
struct CategoryTimes {
    calls: f64,
    self_ns: f64,
    overlap_ns: f64,
}

impl CallTimes {
    /// Of the calls that ran on such a replica.
    fn of(
        operation: OperationId,
        selected: &Selected<'_>,
        table: &SiteTable,
        includes: impl Fn(ReplicaId) -> bool,
    ) -> CallTimes {
        let mut times: BTreeMap<Fingerprint, CategoryTimes> = BTreeMap::new();
        each_call(selected, table, Site::Operation(operation), |row, request, node| {
            if includes(selected.replica(request, node)) {
                let category = table.requests[row.request as usize].category;
                let sums = times.entry(table.categories[category as usize]).or_default();
                sums.calls += 1.0;
                sums.self_ns += request.self_time(node).ns() as f64;
                sums.overlap_ns += overlap_ns(request, node);
            }
        });
        CallTimes(times)
    }

    /// How much longer the mean self time and the mean overlap of a call are than in the same categories of others, nanoseconds; 0 if none is the
    /// same. A category counts by how well its difference is known.
    fn longer_than(&self, others: &CallTimes) -> (f64, f64) {
        let (mut weights, mut self_ns, mut overlap_ns) = (0.0, 0.0, 0.0);
        for (category, these) in &self.0 {
            let Some(those) = others.0.get(category) else { continue };
            let weight = these.calls * those.calls / (these.calls + those.calls);
            let longer = |sum: fn(&CategoryTimes) -> f64| sum(these) / these.calls - sum(those) / those.calls;
            weights += weight;
            self_ns += weight * longer(|times| times.self_ns);
            overlap_ns += weight * longer(|times| times.overlap_ns);
        }
        if weights > 0.0 { (self_ns / weights, overlap_ns / weights) } else { (0.0, 0.0) }
    }
}

/// By how much the durations of a call's callees exceed the part of the call that they are taken to cover, nanoseconds.
fn overlap_ns(request: &RequestView<'_>, node: usize) -> f64 {
    let parents = &request.tree().parent;
    let callees = (node + 1..request.calls()).filter(|&callee| parents[callee] == Some(node as u32));
    let durations: u64 = callees.map(|callee| request.inclusive_time(callee).ns()).sum();
    durations as f64 + request.self_time(node).ns() as f64 - request.inclusive_time(node).ns() as f64
}
