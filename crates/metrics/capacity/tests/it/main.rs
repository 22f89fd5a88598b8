//! Mean value analysis against references, closed forms, and a simulation of its own.

#![expect(clippy::unwrap_used, reason = "tests")]

mod closed_forms;
mod golden;
mod many_classes;
mod properties;
mod simulation;
