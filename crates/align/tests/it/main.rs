//! References and properties of kinds, alignment and localisation.

mod anomaly;
mod msa_golden;
mod optics;
mod silhouette;
