//! References and properties: executions' kinds and deviations, alignment and localisation.

mod anomaly;
mod msa_golden;
mod optics;
mod silhouette;
