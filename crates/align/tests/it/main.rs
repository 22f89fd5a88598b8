//! References and properties of executions' kinds and deviations.

mod anomaly;
mod optics;
mod silhouette;
