//! Merges the suspects of several finders.

use super::site_study::SiteStudy;
use crate::diagnose::answer::{Evidence, Suspect};
use laggard_localize::{Site, Spread};
use laggard_model::{OperationId, ReplicaId};
use std::collections::{BTreeMap, BTreeSet};

/// Evidence against each operation that some finder named, whether the operation remains a suspect or not.
pub(super) fn evidence_by_operation(
    dispersed: &[Suspect],
    patterned: &[Suspect],
    study: &SiteStudy,
) -> BTreeMap<OperationId, BTreeSet<Evidence>> {
    let named = dispersed.iter().chain(patterned);
    let named = named.flat_map(|suspect| suspect.evidence.iter().map(|&kind| (suspect.operation, kind)));
    let peers =
        study.uneven.iter().map(|suspect| suspect.operation).chain(study.uneven_in_periods.iter().copied());
    let peers = peers.map(|operation| (operation, Evidence::Peers));
    let baseline = study.shifted.iter().map(|suspect| (suspect.operation, Evidence::Baseline));
    let periods = study.incidents.iter().flat_map(|(_, suspects)| suspects);
    let periods = periods.map(|suspect| (suspect.operation, Evidence::Period));
    let attributes = study.uneven_values.iter();
    let attributes = attributes.map(|one| (one.found.suspect.operation, Evidence::Attribute));
    let mut evidence: BTreeMap<OperationId, BTreeSet<Evidence>> = BTreeMap::new();
    for (operation, kind) in named.chain(peers).chain(baseline).chain(periods).chain(attributes) {
        evidence.entry(operation).or_default().insert(kind);
    }
    evidence
}

/// Merges suspects by requests with those by sites, one per operation, the largest
/// excess first. Each list has an operation at most once.
pub(super) fn merge_evidence(
    by_requests: Vec<Suspect>,
    by_sites: Vec<Suspect>,
    evidence: BTreeMap<OperationId, BTreeSet<Evidence>>,
) -> Vec<Suspect> {
    let mut merged: BTreeMap<OperationId, Suspect> =
        by_requests.into_iter().map(|suspect| (suspect.operation, suspect)).collect();
    for suspect in by_sites {
        let suspect = match merged.remove(&suspect.operation) {
            None => suspect,
            Some(by_requests) => merge(by_requests, suspect),
        };
        merged.insert(suspect.operation, suspect);
    }
    let mut suspects: Vec<Suspect> = merged.into_values().collect();
    for suspect in &mut suspects {
        let kinds = evidence.get(&suspect.operation);
        suspect.evidence = kinds.map_or_else(Vec::new, |kinds| kinds.iter().copied().collect());
        let excess_s = suspect.excess.total_ns / 1e9;
        suspect.score = if excess_s > 0.0 { excess_s } else { suspect.categories.len() as f64 };
    }
    suspects
        .sort_by(|a, b| b.excess.total_ns.total_cmp(&a.excess.total_ns).then(a.operation.cmp(&b.operation)));
    suspects
}

/// One suspect of two with the same operation: figures of the larger excess; culprits of both, except that calls in
/// a chain are judged as a chain only.
fn merge(by_requests: Suspect, by_sites: Suspect) -> Suspect {
    let sites = by_sites.sites.iter().flat_map(|figures| &figures.sites);
    let is_chain = sites.into_iter().any(|site| matches!(site, Site::Chain(_)));
    let further = if is_chain { Vec::new() } else { by_requests.culprits };
    let replicas = by_requests.replicas.len().max(by_sites.replicas.len());
    let culprits = culprits_of_both(by_sites.culprits, further, replicas);
    let spread = match (culprits.is_empty(), by_requests.spread) {
        (false, _) => Spread::Localized,
        (true, Spread::Localized) => by_sites.spread,
        (true, spread) => spread,
    };
    let requests_know_more = by_requests.replicas.len() >= by_sites.replicas.len() && !is_chain;
    let mut replicas = if requests_know_more { by_requests.replicas } else { by_sites.replicas };
    for replica in &mut replicas {
        replica.is_culprit = culprits.contains(&replica.replica);
    }
    let requests_are_slower = by_requests.excess.total_ns > by_sites.excess.total_ns;
    // A site has no position: it is an operation regardless of its callers.
    let has_positions = !by_requests.positions.is_empty();
    Suspect {
        operation: by_sites.operation,
        evidence: Vec::new(),
        spread,
        culprits,
        replicas,
        positions: if has_positions { by_requests.positions } else { by_sites.positions },
        categories: union(by_requests.categories, by_sites.categories),
        excess: if requests_are_slower { by_requests.excess } else { by_sites.excess },
        hit: union(by_requests.hit, by_sites.hit),
        stands_out: false,
        score: 0.0,
        between: by_sites.between,
        onset: by_sites.onset,
        behavior: Vec::new(),
        sites: by_sites.sites,
        hits: None,
        attributes: Vec::new(),
        load: None,
        in_succession: false,
    }
}

/// Culprits by sites, and further ones by requests. Sites compare all calls of each replica with those of its peers, requests only count slow
/// ones, which all replicas may have: they do not make culprits of more than half of the replicas.
fn culprits_of_both(
    by_sites: Vec<ReplicaId>,
    by_requests: Vec<ReplicaId>,
    replicas: usize,
) -> Vec<ReplicaId> {
    let mut both = by_sites.clone();
    both.extend(by_requests.into_iter().filter(|replica| !by_sites.contains(replica)));
    if by_sites.is_empty() || 2 * both.len() <= replicas { both } else { by_sites }
}

fn union<T: Ord>(a: Vec<T>, b: Vec<T>) -> Vec<T> {
    let all: BTreeSet<T> = a.into_iter().chain(b).collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_add_culprits_but_do_not_make_most_replicas_slower_than_most() {
        let culprits = |by_sites: &[usize], by_requests: &[usize], replicas| {
            let ids = |of: &[usize]| of.iter().map(|&index| ReplicaId::from_index(index)).collect();
            let found = culprits_of_both(ids(by_sites), ids(by_requests), replicas);
            found.iter().map(|replica| replica.index()).collect::<Vec<_>>()
        };
        assert_eq!(culprits(&[1], &[0, 1, 2], 3), [1]);
        assert_eq!(culprits(&[1], &[0], 3), [1]);
        assert_eq!(culprits(&[1], &[0, 1], 4), [1, 0]);
        assert_eq!(culprits(&[1, 2], &[2], 3), [1, 2], "sites may find most");
        assert_eq!(culprits(&[], &[0, 2], 3), [0, 2]);
    }
}
