//! Tests of the crate from outside, against references, measured data and simulated queues.

mod accuracy;
mod demands;
mod measured;
mod queue;
mod stepwise;
mod tpcw;
mod tuned;
