//! Mean value analysis against references, closed forms, and a simulation of its own.

mod closed_forms;
mod golden;
mod many_classes;
mod properties;
mod simulation;
