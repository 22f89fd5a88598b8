//! Hostile inputs for the readers of kernel traces, without a fuzzer.
//!
//! ```text
//! cargo run --release -p laggard-experiments --example hostile_kernel -- BYTES TRACE…
//! ```
//!
//! Damages each trace in many ways until so many bytes have been read, and prints the slowest case. Of a folder, its
//! largest file and its metadata are spoilt in turn. Ends with a panic, and the input in a file, when a reader breaks
//! its contract.
#![expect(clippy::print_stdout, reason = "a command-line program")]

use laggard_formats::FORMATS;
use laggard_formats::contract::HostileCases;
use laggard_kernel_formats::contract::check_hostile;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Files beyond this size are cut before they are spoilt: many small inputs find more than few large ones.
const SAMPLE_BYTES_MAX: usize = 64 << 10;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let budget: u64 = arguments.next().and_then(|text| text.parse().ok()).expect("a number of bytes");
    for path in arguments.map(PathBuf::from) {
        spoil(&path, budget)?;
    }
    Ok(())
}

fn spoil(path: &Path, budget: u64) -> std::io::Result<()> {
    let scratch = tempfile::tempdir()?;
    let targets = copy(path, scratch.path())?;
    let (mut read, mut cases, mut slowest) = (0, 0, (Duration::ZERO, String::new()));
    for target in &targets {
        let sample = fs::read(target)?;
        let cut = sample[..sample.len().min(SAMPLE_BYTES_MAX)].to_vec();
        let share = budget / targets.len() as u64;
        let mut used = 0;
        // No format of spans: every sample is another's, and only spoiling matters.
        for case in HostileCases::new(&FORMATS[0], vec![cut], 1, 20_000) {
            if used >= share {
                break;
            }
            fs::write(target, &case.bytes)?;
            let started = Instant::now();
            let opened = if path.is_dir() { scratch.path() } else { target };
            check_hostile(opened, case.bytes.len() as u64 + sample.len() as u64 * 8);
            let elapsed = started.elapsed();
            if elapsed > slowest.0 {
                slowest = (elapsed, case.name);
            }
            used += case.bytes.len() as u64 + 1;
            cases += 1;
        }
        read += used;
        fs::write(target, &sample)?;
    }
    println!("{}: {cases} cases, {read} bytes; slowest {:?} ({})", path.display(), slowest.0, slowest.1);
    Ok(())
}

/// Copies a file, or the files of a folder; the ones to spoil.
fn copy(path: &Path, scratch: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        let target = scratch.join("trace");
        fs::copy(path, &target)?;
        return Ok(vec![target]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let target = scratch.join(entry.file_name());
            files.push((fs::copy(entry.path(), &target)?, target));
        }
    }
    files.sort();
    let metadata = files.iter().find(|(_, target)| target.ends_with("metadata")).cloned();
    let largest = files.last().cloned();
    Ok(metadata.into_iter().chain(largest).map(|(_, target)| target).collect())
}
