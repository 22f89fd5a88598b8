//! Tests of the crate from outside, against references and measured data.

mod stepwise;
