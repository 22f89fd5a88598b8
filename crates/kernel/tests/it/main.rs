//! The graph, its paths and executions against references, real traces, and properties.
#![expect(clippy::unwrap_used, reason = "tests")]

mod chains;
mod own_formats;
mod published;
mod recorded;
mod same_paths;
mod simulated;
mod synthetic;
mod xml_fixtures;
