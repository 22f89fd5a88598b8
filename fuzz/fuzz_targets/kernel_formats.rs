//! The contract of the readers of kernel traces on any bytes: the first one selects the format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laggard_fuzz::check_kernel(bytes));
