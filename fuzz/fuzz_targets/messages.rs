//! Complete messages, as receivers get them: the first byte selects the kind.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laggard_fuzz::check_message(bytes));
