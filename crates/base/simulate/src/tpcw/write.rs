//! A run as files.

use super::measure::{ServerSeries, TransactionSeries};
use super::run::TpcwRun;
use crate::generate::TRUTH_FILE;
use crate::write::TraceFile;
use crate::{Compression, Error};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The folder for the samples, inside the output folder.
pub const SAMPLES_FOLDER: &str = "samples";

/// Counts of written records.
#[derive(Clone, PartialEq, Debug)]
pub struct SamplesSummary {
    /// The folder with nothing but sample files.
    pub samples: PathBuf,
    /// The file with the truth.
    pub truth_file: PathBuf,
    /// Completed transactions.
    pub transactions: u64,
    /// Windows.
    pub windows: usize,
    /// Servers.
    pub servers: usize,
    /// Bytes of the samples before compression.
    pub bytes: u64,
}

/// Writes `directory/samples/samples.csv`, a row a window and server, and `directory/truth.json`. The same run
/// gives the same bytes.
///
/// # Errors
/// [`Error::NotEmpty`] when there are samples already, [`Error::Io`] when the operating system refuses.
pub fn write_tpcw(
    run: &TpcwRun,
    directory: &Path,
    compression: Compression,
) -> Result<SamplesSummary, Error> {
    let samples = make_folder(directory)?;
    let mut file = TraceFile::create(&samples, "samples.csv", compression)?;
    let mut line = header(run);
    file.buffer.extend_from_slice(line.as_bytes());
    for window in 0..run.windows {
        for (index, server) in run.servers.iter().enumerate() {
            line.clear();
            row(run, window, server, index == 0, &mut line);
            file.buffer.extend_from_slice(line.as_bytes());
        }
        file.pass_on()?;
    }
    let bytes = file.finish()?;
    let truth_file = directory.join(TRUTH_FILE);
    let mut text = serde_json::to_string_pretty(&run.truth).expect("names and numbers are valid JSON");
    text.push('\n');
    std::fs::write(&truth_file, text).map_err(Error::with_path(&truth_file))?;
    let transactions = run.system.counts.iter().sum::<f64>() as u64;
    Ok(SamplesSummary {
        samples,
        truth_file,
        transactions,
        windows: run.windows,
        servers: run.servers.len(),
        bytes,
    })
}

fn make_folder(directory: &Path) -> Result<PathBuf, Error> {
    let samples = directory.join(SAMPLES_FOLDER);
    std::fs::create_dir_all(&samples).map_err(Error::with_path(&samples))?;
    let mut entries = std::fs::read_dir(&samples).map_err(Error::with_path(&samples))?;
    if entries.next().is_some() { Err(Error::NotEmpty(samples)) } else { Ok(samples) }
}

fn header(run: &TpcwRun) -> String {
    let mut line = "time,server,tier,cores,utilization,clients".to_owned();
    for name in &run.transactions {
        let _ = write!(line, ",count:{name},response_ms:{name},calls:{name}:db,call_ms:{name}:db");
    }
    line.push('\n');
    line
}

/// The row of a server. The clients of the system stand in the first server's.
fn row(run: &TpcwRun, window: usize, server: &ServerSeries, is_first: bool, line: &mut String) {
    push_time(run.since_unix_ns / 1_000_000_000 + (window as i64) * i64::from(run.window_s), line);
    let _ = write!(line, ",{},{},{}", server.server, server.tier, server.cores);
    let _ = write!(line, ",{:.5},", server.utilization[window]);
    if is_first {
        let _ = write!(line, "{:.2}", run.clients[window]);
    }
    let types = run.transactions.len();
    match &server.own {
        Some(own) => (window * types..(window + 1) * types).for_each(|row| push_transaction(own, row, line)),
        None => line.extend(std::iter::repeat_n(',', 4 * types)),
    }
    line.push('\n');
}

fn push_transaction(own: &TransactionSeries, row: usize, line: &mut String) {
    let _ = write!(line, ",{},", own.counts[row]);
    push_ms(own.response_s[row], line);
    for outbound in &own.outbound {
        let _ = write!(line, ",{},", outbound.counts[row]);
        push_ms(outbound.time_s[row], line);
    }
}

/// Milliseconds to a tenth of a microsecond; nothing for what is not known.
fn push_ms(seconds: f64, line: &mut String) {
    if seconds.is_finite() {
        let _ = write!(line, "{:.4}", seconds * 1_000.0);
    }
}

/// RFC 3339 in UTC. Days to a civil date by Howard Hinnant's algorithm (*chrono-compatible low-level date
/// algorithms*), for times after 1970.
fn push_time(unix_s: i64, line: &mut String) {
    let (days, second) = (unix_s.div_euclid(86_400), unix_s.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let _ = write!(line, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_calendar_format() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_768_176_000, "2026-01-12T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
        ];
        for (unix_s, text) in cases {
            let mut line = String::new();
            push_time(unix_s, &mut line);
            assert_eq!(line, text);
        }
    }
}
