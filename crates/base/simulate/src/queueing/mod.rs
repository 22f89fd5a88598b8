//! Event-driven simulation of queues: jobs, stations and the time they take, from the seed alone.
//!
//! ```text
//! Network ── timers (clients that think) ──┐
//!    ├────── Station: processor sharing    ├─► the next event: a timer rings, a job departs
//!    └────── Station: first come, delay  ──┘
//! ```
//!
//! Who moves jobs from one station to the next is not the network's business: `closed` does it for closed
//! networks of any shape, `tpcw` for the paper's shop. An event costs `O(log n)` in the jobs that are there.

mod closed;
mod first_come;
mod network;
mod schedule;
mod shared_cpu;
mod station;
mod work;

pub use closed::{ClosedClass, ClosedNetwork, ClosedRun, ClosedStation, Estimate, Visit, simulate_closed};
pub use station::Discipline;
pub use work::WorkShape;

pub(crate) use network::{Event, Network};
pub(crate) use station::Station;
pub(crate) use work::WorkSource;
