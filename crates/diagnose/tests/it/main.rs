//! Diagnosis of simulated incidents, and the laws of the folds behind it.

mod baselines;
mod capacity;
mod comparison;
mod folds;
mod incidents;
mod sampling;
mod shop;
mod simulated;
mod sites;
