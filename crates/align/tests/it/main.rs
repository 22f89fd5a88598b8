//! References and properties of executions' kinds and deviations.

mod anomaly;
mod optics;
mod silhouette;
//! Tests of alignment and localisation as their users see them.
mod msa_golden;
