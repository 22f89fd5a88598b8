//! Integration tests against references, measured data, and simulated queues.

mod accuracy;
mod adaptive;
mod demands;
mod measured;
mod pairs;
mod queue;
mod rules;
mod stepwise;
mod tpcw;
