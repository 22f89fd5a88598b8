//! Tests of the graph and its paths against references, real traces, and properties.

mod chains;
mod published;
mod recorded;
mod synthetic;
mod xml_fixtures;
//! Tests of executions against real recordings.
mod own_formats;
