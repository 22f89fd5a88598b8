//! Log lines of `laggard collect` about a round.

use laggard_collect::{Round, SourceStatus};
use std::io::{self, Write};

/// Whether further rounds follow.
#[derive(Clone, Copy)]
pub(crate) enum Further {
    Rounds,
    Nothing,
}

/// A line for the round and one for each problem. Errors of writing are ignored.
pub(crate) fn log_round(number: u64, round: &Round, further: Further) {
    let bytes: u64 = round.sources.iter().map(|status| status.bytes).sum();
    let failed = round.sources.iter().filter(|status| status.failure.is_some()).count();
    let files = round.sources.len();
    let mut out = io::stderr().lock();
    let waiting =
        if round.waiting > 0 { format!(", {} waiting to be retried", round.waiting) } else { String::new() };
    let _ = writeln!(out, "round {number}: {bytes} bytes of {files} files; {failed} failed{waiting}");
    for status in &round.sources {
        for line in lines(status, further) {
            let _ = writeln!(out, "  {}: {line}", status.name);
        }
    }
}

fn lines(status: &SourceStatus, further: Further) -> Vec<String> {
    let mut lines = status.cautions.clone();
    if status.rotations > 0 {
        lines.push("the file was replaced".to_owned());
    }
    if status.remainders_lost > 0 {
        lines.push("the rest of the previous file, if any, is no longer available".to_owned());
    }
    if status.skipped > 0 {
        lines.push(format!("{} bytes of lines longer than --chunk were skipped", status.skipped));
    }
    if status.repeated {
        lines.push("a chunk was sent again, since its acknowledgment was lost".to_owned());
    }
    lines.extend(status.losses.iter().map(|(name, count)| format!("{count} records lost: {name}")));
    if let Some(failure) = &status.failure {
        let pause = status.retry_in.unwrap_or_default().as_secs();
        lines.push(match further {
            Further::Rounds => {
                format!("{failure} ({} in a row); retry in {pause} s", status.failures)
            }
            Further::Nothing => failure.to_string(),
        });
    }
    lines
}
