//! Suspects that skewed clocks could explain.

use super::site_study::SiteStudy;
use crate::diagnose::answer::{Evidence, SurveyResult, Suspect};
use crate::diagnose::question::DiagnoseQuestion;
use laggard_localize::{CategoryPosition, Spread};
use laggard_model::{OperationId, ReplicaId};
use std::collections::BTreeSet;

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
    let replaced_share = || {
        let involved = remote_callees(suspect, surveyed, study).into_iter().chain([suspect.operation]);
        involved.map(|operation| study.other_replicas_share(operation)).fold(0.0, f64::max)
    };
    waits_for_several(suspect, surveyed, study)
        && have_skewed_clocks(suspect, study, question, if is_of_replicas { 1.0 } else { replaced_share() })
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
