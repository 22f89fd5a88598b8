//! Tests of the store through its public interface.

mod kill;
mod kill_run;
