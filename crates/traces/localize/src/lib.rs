//! Which operations on which replicas make requests slow: pure functions over request categories.
//!
//! CloudDiag (Mi et al., IEEE TPDS 24(6), 2013), in the paper's form and in a robust form:
//!
//! ```text
//! categories ─ gate ─► requests x positions ─ robust PCA ─► flagged positions ─┐ pool by operation
//!    └────────────────────────── peer comparison of replicas ──────────────────┴─► suspects, replicas
//! ```
//!
//! Latency degradation patterns: which requests of a matrix requests x operations were hit by what.

mod category;
mod cloud_diag;
pub mod compare;
mod decompose;
mod evidence;
mod gate;
mod patterns;
mod pca_rank;
mod peers;
mod pool;
mod replicas;
mod settings;
mod sites;

pub use category::{Call, CategoryCalls, CategoryPosition, RequestRow};
pub use cloud_diag::{CategoryFinding, CloudDiag, Excess, ReplicaCell, SuspectOperation, cloud_diag};
pub use decompose::{Decomposed, PositionFinding, decompose};
pub use gate::{DispersionGate, gate, gate_weighted};
pub use patterns::{
    Condition, LatencyPattern, LatencyPatterns, PatternSettings, RequestTable, RequestTableError,
    latency_patterns,
};
pub use pca_rank::{
    ClusterFinding, ClusterSize, ColumnFinding, MajorClusters, Mi, MiSettings, MinorFate, ReplicaRatio,
    Split, SplitDoubt, cluster_sequences, major_clusters, mi,
};
pub use replicas::{ReplicaObservations, ReplicaTest, Spread, test_replicas};
pub use settings::{CloudDiagSettings, Mode, TimeKind};
pub use sites::*;
