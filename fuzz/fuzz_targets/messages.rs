//! Whole messages, as receivers get them: the first byte tells of which kind.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laggard_fuzz::check_message(bytes));
