//! Integration tests of the readers and of the road from paths to records.

mod contract;
mod input;
mod real_data;
mod samples;
mod tables;
