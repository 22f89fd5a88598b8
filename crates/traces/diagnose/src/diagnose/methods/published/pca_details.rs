//! Clusters, components, and times of replicas of method `pca`, for the report.

use crate::diagnose::answer::SurveyResult;
use crate::diagnose::question::DiagnoseQuestion;
use laggard_localize::{CallCluster, ClusterFinding, Mi, MinorFate, ReplicaHistograms, SplitDoubt};
use laggard_model::OperationId;
use laggard_report::{
    ClusterComponents, ClusterRole, PcaDetails, ReplicaHistogram, ReplicaTimes, RequestCluster,
};
use std::collections::BTreeMap;

// Limit: clusters in a report of method `pca` | the smaller ones are counted
const CLUSTERS_MAX: usize = 1_000;
/// Suspects of which the times of replicas are reported.
const SUSPECTS_MAX: usize = 10;
/// Replicas of a suspect whose times are reported.
const REPLICAS_MAX: usize = 100;
/// Bins of reported times; finer ones are joined.
const BINS_MAX: usize = 64;

pub(super) fn details(question: &DiagnoseQuestion<'_>, surveyed: &SurveyResult, answer: &Mi) -> PcaDetails {
    let suspects = answer.suspects.iter().zip(&answer.histograms).take(SUSPECTS_MAX);
    PcaDetails {
        clusters: clusters(question, surveyed, answer),
        clusters_omitted: answer.call_clusters.len().saturating_sub(CLUSTERS_MAX) as u64,
        replica_times: suspects
            .map(|(suspect, histograms)| replica_times(question, suspect.operation, histograms))
            .collect(),
    }
}

fn clusters(question: &DiagnoseQuestion<'_>, surveyed: &SurveyResult, answer: &Mi) -> Vec<RequestCluster> {
    let entry = |cluster: &CallCluster| surveyed.categories[cluster.category].positions[0].operation;
    let mut totals: BTreeMap<OperationId, u64> = BTreeMap::new();
    for cluster in &answer.call_clusters {
        *totals.entry(entry(cluster)).or_default() += cluster.requests;
    }
    let mut majors = answer.clusters.iter();
    let mut before: Option<(OperationId, u64)> = None;
    let mut out = Vec::new();
    for cluster in answer.call_clusters.iter().take(CLUSTERS_MAX) {
        let operation = entry(cluster);
        let listed = before.filter(|(known, _)| *known == operation).map_or(0, |(_, listed)| listed);
        let listed = listed + cluster.requests;
        before = Some((operation, listed));
        let (role, finding) = match cluster.minor {
            None => (ClusterRole::Major, majors.next()),
            Some(MinorFate::Joins(_)) => (ClusterRole::Joined, None),
            Some(MinorFate::Unlike) => (ClusterRole::Separate, None),
            Some(MinorFate::NotCompared) => (ClusterRole::NotCompared, None),
        };
        let key = question.requests.names().operation_key(operation);
        out.push(RequestCluster {
            category: surveyed.categories[cluster.category].id.short(),
            service: key.service.to_owned(),
            operation: key.operation.to_owned(),
            positions: cluster.positions as u64,
            requests: cluster.requests,
            cumulative_share: listed as f64 / totals[&operation].max(1) as f64,
            role,
            components: finding.and_then(components),
        });
    }
    out
}

fn components(cluster: &ClusterFinding) -> Option<ClusterComponents> {
    (cluster.split.doubt != SplitDoubt::TooFewRequests).then(|| ClusterComponents {
        requests: cluster.requests,
        normal: cluster.split.components as u64,
        cumulative_variance: cluster.split.cumulative_variance.clone(),
        beyond_limit: cluster.split.beyond,
    })
}

fn replica_times(
    question: &DiagnoseQuestion<'_>,
    operation: OperationId,
    histograms: &ReplicaHistograms,
) -> ReplicaTimes {
    let names = question.requests.names();
    let key = names.operation_key(operation);
    let bins = histograms.edges_ns.len().saturating_sub(1);
    let joined = bins.div_ceil(BINS_MAX).max(1);
    let mut order: Vec<_> = histograms.replicas.iter().collect();
    order.sort_by(|a, b| {
        b.dissimilarity.ratio.total_cmp(&a.dissimilarity.ratio).then(a.replica.cmp(&b.replica))
    });
    let replicas = order.iter().take(REPLICAS_MAX).map(|found| ReplicaHistogram {
        replica: names.replica_name(found.replica).to_owned(),
        values: found.values,
        shares: found.shares.chunks(joined).map(|shares| shares.iter().sum()).collect(),
        distance: found.dissimilarity.distance,
        dissimilarity_ratio: found.dissimilarity.ratio,
    });
    let edges = histograms.edges_ns.iter().step_by(joined).copied();
    // The last bin can consist of fewer bins than the others.
    let last = histograms.edges_ns.last().copied().filter(|_| !bins.is_multiple_of(joined));
    ReplicaTimes {
        service: key.service.to_owned(),
        operation: key.operation.to_owned(),
        edges_ns: edges.chain(last).collect(),
        replicas: replicas.collect(),
        replicas_omitted: histograms.replicas.len().saturating_sub(REPLICAS_MAX) as u64,
    }
}
