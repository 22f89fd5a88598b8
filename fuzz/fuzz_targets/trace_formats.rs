//! The reader contract on any bytes: the first one selects the format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&first, input)) = bytes.split_first() else { return };
    let formats = laggard_formats::FORMATS;
    laggard_fuzz::check(formats[usize::from(first) % formats.len()].name, input);
});
