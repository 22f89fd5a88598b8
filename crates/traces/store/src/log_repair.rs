//! Repairs the files of a log that no server has open.

use crate::StoreError;
use crate::damaged_file::counted;
use crate::log::{RepairedFile, first_of_name, missing_file, repaired};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Writes damaged files of the log anew with the records that can be read, and copies what they were to `aside`. Files whose records are
/// all before `replay_from` are left alone. Returns what was done, in sentences.
///
/// # Errors
/// When a file cannot be read or written, or is of another version.
pub(crate) fn repair_log(log: &Path, aside: &Path, replay_from: u64) -> Result<Vec<String>, StoreError> {
    let failed = |error: std::io::Error| StoreError::new(format!("{}: {error}", log.display()));
    let mut firsts = Vec::new();
    for entry in fs::read_dir(log).map_err(failed)? {
        firsts.extend(entry.map_err(failed)?.file_name().to_str().and_then(first_of_name));
    }
    firsts.sort_unstable();
    let mut done = Vec::new();
    let mut expected = replay_from;
    for (index, &first) in firsts.iter().enumerate() {
        let next = firsts.get(index + 1).copied();
        if next.is_some_and(|next| next <= replay_from) {
            continue;
        }
        if first > expected {
            let filled = missing_file(expected, first).map_err(|reason| located(log, expected, reason))?;
            write(log, &filled).map_err(failed)?;
            let lost = counted(filled.lost_records, "batch", "batches");
            done.push(format!("A file of the log is missing. Lost, and counted: {lost}."));
        }
        let name = RepairedFile::name(first);
        let contents = fs::read(log.join(&name)).map_err(failed)?;
        let file = repaired(&contents, first, next).map_err(|reason| located(log, first, reason))?;
        if let Some(file) = file {
            fs::create_dir_all(aside).map_err(failed)?;
            fs::copy(log.join(&name), aside.join(&name)).map_err(failed)?;
            write(log, &file).map_err(failed)?;
            done.push(sentence(&file));
        }
        expected = next.unwrap_or(u64::MAX);
    }
    Ok(done)
}

fn located(log: &Path, first: u64, reason: &str) -> StoreError {
    StoreError::new(format!("{}: {reason}", log.join(RepairedFile::name(first)).display()))
}

fn sentence(file: &RepairedFile) -> String {
    let readable = counted(file.records, "batch", "batches");
    let lost = counted(file.lost_records, "batch", "batches");
    format!(
        "{} of the log was damaged. Kept: {readable}. Lost, and counted: {lost}, {} bytes. What it was is under quarantine/.",
        file.name, file.lost_bytes
    )
}

/// Replaces a file at once, durably.
fn write(log: &Path, file: &RepairedFile) -> std::io::Result<()> {
    let unfinished = log.join(format!("{}.new", file.name));
    let mut fresh = File::create(&unfinished)?;
    fresh.write_all(&file.bytes)?;
    fresh.sync_all()?;
    fs::rename(&unfinished, log.join(&file.name))?;
    File::open(log)?.sync_all()
}
