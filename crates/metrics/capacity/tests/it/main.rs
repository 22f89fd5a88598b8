//! Mean value analysis against references, closed forms, and an independent simulation.

#![expect(clippy::unwrap_used, reason = "tests")]

mod closed_forms;
mod golden;
mod many_classes;
mod properties;
mod simulation;
