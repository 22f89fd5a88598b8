//! Tests of the store as others use it.

mod kill;
mod kill_run;
