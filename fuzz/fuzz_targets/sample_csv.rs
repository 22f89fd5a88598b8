//! The reader contract on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laggard_fuzz::check("sample-csv", bytes));
