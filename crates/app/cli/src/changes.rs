//! `laggard changes`.

use crate::exit::{CommandError, Status, Verdicts};
use crate::output::RunOptions;
use crate::samples::{LoadedSamples, SampleInput, load_samples};
use clap::Args;
use laggard_metrics_questions::{ChangesQuestion, ChangesSettings, changes};
use laggard_params::ChangesParams;
use laggard_report::{ChangeReport, DeclaredReport};
use std::num::NonZeroUsize;

const EXAMPLES: &str = "Examples:
  laggard changes samples.csv                               transactions and CPU utilization by window
  laggard changes traces/ cpu.csv --window 5m               counts and times from spans, one CPU series
  laggard changes samples.csv --deployment 2026-01-12T22:29:48Z=v2.4
  laggard changes samples.csv --method cherkasova --set error-max=3
  laggard changes samples.csv --exit-code || page-somebody

Exit status: 0 success, 1 application change, host change, longer waits, or anomaly (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Changes {
    #[command(flatten)]
    input: SampleInput,
    /// Exit with status 1 on a change of the application or the host, longer waits, an unexplained change, or an anomaly, and
    /// with 4 where transactions do not explain the CPU
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    question: ChangesParams,
}

pub(crate) fn run(arguments: &Changes) -> Result<Status, CommandError> {
    let settings = arguments.question.settings().map_err(CommandError::usage)?;
    let report = changes_of_input(&arguments.input, &settings, arguments.run.threads())?;
    arguments.run.write(&report)?;
    let verdicts = Verdicts {
        alarming: &["application-change", "host-change", "wait-change", "unexplained-change", "anomaly"],
        unsure: &["cpu-not-explained"],
        exit_code: arguments.exit_code,
    };
    Ok(verdicts.status(&report.verdict()))
}

/// What changed in the cost of transactions. `input`: files, and a Prometheus server if it names one.
///
/// # Errors
/// Input that cannot be read, and samples without any usable series.
pub(crate) fn changes_of_input(
    input: &SampleInput,
    settings: &ChangesSettings,
    threads: NonZeroUsize,
) -> Result<ChangeReport, CommandError> {
    let LoadedSamples { table, facts, deployments, cautions } = load_samples(input, threads)?;
    let question =
        ChangesQuestion { table: &table, facts: &facts, deployments: &deployments, settings, threads };
    let mut report = changes(&question).map_err(CommandError::usage)?;
    report.cautions.extend(cautions);
    Ok(report)
}
