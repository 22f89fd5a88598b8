//! Finds the folder of the trace: the given one, or one deeper, as in LTTng sessions (`SESSION/kernel`).

use super::{ctf2, tsdl};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum depth of the search.
const DEPTH_MAX: usize = 6;

/// Maximum number of folder entries examined.
const ENTRIES_MAX: usize = 20_000;

// Limit: traces in a CTF folder | rejected: name one of them
/// Maximum number of traces.
pub(super) const TRACES_MAX: usize = 64;

/// The name of the file that describes a trace.
pub(super) const METADATA: &str = "metadata";

/// Whether the first bytes of a file are those of metadata.
pub(super) fn is_metadata(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    tsdl::is_packetized(head)
        || ctf2::is_json(head)
        || text.starts_with(b"/* CTF ")
        || text.starts_with(b"/*CTF ")
}

/// Whether a folder holds a trace itself.
pub(super) fn is_trace(folder: &Path) -> bool {
    let mut head = Vec::new();
    let read =
        std::fs::File::open(folder.join(METADATA)).and_then(|file| file.take(4096).read_to_end(&mut head));
    read.is_ok() && is_metadata(&head)
}

/// Folders that hold a trace, in order of their names: `path` itself, else those below it; for a file with
/// metadata, the folder it is in.
pub(super) fn traces(path: &Path) -> Vec<PathBuf> {
    let folder = if path.file_name().is_some_and(|name| name == METADATA) && path.is_file() {
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    } else {
        path
    };
    let mut folders_found = Vec::new();
    let mut entries_left = ENTRIES_MAX;
    find_metadata(folder, DEPTH_MAX, &mut entries_left, &mut folders_found);
    folders_found
}

fn find_metadata(folder: &Path, depth: usize, entries_left: &mut usize, folders_found: &mut Vec<PathBuf>) {
    if is_trace(folder) {
        folders_found.push(folder.to_owned());
        return;
    }
    if depth == 0 {
        return;
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut folders: Vec<PathBuf> = entries
        .take(*entries_left)
        .filter_map(|entry| {
            *entries_left = entries_left.saturating_sub(1);
            let entry = entry.ok()?;
            entry.file_type().is_ok_and(|kind| kind.is_dir()).then(|| entry.path())
        })
        .collect();
    folders.sort();
    for folder in folders {
        if folders_found.len() >= TRACES_MAX {
            return;
        }
        find_metadata(&folder, depth - 1, entries_left, folders_found);
    }
}
