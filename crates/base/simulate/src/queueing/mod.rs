//! Event-driven simulation of queues: jobs, stations and the time they take, from the seed alone.
//!
//! ```text
//! Network ── timers (clients that think) ──┐
//!    ├────── Station: processor sharing    ├─► the next event: a timer rings, a job departs
//!    └────── Station: first come, delay  ──┘
//! ```
//!
//! The network does not route jobs: `tpcw` does it for the paper's shop, and the tests for closed networks, which
//! are compared with exact results. An event costs `O(log n)` in the number of jobs.

mod first_come;
mod network;
mod schedule;
mod shared_cpu;
mod station;
mod work;

pub use station::Discipline;
pub use work::WorkShape;

pub(crate) use network::{Event, Network};
pub(crate) use station::Station;
pub(crate) use work::WorkSource;

#[cfg(test)]
mod tests;
