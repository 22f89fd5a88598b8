//! Tests of the crate from outside, against references and measured data.

mod measured;
mod queue;
mod stepwise;
mod tuned;
