//! Finders of executions over hand-written events.

mod markers;
mod notation;
mod others;
mod properties;
