//! References and properties of kinds, alignment and localisation.

mod anomaly;
mod generated;
mod localise_golden;
mod msa_golden;
mod optics;
mod pipeline;
mod silhouette;
