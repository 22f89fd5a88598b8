//! Small files that flags name: secrets, certificates.

use crate::exit::CommandError;
use std::path::Path;

/// Largest file of a secret or of certificates.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The text of such a file.
pub(crate) fn text_of(file: &Path) -> Result<String, CommandError> {
    let unreadable =
        |reason: &dyn std::fmt::Display| CommandError::unreadable(format!("{}: {reason}", file.display()));
    let size = std::fs::metadata(file).map_err(|error| unreadable(&error))?.len();
    if size > FILE_BYTES_MAX {
        return Err(unreadable(&"larger than 1 MiB"));
    }
    std::fs::read_to_string(file).map_err(|error| unreadable(&error))
}
