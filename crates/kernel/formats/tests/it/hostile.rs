//! Every format reads arbitrary bytes without harm.

use laggard_kernel_formats::{KERNEL_FORMATS, contract::check_bytes};
use laggard_model::mix64;

const INPUTS: u64 = 60;

/// Bytes of a seed: random, or few different values, so that fields of formats are often valid.
fn bytes(seed: u64) -> Vec<u8> {
    let values = if seed.is_multiple_of(2) { 256 } else { 4 };
    let length = mix64(seed) % 4_000;
    (0..length).map(|index| (mix64(seed << 32 | index) % values) as u8).collect()
}

#[test]
fn no_format_panics_on_arbitrary_bytes() {
    for format in KERNEL_FORMATS {
        for seed in 0..INPUTS {
            let folder = tempfile::tempdir().unwrap();
            check_bytes(format, &bytes(seed), folder.path());
        }
    }
}

#[test]
fn every_format_has_a_page() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for format in KERNEL_FORMATS {
        assert!(root.join(format.manual).is_file(), "no page {}", format.manual);
    }
}
