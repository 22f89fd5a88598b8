//! Runs hostile inputs through the readers, without a fuzzer and without nightly Rust:
//!
//! `cargo run --release -p laggard-experiments --example hostile -- --bytes 50MB [--format NAME] [--seed N]`
//!
//! The inputs are made from `tests/samples` and by hand, the same for the same seed. `--bytes` counts per
//! format. The exit code is 1 when a reader panics or breaks its contract, takes too long, or needs too much
//! memory; the input is then left in the temporary folder.
#![expect(clippy::print_stdout, reason = "a command-line program")]

use laggard_formats::contract::{HostileCase, HostileCases, check_all, check_hostile};
use laggard_formats::{FORMATS, Format, ReaderOptions, find_format};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Longest time for one case; a reader that does linear work needs milliseconds.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Most memory above that of the driver itself.
const MEMORY_MAX_KB: u64 = 256 << 10;

/// Inputs up to this size are also checked for splits and truncations.
const SMALL: usize = 4 << 10;

struct Arguments {
    bytes: u64,
    formats: Vec<&'static Format>,
    seed: u64,
}

/// The sums of one format's cases.
#[derive(Default)]
struct Totals {
    cases: u64,
    bytes: u64,
    records: u64,
    losses: u64,
    gave_up: u64,
    slowest: Duration,
    slowest_name: String,
    peak_kb: u64,
    peak_name: String,
    failures: u64,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            println!("{message}");
            return ExitCode::from(2);
        }
    };
    let mut samples = Vec::new();
    collect_samples(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/traces/formats/tests/samples"),
        &mut samples,
    );
    let mut failures = 0;
    for format in &arguments.formats {
        let totals = run(format, &samples, &arguments);
        print_totals(format, &totals);
        failures += totals.failures;
    }
    ExitCode::from(u8::from(failures > 0))
}

fn run(format: &Format, samples: &[Vec<u8>], arguments: &Arguments) -> Totals {
    let giant = (arguments.bytes / 40) as usize;
    let mut totals = Totals::default();
    for case in HostileCases::new(format, samples.to_vec(), arguments.seed, giant) {
        run_case(format, &case, &mut totals);
        if totals.bytes >= arguments.bytes {
            break;
        }
    }
    totals
}

fn run_case(format: &Format, case: &HostileCase, totals: &mut Totals) {
    reset_peak();
    let before = resident_kb("VmHWM:");
    let started = Instant::now();
    let outcome =
        catch_unwind(AssertUnwindSafe(|| check_hostile(format, &ReaderOptions::default(), &case.bytes)));
    let elapsed = started.elapsed();
    let peak = resident_kb("VmHWM:").saturating_sub(before);
    let small = catch_unwind(AssertUnwindSafe(|| {
        if case.bytes.len() <= SMALL {
            check_all(format, &case.bytes);
        }
    }));
    totals.cases += 1;
    totals.bytes += case.bytes.len() as u64;
    if let Ok(outcome) = &outcome {
        totals.records += outcome.records;
        totals.losses += outcome.losses;
        totals.gave_up += u64::from(outcome.gave_up);
    }
    if elapsed > totals.slowest {
        (totals.slowest, totals.slowest_name) = (elapsed, case.name.clone());
    }
    if peak > totals.peak_kb {
        (totals.peak_kb, totals.peak_name) = (peak, case.name.clone());
    }
    let is_broken = outcome.is_err() || small.is_err();
    if is_broken || elapsed > TIME_MAX || peak > MEMORY_MAX_KB {
        totals.failures += 1;
        let path = std::env::temp_dir().join(format!("hostile-{}-{}.bin", format.name, totals.cases));
        let stored =
            fs::write(&path, &case.bytes).map_or("not stored".to_owned(), |()| path.display().to_string());
        println!("FAILED {}: {} ({elapsed:.1?}, {peak} kB): input in {stored}", format.name, case.name);
    }
}

fn print_totals(format: &Format, totals: &Totals) {
    println!(
        "{}: {} cases, {} bytes: {} records, {} losses, {} rejected; slowest {:.1?} ({}); peak {} kB above the input \
         ({}); {} failures",
        format.name,
        totals.cases,
        totals.bytes,
        totals.records,
        totals.losses,
        totals.gave_up,
        totals.slowest,
        totals.slowest_name,
        totals.peak_kb,
        totals.peak_name,
        totals.failures
    );
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments { bytes: 1_000_000, formats: FORMATS.iter().collect(), seed: 1 };
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word} needs a value"))?;
        match word.as_str() {
            "--bytes" => arguments.bytes = parse_bytes(&value)?,
            "--seed" => {
                arguments.seed = value.parse().map_err(|_| format!("--seed {value}: not a number"))?
            }
            "--format" => {
                let format =
                    find_format(&value).ok_or(format!("--format {value}: there is no such format"))?;
                arguments.formats = vec![format];
            }
            _ => return Err(format!("{word} is not known; there are --bytes, --format and --seed")),
        }
    }
    Ok(arguments)
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("", 1)];
    let (digits, unit) = units
        .iter()
        .find_map(|(suffix, unit)| text.strip_suffix(suffix).map(|digits| (digits, *unit)))
        .unwrap_or((text, 1));
    let number: u64 = digits.parse().map_err(|_| format!("--bytes {text}: expected a number like 50MB"))?;
    Ok(number * unit)
}

fn collect_samples(folder: &Path, samples: &mut Vec<Vec<u8>>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect_samples(&path, samples);
        } else if let Ok(bytes) = fs::read(&path) {
            samples.push(bytes);
        }
    }
}

/// Makes the kernel forget the highest memory use so far; without effect where there is no such file.
fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// A line of `/proc/self/status` in kilobytes; 0 where there is no such file.
fn resident_kb(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line));
    found.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
