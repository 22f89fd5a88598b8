//! References and properties: executions' kinds and deviations, alignment and localisation.

mod anomaly;
//! References and properties of kinds, alignment and localisation.
mod generated;
mod localise_golden;
mod msa_golden;
mod optics;
mod silhouette;
