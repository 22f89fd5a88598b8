//! Executions as sequences of states: which kinds there are, which of a sample differ from the normal ones, and at
//! which step (Janecek et al. 2022).
//!
//! ```text
//! StateSequences, normal and sample ─► vectors ─► coarse check ─► OPTICS ─► pairing ─► outliers
//!                                                                                        │
//!                          Diagnosis ◄── localization ◄── multiple alignment ◄───────────┘
//! ```
//!
//! Pure functions of numbers: states are small integers, executions are 0-based indices into the set they came in.
//! Nothing here knows threads, names or clocks.

mod coarse;
mod describe;
mod diagnosis;
mod findings;
mod judge;
mod kinds;
pub mod localize;
pub mod msa;
mod optics;
mod outliers;
mod pairing;
mod paper;
mod pipeline;
mod place;
mod reference;
mod robust;
mod sequence;
mod settings;
mod silhouette;
mod steps;
mod tail;
mod vectors;

pub use coarse::compare_times;
pub use diagnosis::{
    AlignedExecution, Caution, Diagnosis, ExecutionPlace, ExecutionVerdict, FindingGroup, JudgedExecution,
    Kind, KindAlignment, KindOrigin, Occurrence, Pair, Resemblance, StateComparison, StateExcess,
    TimeComparison, Verdict,
};
pub use optics::{Dent, Optics, OpticsSettings, optics};
pub use outliers::SigmaRule;
pub use pairing::{NormalKinds, PairScore, best_pair};
pub use pipeline::diagnose;
pub use sequence::{State, StateSequence};
pub use settings::{AlignMode, AlignSettings, AlignSettingsError};
pub use silhouette::silhouettes;
pub use vectors::{StateVectors, state_vectors, states_of};
