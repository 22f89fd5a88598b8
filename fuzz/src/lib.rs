//! What the fuzz targets do: check the contract of readers on any bytes. The first byte selects the format, so that a
//! new row in a list of formats is fuzzed without another target.

use laggard_formats::{FORMATS, MessageKind, MessageReader, ReaderOptions, contract::check_all};
use laggard_kernel_formats::{KERNEL_FORMATS, contract::check_bytes};
use laggard_model::Collect;
use laggard_server::contract::HttpContract;
use std::sync::LazyLock;

/// The row that the first byte selects, and the other bytes.
fn select<'a, T>(rows: &'static [T], bytes: &'a [u8]) -> Option<(&'static T, &'a [u8])> {
    let (first, input) = bytes.split_first()?;
    Some((&rows[usize::from(*first) % rows.len()], input))
}

/// Checks a format of [`FORMATS`].
///
/// # Panics
/// When the contract is broken.
pub fn check_traces(bytes: &[u8]) {
    let Some((format, input)) = select(FORMATS, bytes) else { return };
    check_all(format, input);
}

/// Checks a format of [`KERNEL_FORMATS`].
///
/// # Panics
/// When the contract is broken, or a temporary file cannot be written.
pub fn check_kernel(bytes: &[u8]) {
    let Some((format, input)) = select(KERNEL_FORMATS, bytes) else { return };
    let folder = std::env::temp_dir().join(format!("laggard-fuzz-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the temporary folder is created");
    check_bytes(format, input, &folder);
}

/// Reads a message as a receiver gets it, twice: the state of the first time must not make the second fail.
///
/// # Panics
/// When the two do not agree on whether it is a message.
pub fn check_message(bytes: &[u8]) {
    let Some((&kind, message)) = select(&MessageKind::ALL, bytes) else { return };
    let reader = MessageReader::new(&ReaderOptions::default());
    let first = reader.read(kind, message, &mut Collect::default());
    assert_eq!(first, reader.read(kind, message, &mut Collect::default()));
}

/// Checks the answer to an HTTP request. All requests go to one server, so that some find what earlier ones stored.
///
/// # Panics
/// When the contract is broken.
pub fn check_request(bytes: &[u8]) {
    static SERVER: LazyLock<HttpContract> = LazyLock::new(HttpContract::start);
    SERVER.check(bytes);
}
