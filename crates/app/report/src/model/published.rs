//! Intermediate results of the published methods, as their papers show them.

use serde::Serialize;
use utoipa::ToSchema;

/// Results of method `pca` (Mi et al., Sci. China Inf. Sci. 55(12), 2012).
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct PcaDetails {
    /// Clusters of requests (Figures 4 to 6): by entry operation, major ones first, then by requests; at most 1,000.
    pub clusters: Vec<RequestCluster>,
    /// Smaller clusters that are not listed.
    pub clusters_omitted: u64,
    /// Times of the replicas of the first ten suspects (Equations 2 to 5), in the order of the suspects.
    pub replica_times: Vec<ReplicaTimes>,
}

/// Requests with one sequence of calls; in robust mode with one call tree.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct RequestCluster {
    /// Id of its first category.
    pub category: String,
    /// The entry's service.
    pub service: String,
    /// The entry's operation.
    pub operation: String,
    /// Calls of a request, loops collapsed.
    pub positions: u64,
    /// Requests, without those of clusters that join it.
    pub requests: u64,
    /// Share of the requests with the same entry operation in this cluster and those listed before it, 0..1.
    pub cumulative_share: f64,
    /// Its role.
    pub role: ClusterRole,
    /// The principal components of a major cluster that was analyzed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<ClusterComponents>,
}

/// The role of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterRole {
    /// It is analyzed: the largest clusters are, until they hold enough of the requests.
    Major,
    /// It joined the major cluster at the smallest edit distance.
    Joined,
    /// No major cluster is similar enough.
    Separate,
    /// There were too many clusters, or too long ones, to compare it with the major ones.
    NotCompared,
}

/// The principal components of a cluster's request matrix.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ClusterComponents {
    /// Requests of the matrix, with those of clusters that joined.
    pub requests: u64,
    /// Components of the normal subspace: the fewest that hold the share of the variance that `pca-variance` says.
    pub normal: u64,
    /// Share of the variance in the first 1, 2, … components together, 0..1: up to those of the normal subspace, and at
    /// least ten if there are so many.
    pub cumulative_variance: Vec<f64>,
    /// Requests with a squared prediction error above the limit.
    pub beyond_limit: u64,
}

/// Times of the replicas of a suspect in common bins.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ReplicaTimes {
    /// Service.
    pub service: String,
    /// Operation.
    pub operation: String,
    /// Ends of the bins in nanoseconds, growing; one more than bins, of which there are at most 64. In robust mode evenly
    /// spaced in the logarithm.
    pub edges_ns: Vec<f64>,
    /// Its replicas, the largest dissimilarity ratio first; at most 100.
    pub replicas: Vec<ReplicaHistogram>,
    /// Replicas that are not listed.
    pub replicas_omitted: u64,
}

/// A replica's times, and how much they differ from those of the other replicas.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ReplicaHistogram {
    /// The replica's name.
    pub replica: String,
    /// Number of its times.
    pub values: u64,
    /// Share of its times in each bin, 0..1.
    pub shares: Vec<f64>,
    /// Mean Jensen–Shannon distance (root of the divergence in nats) to the other replicas, 0 to 0.833.
    pub distance: f64,
    /// Its distances to the others over all pairwise distances, 0..1; one divided by the number of replicas when none
    /// differs, near 0.5 for a single one that does.
    pub dissimilarity_ratio: f64,
}

/// Numerical ranks (singular values above 1e-5 of the largest) of a category's request matrix `M = L + E`, of method
/// `clouddiag` (Mi et al., IEEE TPDS 24(6), 2013, Table 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct MatrixRanks {
    /// Of the times, `M`.
    pub matrix: u64,
    /// Of the low-rank part, `L`.
    pub low_rank: u64,
    /// Of the sparse part, `E`.
    pub sparse: u64,
}
