//! What all fuzz targets do: hold one format's reader to its contract.

use laggard_formats::{contract::check_all, find_format};

/// Checks everything the contract of readers says on one input.
///
/// # Panics
/// When the contract is broken, or there is no format of this name.
pub fn check(format: &str, bytes: &[u8]) {
    let format = find_format(format).expect("a fuzz target is named after a format");
    check_all(format, bytes);
}
