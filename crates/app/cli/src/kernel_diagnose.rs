//! `laggard kernel diagnose`.

use crate::exit::{CommandError, Status, Verdicts};
use crate::kernel_output::{KernelOutput, failure, files};
use crate::progress::Meter;
use clap::Args;
use laggard_kernel_diagnose::diagnose_kernel;
use laggard_params::{KernelDiagnoseParams, KernelSources, read_traces};
use laggard_report::DeclaredReport;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  laggard kernel diagnose --normal good.dat --sample bad.dat --executions marker
  laggard kernel diagnose --normal mon.dat tue.dat --sample wed.dat --output html -o kernel.html
  laggard kernel diagnose trace.dat --normal-to +10s --sample-from +10s        one trace, two intervals
  laggard kernel diagnose trace.dat --normal-label 'GET v1*' --sample-label 'GET v2*'

Exit status: 0 success, 1 executions are slower (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Diagnose {
    /// Kernel traces that contain both sets, distinguished by windows or labels
    #[arg(value_name = "TRACE", conflicts_with_all = ["normal", "sample"])]
    traces: Vec<PathBuf>,
    /// Kernel traces of normal executions; repeat for more
    #[arg(long, value_name = "TRACE", num_args = 1..)]
    normal: Vec<PathBuf>,
    /// Kernel traces of the executions in question; repeat for more
    #[arg(long, value_name = "TRACE", num_args = 1..)]
    sample: Vec<PathBuf>,
    #[command(flatten)]
    question: KernelDiagnoseParams,
    /// Exit with status 1 when executions are slower
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    output: KernelOutput,
}

pub(crate) fn run(arguments: &Diagnose) -> Result<Status, CommandError> {
    let question = &arguments.question;
    let delimiter = question.delimiter().map_err(CommandError::usage)?;
    let sources = sources(arguments);
    question.check_sources(&sources).map_err(CommandError::usage)?;
    let threads = arguments.output.run.threads();
    let diagnosis = question.question(&sources, threads).map_err(CommandError::usage)?;
    let reading = arguments.output.graph_settings(delimiter, question.compat);
    let paths =
        [arguments.traces.as_slice(), arguments.normal.as_slice(), arguments.sample.as_slice()].concat();
    let meter = Meter::without_total();
    let runs = read_traces(&files(&paths), &reading, &meter);
    meter.done();
    let report = diagnose_kernel(&runs.map_err(failure)?, &diagnosis).map_err(CommandError::usage)?;
    arguments.output.run.write(&report)?;
    let verdicts = Verdicts {
        alarming: &["slower", "slower-overall"],
        exit_code: arguments.exit_code,
        ..Verdicts::NONE
    };
    Ok(verdicts.status(&report.verdict()))
}

fn sources(arguments: &Diagnose) -> KernelSources {
    let names = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
    KernelSources {
        both: names(&arguments.traces),
        normal: names(&arguments.normal),
        sample: names(&arguments.sample),
    }
}
