//! `laggard kernel`: critical paths, diagnoses and statistics of kernel traces.

use crate::arguments::{OutputForm, When};
use crate::exit::{Failure, Status};
use crate::write::Destination;
use clap::{Args, Subcommand};
use laggard_diagnose::{Instant, TimeWindow};
use laggard_model::{KernelTime, Nanos};
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  laggard kernel stats trace.dat
  laggard kernel path trace.dat --thread nginx
  laggard kernel diagnose --normal good.dat --sample bad.dat --executions marker";

/// Read kernel traces: what threads and executions really waited on
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KernelArguments {
    #[command(subcommand)]
    command: KernelCommand,
}

#[derive(Subcommand, Debug)]
enum KernelCommand {
    /// Tell what the time of a thread or of executions was spent on: their critical paths
    Path(Box<crate::kernel_path::Path>),
    /// Tell which executions of a sample are slower than normal ones, at which step, and what they wait for
    Diagnose(Box<crate::kernel_diagnose::Diagnose>),
    /// Tell what traces hold, and what could delimit executions
    Stats(Box<crate::kernel_path::Stats>),
}

pub(crate) fn run(arguments: &KernelArguments) -> Result<Status, Failure> {
    match &arguments.command {
        KernelCommand::Path(arguments) => crate::kernel_path::run(arguments),
        KernelCommand::Diagnose(arguments) => crate::kernel_diagnose::run(arguments),
        KernelCommand::Stats(arguments) => crate::kernel_path::stats(arguments),
    }
}

/// Where a report goes, and what it may cost.
#[derive(Args, Debug)]
pub(crate) struct KernelOutput {
    /// Form of the report
    #[arg(long, value_enum, default_value_t = OutputForm::Text)]
    output: OutputForm,
    /// Write the report to a file instead of standard output
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    color: When,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
    /// Memory for execution graphs; events beyond it are left out, and the report says so
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = crate::load::parse_size)]
    pub(crate) memory: usize,
}

impl KernelOutput {
    pub(crate) fn destination(&self) -> Destination<'_> {
        Destination { form: self.output, file: self.file.as_deref(), color: self.color }
    }

    pub(crate) fn threads(&self) -> std::num::NonZeroUsize {
        self.threads.unwrap_or_else(crate::diagnose::available_threads)
    }
}

/// Reads seconds of the trace's clock (`8578.07`), `+1.5s` from the first event, or a calendar time.
pub(crate) fn instant(text: &str) -> Result<Instant, String> {
    let text = text.trim();
    if let Some(length) = text.strip_prefix('+') {
        return Ok(Instant::AfterStart(short_length(length)?));
    }
    let is_number = text.parse::<f64>().is_ok();
    let time = match clock_seconds(text) {
        Some(time) => Some(Instant::Clock(time)),
        None if is_number => None,
        None => crate::times::parse(text).map(Instant::Calendar).ok(),
    };
    time.ok_or_else(|| {
        format!(
            "{text:?} is no instant; write seconds of the trace's clock (8578.07), +1.5s from its first event, or \
             2026-01-12T09:10:00.5Z"
        )
    })
}

/// Seconds with at most nine decimals, exactly; `None` when it is something else or too large to be seconds since boot.
fn clock_seconds(text: &str) -> Option<KernelTime> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if seconds.is_empty() || decimals.len() > 9 || !digits(seconds) || !digits(decimals) {
        return None;
    }
    let fraction: u64 = format!("{decimals:0<9}").parse().ok()?;
    let seconds: u64 = seconds.parse().ok()?;
    Some(KernelTime::from_ns(seconds.checked_mul(1_000_000_000)?.checked_add(fraction)?))
}

/// A length that may be short: `250us`, `1.5ms`, `2s`.
fn short_length(text: &str) -> Result<Nanos, String> {
    match text.strip_suffix("us").or_else(|| text.strip_suffix("µs")) {
        Some(number) => match number.trim().parse::<f64>() {
            Ok(us) if us.is_finite() && us >= 0.0 => Ok(Nanos::from_ns((us * 1e3).round() as u64)),
            _ => Err(format!("{text:?} is not a length of time; write 1.5s, 20ms or 250us")),
        },
        None => crate::samples::length(text),
    }
}

/// A window from its ends as given.
pub(crate) const fn window(from: Option<Instant>, to: Option<Instant>) -> TimeWindow {
    TimeWindow { from, to }
}

/// A setting of a report.
pub(crate) fn setting(name: &str, value: impl std::fmt::Display) -> laggard_report::Setting {
    laggard_report::Setting { name: name.to_owned(), value: value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_of_three_kinds() {
        assert_eq!(instant("8578.07"), Ok(Instant::Clock(KernelTime::from_ns(8_578_070_000_000))));
        assert_eq!(instant("+1.5s"), Ok(Instant::AfterStart(Nanos::from_ms(1_500))));
        assert_eq!(instant("+250us"), Ok(Instant::AfterStart(Nanos::from_us(250))));
        assert!(matches!(instant("2026-01-12T09:10:00Z"), Ok(Instant::Calendar(_))));
        for text in ["", "+", "soon", "1.0000000001", "-1", "+-1s"] {
            assert!(instant(text).is_err(), "{text}");
        }
    }
}
