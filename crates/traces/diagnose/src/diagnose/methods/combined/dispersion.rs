//! CloudDiag's suspects: some requests are slower than others of their category.

use super::site_study::SiteStudy;
use crate::diagnose::answer::{Evidence, Suspect};
use crate::diagnose::question::DiagnoseQuestion;
use laggard_localize::{
    CulpritSettings, ReplicaRate, Site, Spread, SuspectOperation, find_frequent_culprits, long_calls_rose,
};
use laggard_model::OperationId;
use std::collections::BTreeSet;

/// CloudDiag's suspects as suspects of the default method.
pub(super) fn suspects(suspects: Vec<SuspectOperation>) -> Vec<Suspect> {
    let evidence = || vec![Evidence::Dispersion];
    suspects.into_iter().map(|suspect| Suspect::from_operation(suspect, evidence())).collect()
}

/// Splits suspects into those to report and those that were as uneven in the baseline. Without a baseline, or with
/// too few requests to compare, all are reported.
pub(super) fn without_unchanged(
    suspects: Vec<Suspect>,
    question: &DiagnoseQuestion<'_>,
    study: &SiteStudy,
) -> (Vec<Suspect>, Vec<Suspect>) {
    let fewest = question.settings.sites.change.requests_min;
    let Some(baseline) = study.baseline.as_ref() else { return (suspects, Vec::new()) };
    if baseline.requests.len() < fewest || study.window.requests.len() < fewest {
        return (suspects, Vec::new());
    }
    let slower: BTreeSet<OperationId> = (study.shifted.iter())
        .flat_map(|suspect| suspect.sites.iter().flat_map(|site| operations(*site)))
        .collect();
    let tests = suspects.len();
    suspects.into_iter().partition(|suspect| {
        let factor = suspect.excess.median_factor.max(1.0).sqrt();
        slower.contains(&suspect.operation)
            || long_calls_rose(baseline, &study.window, suspect.operation, factor, tests)
    })
}

/// Adds culprits by the rate of slow calls to a suspect without culprits: the few slow calls may come from
/// few replicas.
pub(super) fn with_frequent_culprits(mut suspect: Suspect, settings: &CulpritSettings) -> Suspect {
    if suspect.spread == Spread::Localized {
        return suspect;
    }
    let rates: Vec<ReplicaRate> = (suspect.replicas.iter())
        .map(|replica| ReplicaRate {
            replica: replica.replica,
            calls: replica.calls,
            slow: replica.slow_calls,
        })
        .collect();
    let culprits = find_frequent_culprits(&rates, settings);
    if culprits.is_empty() {
        return suspect;
    }
    suspect.spread = Spread::Localized;
    suspect.culprits = culprits.iter().map(|culprit| culprit.replica).collect();
    for replica in &mut suspect.replicas {
        let culprit = culprits.iter().find(|culprit| culprit.replica == replica.replica);
        replica.is_culprit = culprit.is_some();
        replica.p_value = culprit.map(|culprit| culprit.p_adjusted).or(replica.p_value);
    }
    suspect
}

fn operations(site: Site) -> impl Iterator<Item = OperationId> {
    let (first, second) = match site {
        Site::Operation(operation) | Site::Chain(operation) => (operation, None),
        Site::Link { caller, callee } => (caller, Some(callee)),
    };
    std::iter::once(first).chain(second)
}
