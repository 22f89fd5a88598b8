//! `laggard capacity`.

use crate::arguments::{OutputForm, When};
use crate::diagnose::available_threads;
use crate::exit::{Failure, Status};
use crate::samples::{LoadedSamples, SampleInput, length, load_samples};
use crate::write::{Destination, write_capacity};
use clap::Args;
use laggard_diagnose::{CapacitySettings, CountedWindows, WhatIfChange, capacity};
use laggard_report::{CapacityReport, CapacityVerdict};
use std::path::PathBuf;

const CAPACITY_EXAMPLES: &str = "Examples:
  laggard capacity samples.csv --latency-max 500ms
  laggard capacity samples/ --latency-max 500ms --set 'cart.demand=-30%' --servers app=4
  laggard capacity samples/ --latency-max 300ms --mix cart=20%,home=80% --load 2
  laggard capacity access.log cpu.csv --latency-max 1s --think 7s --output html -o capacity.html

Exit status: 0 it ran, 1 the load is beyond the capacity (with --exit-code), 2 usage, 3 unreadable input, 4 too little data to say.";

#[derive(Args, Debug)]
#[command(after_help = CAPACITY_EXAMPLES)]
pub(crate) struct Capacity {
    #[command(flatten)]
    input: SampleInput,
    /// The latency target: largest mean response time, think time not included: 500ms, 1.5s
    #[arg(long, value_name = "LENGTH", value_parser = seconds)]
    latency_max: f64,
    /// Mean think time of clients: needed where clients are not measured, a what-if where they are
    #[arg(long, value_name = "LENGTH", value_parser = seconds_or_none)]
    think: Option<f64>,
    /// Ask what if: NAME.demand=-30% (or +10%, x2, 2ms), TIER.servers=4, TIER.cores=8; repeat for more. NAME is a
    /// transaction, a tier or callee, or both with a dot between
    #[arg(long = "set", value_name = "CHANGE", value_parser = WhatIfChange::parse)]
    changes: Vec<WhatIfChange>,
    /// Ask what if a tier had so many load-balanced servers: app=4; repeat for more
    #[arg(long = "servers", value_name = "TIER=N", value_parser = WhatIfChange::servers)]
    tier_servers: Vec<WhatIfChange>,
    /// Ask what if the mix of transactions were this: cart=20%,home=80%; or @FILE with a NAME=SHARE on each line
    #[arg(long, value_name = "MIX")]
    mix: Option<String>,
    /// Ask what if the load were so many times the present one
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    load: Option<f64>,
    /// Clients at which the search ends
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    clients_max: u64,
    /// Count all windows as one application, also those before its last change or beside something foreign
    #[arg(long)]
    all_windows: bool,
    /// Form of the report
    #[arg(long, value_enum, default_value_t = OutputForm::Text)]
    output: OutputForm,
    /// Write the report to a file instead of standard output
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    /// Exit with status 1 when the load is beyond the capacity
    #[arg(long)]
    exit_code: bool,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    color: When,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
}

pub(crate) fn run(arguments: &Capacity) -> Result<Status, Failure> {
    let threads = arguments.threads.unwrap_or_else(available_threads);
    let settings = CapacitySettings { threads, ..settings(arguments)? };
    let LoadedSamples { table, facts, deployments: _, cautions } = load_samples(&arguments.input, threads)?;
    let mut report = capacity(&table, &facts, &settings).map_err(Failure::usage)?;
    report.cautions.extend(cautions);
    let destination =
        Destination { form: arguments.output, file: arguments.file.as_deref(), color: arguments.color };
    write_capacity(&report, &destination)?;
    Ok(status(&report, arguments.exit_code))
}

fn settings(arguments: &Capacity) -> Result<CapacitySettings, Failure> {
    Ok(CapacitySettings {
        think_s: arguments.think,
        mix: arguments.mix.as_deref().map(mix).transpose()?,
        changes: arguments.changes.iter().chain(&arguments.tier_servers).cloned().collect(),
        load_factor: arguments.load,
        front: arguments.input.front.clone(),
        clients_max: arguments.clients_max,
        windows: if arguments.all_windows { CountedWindows::All } else { CountedWindows::InForce },
        ..CapacitySettings::new(arguments.latency_max)
    })
}

fn status(report: &CapacityReport, exit_code: bool) -> Status {
    match report.verdict {
        CapacityVerdict::Exceeded if exit_code => Status::Suspects,
        CapacityVerdict::InsufficientData => Status::TooLittle,
        _ => Status::Done,
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match seconds_or_none(text)? {
        value if value > 0.0 => Ok(value),
        _ => Err(format!("{text:?} leaves no time; write 500ms or 1.5s")),
    }
}

fn seconds_or_none(text: &str) -> Result<f64, String> {
    Ok(length(text)?.ns() as f64 / 1e9)
}

fn factor(text: &str) -> Result<f64, String> {
    match text.trim().trim_start_matches(['x', '×']).parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor <= 1e6 => Ok(factor),
        _ => Err(format!("{text:?} is no factor; write 2 or 1.5")),
    }
}

/// Bytes of a file with a mix.
const MIX_FILE_MAX: u64 = 1 << 20;

/// Reads `cart=20%,home=80%`, or the lines of `@FILE`.
fn mix(text: &str) -> Result<Vec<(String, f64)>, Failure> {
    let shares = match text.strip_prefix('@') {
        None => text.split(',').map(str::to_owned).collect(),
        Some(path) => {
            let unreadable =
                |error: std::io::Error| Failure::unreadable(format!("cannot read {path}: {error}"));
            if std::fs::metadata(path).map_err(unreadable)?.len() > MIX_FILE_MAX {
                return Err(Failure::usage(format!("{path} is larger than a mix can be")));
            }
            let content = std::fs::read_to_string(path).map_err(unreadable)?;
            content.lines().map(str::to_owned).collect::<Vec<String>>()
        }
    };
    let shares = shares.iter().map(|share| share.trim()).filter(|share| !share.is_empty());
    shares.map(share).collect::<Result<_, String>>().map_err(Failure::usage)
}

fn share(text: &str) -> Result<(String, f64), String> {
    let wrong = || format!("{text:?} is no share of a mix; write cart=20%");
    let (name, value) = text.rsplit_once('=').ok_or_else(wrong)?;
    match value.trim().trim_end_matches('%').trim().parse::<f64>() {
        Ok(share) if share >= 0.0 && share.is_finite() => Ok((name.trim().to_owned(), share)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_read() {
        let read = mix("cart=20%, GET /a=b=0.8").unwrap();
        assert_eq!(read, [("cart".to_owned(), 20.0), ("GET /a=b".to_owned(), 0.8)]);
        for text in ["cart", "cart=", "cart=-1", "cart=nan", "@/no/such/file"] {
            assert!(mix(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_mix_is_read_from_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "cart=1\n\nhome = 3\n").unwrap();
        let read = mix(&format!("@{}", file.path().display())).unwrap();
        assert_eq!(read, [("cart".to_owned(), 1.0), ("home".to_owned(), 3.0)]);
    }

    #[test]
    fn lengths_and_factors_have_ranges() {
        assert_eq!(seconds("500ms"), Ok(0.5));
        assert!(seconds("0").is_err());
        assert_eq!(seconds_or_none("0"), Ok(0.0));
        assert_eq!(factor("x2"), Ok(2.0));
        assert!(factor("0").is_err() && factor("nan").is_err() && factor("-1").is_err());
    }
}
