//! Executions as sequences of states: which kinds there are, which of a sample differ from the normal ones, and at
//! which step (Janecek et al. 2022).
//!
//! ```text
//! StateSequences, normal and sample ─► vectors ─► coarse check ─► OPTICS ─► pairing ─► outliers
//!                                                                                        │
//!                          Diagnosis ◄── localisation ◄── multiple alignment ◄───────────┘
//! ```
//!
//! Pure functions of numbers: states are small integers, executions are 0-based indices into the set they came in.
//! Nothing here knows threads, names or clocks.

pub mod localise;
pub mod msa;
mod sequence;

pub use sequence::{State, StateSequence};
