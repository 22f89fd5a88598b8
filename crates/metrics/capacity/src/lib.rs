//! Capacity of a system of queues: service demands and mean value analysis (Cherkasova et al. 2009, section 7; Reiser
//! and Lavenberg 1980).
//!
//! Pure functions of numbers. Times are seconds, rates are per second, populations are clients.
//!
//! ```text
//! demands ──► Network (one class) ──► ExactMva, solve, most_clients, curve
//!         └─► ClassNetwork        ──► solve_classes: exact by the lattice or by convolution, or Linearizer
//! ```
//!
//! All of it assumes product form: service of random length under processor sharing (or first come, first served with
//! the same exponential service for all), no blocking. Locks, connection pools, and garbage collection are not modeled.

mod bounds;
mod classes;
mod client_groups;
mod constants;
mod demand;
mod exact;
mod idle;
mod lattice;
mod linear_use;
mod linearizer;
mod log_lattice;
mod network;
mod open;
mod seidmann;
mod solve;
mod solve_classes;
mod system;

pub use bounds::{Bounds, bounds};
pub use classes::{Class, ClassNetwork, ClassSolution, ClassStation};
pub use client_groups::{ClientGroup, GroupLoad, GroupsCapacity, GroupsSolution};
pub use demand::{
    CalleeVisits, LatencyParts, OutboundTime, busy_demand, front_demand, latency_parts, mean_visits_demand,
    own_latency,
};
pub use exact::ExactMva;
pub use linear_use::{FullAt, LinearUse, ResourceUse};
pub use network::{
    Algorithm, CORES_MAX, Network, NetworkError, REPLICAS_MAX, Service, Solution, Station, StationLoad,
};
pub use open::{erlang_c, most_throughput, open_solution};
pub use seidmann::seidmann;
pub use solve::{Capacity, WORK_MAX, curve, most_clients, solve, solve_fractional};
pub use solve_classes::{solve_classes, solve_classes_by};
pub use system::{BACKGROUND_MAX, System, Tier};
