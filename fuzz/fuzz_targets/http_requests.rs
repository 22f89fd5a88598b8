//! HTTP requests to the API and the receivers: the first byte selects the listener, then a request as in HTTP/1.1.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laggard_fuzz::check_request(bytes));
