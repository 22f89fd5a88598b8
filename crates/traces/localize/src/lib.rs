//! Which operations on which replicas make requests slow: pure functions over request categories.
//!
//! CloudDiag (Mi et al., IEEE TPDS 24(6), 2013), in the paper's variant and in a robust one:
//!
//! ```text
//! categories ─ gate ─► requests x positions ─ robust PCA ─► flagged positions ─┐ pool by operation
//!    └────────────────────────── peer comparison of replicas ──────────────────┴─► suspects, replicas
//! ```
//!
//! Latency degradation patterns: groups of slow requests and the conditions that characterize them.

mod category;
mod cloud_diag;
pub mod compare;
mod failures;
mod patterns;
mod pca_rank;
mod sites;
mod small_categories;

pub use category::{Call, CategoryCalls, CategoryPosition, RequestRow};
pub use cloud_diag::decompose::{Decomposed, MatrixRanks, PositionFinding, decompose};
pub use cloud_diag::gate::{DispersionGate, gate, gate_weighted};
pub use cloud_diag::replicas::{ReplicaObservations, ReplicaTest, Spread, test_replicas};
pub use cloud_diag::settings::{CloudDiagSettings, Mode, Sparsity, TimeKind};
pub use cloud_diag::{
    CategoryFinding, CloudDiag, Excess, ReplicaCell, SuspectOperation, cloud_diag, cloud_diag_with_ranks,
};
pub use failures::*;
pub use patterns::{
    Condition, LatencyPattern, LatencyPatterns, PatternSettings, RequestTable, RequestTableError,
    latency_patterns,
};
pub use pca_rank::{
    CallCluster, ClusterFinding, ClusterSize, ColumnFinding, MajorClusters, Mi, MiSettings, MinorFate,
    ReplicaHistogram, ReplicaHistograms, Split, SplitDoubt, cluster_sequences, major_clusters, mi,
};
pub use sites::*;
pub use small_categories::cloud_diag_with_small;
