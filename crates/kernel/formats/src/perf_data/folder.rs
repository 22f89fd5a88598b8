//! Folders of `perf record --threads`: a file `data` with the head and perf's own records, and records alone in `data.0`,
//! `data.1` and so on, a file a recording thread.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Maximum number of recording threads: at most one per CPU.
const THREADS_MAX: usize = 8192;

/// The file with the head: the path itself, or the one in the folder.
pub(super) fn main_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("data") } else { path.to_owned() }
}

/// Whether a folder holds such files.
pub(super) fn recognize(path: &Path) -> bool {
    path.is_dir() && magic(&path.join("data")).is_ok_and(|magic| super::is_magic(&magic))
}

fn magic(path: &Path) -> io::Result<[u8; 8]> {
    let mut magic = [0; 8];
    File::open(path)?.read_exact(&mut magic)?;
    Ok(magic)
}

/// The files of the recording threads; none of a single file.
pub(super) fn thread_files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return Vec::new();
    }
    let files = (0..THREADS_MAX).map(|number| path.join(format!("data.{number}")));
    files.take_while(|file| file.is_file()).collect()
}
