//! References and properties: executions' kinds and deviations, alignment and localisation.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod anomaly;
mod generated;
mod injected;
mod localise_golden;
mod msa_golden;
mod msa_properties;
mod optics;
mod pipeline;
mod silhouette;
mod situations;
