//! The contract of the readers of kernel traces on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laggard_fuzz::check_kernel_file(b"# tracer: nop\n", bytes));
