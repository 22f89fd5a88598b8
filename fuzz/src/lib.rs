//! What all fuzz targets do: hold one format's reader to its contract.

use laggard_formats::{MessageKind, MessageReader, ReaderOptions, contract::check_all, find_format};
use laggard_kernel_formats::contract::check_hostile;
use laggard_model::Collect;
use std::path::PathBuf;

/// Checks the contract of readers on one input.
///
/// # Panics
/// When the contract is broken, or there is no format of this name.
pub fn check(format: &str, bytes: &[u8]) {
    let format = find_format(format).expect("a fuzz target is named after a format");
    check_all(format, bytes);
}

/// Reads the bytes as a kernel trace in one file, behind the `magic` its format begins with.
///
/// # Panics
/// When the contract is broken, or a temporary file cannot be written.
pub fn check_kernel_file(magic: &[u8], bytes: &[u8]) {
    let path = scratch("trace");
    let whole = [magic, bytes].concat();
    std::fs::write(&path, &whole).expect("the temporary file is written");
    check_hostile(&path, whole.len() as u64);
}

/// Reads the bytes as a CTF folder: metadata up to the first four zero bytes, one stream behind them.
///
/// # Panics
/// As [`check_kernel_file`].
pub fn check_ctf_folder(bytes: &[u8]) {
    let cut = bytes.windows(4).position(|window| window == [0; 4]).unwrap_or(bytes.len());
    let folder = scratch("ctf");
    std::fs::create_dir_all(&folder).expect("the temporary folder is created");
    std::fs::write(folder.join("metadata"), &bytes[..cut]).expect("the metadata are written");
    std::fs::write(folder.join("stream"), bytes.get(cut + 4..).unwrap_or_default())
        .expect("the stream is written");
    check_hostile(&folder, bytes.len() as u64);
}

/// Reads the bytes after the first one as a message of the kind selected by it, twice: the state of
/// the first time must not make the second fail.
///
/// # Panics
/// When the two do not agree on whether it is a message.
pub fn check_message(bytes: &[u8]) {
    let Some((&first, message)) = bytes.split_first() else { return };
    let kind = MessageKind::ALL[usize::from(first) % MessageKind::ALL.len()];
    let reader = MessageReader::new(&ReaderOptions::default());
    let once = reader.read(kind, message, &mut Collect::default());
    assert_eq!(once, reader.read(kind, message, &mut Collect::default()));
}

/// A path of this process's own.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("laggard-fuzz-{}-{name}", std::process::id()))
}
