//! Compares executions as sequences of states: finds their kinds, sample executions that differ from the normal ones,
//! and the steps at which they differ (Janecek et al. 2022).
//!
//! ```text
//! StateSequences, normal and sample ─► vectors ─► coarse check ─► OPTICS ─► pairing ─► outliers
//!                                                                                        │
//!                          Diagnosis ◄── localization ◄── multiple alignment ◄───────────┘
//! ```
//!
//! Pure functions of numbers: states are small integers, executions are 0-based indices into the set they came in. This
//! crate knows no threads, names, or clocks.

mod anomalies;
mod assignment;
mod chance;
mod describe;
mod diagnosis;
mod findings;
mod kinds;
pub mod localize;
pub mod msa;
mod optics;
mod pairing;
mod paper;
mod pipeline;
mod reference;
mod robust;
mod sequence;
mod sets;
mod settings;
mod silhouette;
mod steps;
mod tail;
mod vectors;

pub use diagnosis::{
    AlignedExecution, Caution, Diagnosis, ExecutionSummary, ExecutionVerdict, FindingGroup, Kind,
    KindAlignment, KindOrigin, KindPair, Occurrence, Resemblance, SampleExecution, StateComparison,
    StateExcess, TimeComparison, Verdict,
};
pub use optics::{Dent, Optics, OpticsSettings, optics};
pub use pairing::{NormalKinds, PairScore, best_pair};
pub use paper::coarse::compare_times;
pub use paper::outliers::SigmaRule;
pub use paper::pairing::best_published_pair;
pub use pipeline::diagnose;
pub use sequence::{StateId, StateSequence};
pub use settings::{AlignMode, AlignSettings};
pub use silhouette::silhouettes;
pub use vectors::{StateVectors, state_vectors, states_of};
