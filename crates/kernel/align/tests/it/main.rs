//! References and properties of kinds of executions, alignment, and localization.

#![expect(clippy::unwrap_used, reason = "a missing value fails the test")]

mod anomaly;
mod generated;
mod injected;
mod localize_golden;
mod msa_golden;
mod msa_properties;
mod optics;
mod pipeline;
mod silhouette;
mod situations;
