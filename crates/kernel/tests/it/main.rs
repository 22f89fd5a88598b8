//! Tests of the graph and its paths against references, real traces, and properties.

mod chains;
mod corrections;
mod edges;
mod events;
mod properties;
mod published;
mod recorded;
mod recordings;
mod recursion;
mod synthetic;
mod xml_fixtures;
