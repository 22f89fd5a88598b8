//! Suspects that skewed clocks could explain.

use super::site_study::SiteStudy;
use crate::diagnose::answer::{Evidence, SurveyResult, Suspect};
use crate::diagnose::question::DiagnoseQuestion;
use laggard_localize::{CategoryPosition, Site, SiteTable, Spread};
use laggard_model::{Fingerprint, OperationId, ReplicaId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// Whether the clocks of the suspect's replicas are skewed so that the self time of the operation is not known well enough
/// to compare it: among replicas, or with a baseline in which clocks were others because replicas have been replaced since. Of a baseline
/// most of which had the same replicas, clocks change the mean by little.
pub(super) fn may_explain(
    suspect: &Suspect,
    surveyed: &SurveyResult,
    study: &SiteStudy,
    question: &DiagnoseQuestion<'_>,
) -> bool {
    let of_replicas = |kind: &Evidence| !matches!(kind, Evidence::Baseline | Evidence::Period);
    let is_of_replicas = suspect.spread == Spread::Localized
        && !study.changed_replicas.contains(&suspect.operation)
        && suspect.evidence.iter().all(of_replicas);
    if !waits_for_several(suspect, surveyed, study) {
        return false;
    }
    if is_of_replicas {
        return have_skewed_clocks(suspect, study, question, 1.0);
    }
    let mut involved = remote_callees(suspect, surveyed, study);
    involved.insert(suspect.operation);
    let replaced_share =
        involved.iter().map(|&operation| study.other_replicas_share(operation)).fold(0.0, f64::max);
    have_skewed_clocks(suspect, study, question, replaced_share)
        && !is_slower_than_since_the_replacement(suspect, &involved, study)
}

/// Fewest calls of the baseline that show how long an operation took with the clocks of the window.
const SAME_CLOCKS_CALLS_MIN: u64 = 100;

/// Whether most of the suspect's time was added after the last replacement of replicas of these operations: since then, clocks are those of
/// the window.
fn is_slower_than_since_the_replacement(
    suspect: &Suspect,
    involved: &BTreeSet<OperationId>,
    study: &SiteStudy,
) -> bool {
    let (Some(baseline), window) = (&study.baseline, &study.window) else { return false };
    let Some(since) = same_replicas_since(involved, baseline, window) else { return false };
    let site = Site::Operation(suspect.operation);
    // By call tree: time and number of calls.
    let mut usual: BTreeMap<Fingerprint, (f64, u64)> = BTreeMap::new();
    for row in baseline.rows_of(site) {
        let request = &baseline.requests[row.request as usize];
        if request.start > since {
            let sum = usual.entry(baseline.categories[request.category as usize]).or_default();
            *sum = (sum.0 + f64::from(row.time_ns), sum.1 + u64::from(row.calls));
        }
    }
    let mut added_ns = 0.0;
    for row in window.rows_of(site) {
        let request = &window.requests[row.request as usize];
        if let Some((time_ns, calls)) = usual.get(&window.categories[request.category as usize]) {
            let usual_ns = time_ns / *calls as f64 * f64::from(row.calls);
            added_ns += (f64::from(row.time_ns) - usual_ns) * f64::from(request.weight);
        }
    }
    usual.values().map(|(_, calls)| calls).sum::<u64>() >= SAME_CLOCKS_CALLS_MIN
        && added_ns >= PROVEN_PART * suspect.excess.total_ns
}

/// The last time in the baseline when a replica of one of the operations was first or, if the window lacks it, last called; `None` if the
/// window has one that the baseline lacks.
fn same_replicas_since(
    operations: &BTreeSet<OperationId>,
    baseline: &SiteTable,
    window: &SiteTable,
) -> Option<Timestamp> {
    let mut since = Timestamp::MIN;
    for &operation in operations {
        let mut missing: BTreeSet<ReplicaId> = window.homes_of(operation).collect();
        for row in baseline.rows_of(Site::Operation(operation)) {
            for &replica in &baseline.sets[row.set as usize] {
                if missing.remove(&replica) || !window.homes.contains(&(operation, replica)) {
                    since = since.max(baseline.requests[row.request as usize].start);
                }
            }
        }
        if !missing.is_empty() {
            return None;
        }
    }
    Some(since)
}

/// Whether the operation calls several operations of other services in one request: whether they run one after the other
/// or at once is judged by their clocks, and with it the operation's self time.
fn waits_for_several(suspect: &Suspect, surveyed: &SurveyResult, study: &SiteStudy) -> bool {
    suspect.positions.iter().any(|&(category, own)| {
        let category = &surveyed.categories[category];
        let is_callee = |position: &CategoryPosition| is_remote_callee(position, own, suspect, study);
        let remote: Vec<bool> = category.positions.iter().map(is_callee).collect();
        let calls = category.calls.iter().filter(|call| remote[call.position as usize]).count();
        let own_calls = category.calls.iter().filter(|call| call.position == own).count();
        calls > own_calls
    })
}

/// The operations of other services that the suspect calls.
fn remote_callees(suspect: &Suspect, surveyed: &SurveyResult, study: &SiteStudy) -> BTreeSet<OperationId> {
    let callees = |&(category, own): &(usize, u32)| {
        let positions = surveyed.categories[category].positions.iter();
        positions.filter(move |position| is_remote_callee(position, own, suspect, study))
    };
    suspect.positions.iter().flat_map(callees).map(|position| position.operation).collect()
}

fn is_remote_callee(position: &CategoryPosition, own: u32, suspect: &Suspect, study: &SiteStudy) -> bool {
    let service = |operation| study.union.names().service_of(operation);
    position.parent == Some(own) && service(position.operation) != service(suspect.operation)
}

/// The part of a suspect's excess that skewed clocks must be known to explain.
const PROVEN_PART: f64 = 0.5;

/// Whether the clocks of all culprits, or of one of its replicas where there are none, are known to disagree with those of
/// replicas that they call, by half as much as their calls take longer: what is known is the least skew that is possible. It is in this share
/// of what is compared.
fn have_skewed_clocks(
    suspect: &Suspect,
    study: &SiteStudy,
    question: &DiagnoseQuestion<'_>,
    share: f64,
) -> bool {
    let names = question.requests.names();
    let skewed: BTreeSet<&str> = (question.requests.clocks().pairs().iter())
        .filter(|(_, bounds)| {
            share * bounds.proven_skew().ns() as f64 >= (PROVEN_PART * suspect.excess.median_ns).max(1.0)
        })
        .map(|((caller, _), _)| names.replica_name(*caller))
        .collect();
    let is_skewed = |replica: ReplicaId| skewed.contains(study.union.names().replica_name(replica));
    match suspect.culprits.is_empty() {
        false => suspect.culprits.iter().all(|&replica| is_skewed(replica)),
        true => study.window.homes_of(suspect.operation).any(is_skewed),
    }
}
