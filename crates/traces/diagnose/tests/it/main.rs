//! Diagnosis of simulated incidents, and the laws of the folds behind it.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod attributes;
mod baselines;
mod causes;
mod comparison;
mod events;
mod failures;
mod folds;
mod hits;
mod incidents;
mod sampling;
mod simulated;
mod sites;
mod skewed_clocks;
mod units;
