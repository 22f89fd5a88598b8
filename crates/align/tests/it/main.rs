//! References and properties of executions' kinds and deviations.

mod optics;
