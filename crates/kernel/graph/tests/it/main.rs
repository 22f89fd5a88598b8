//! The graph, its paths and executions against references, real traces, and properties.
#![expect(clippy::unwrap_used, reason = "tests")]

mod call_stacks;
mod calls;
mod chains;
mod corrections;
mod cpu_waits;
mod edges;
mod events;
mod own_formats;
mod properties;
mod published;
mod recorded;
mod recordings;
mod recursive_reference;
mod same_paths;
mod simulated;
mod synthetic;
mod xml_fixtures;
