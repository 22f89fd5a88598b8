//! `laggard kernel`: critical paths, diagnoses and statistics of kernel traces.

use crate::arguments::{OutputForm, When};
use crate::exit::{Failure, Status};
use crate::write::Destination;
use clap::{Args, Subcommand};
use laggard_params::{ReadError, TraceFile};
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
    /// When to use colors
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

/// Why traces were not read.
pub(crate) fn failure(error: ReadError) -> Failure {
    match error {
        ReadError::Params(invalid) => Failure::usage(invalid),
        ReadError::Unreadable(reason) => Failure::unreadable(reason),
        ReadError::Stopped => Failure::unreadable("reading was stopped"),
    }
}

/// Traces by their paths.
pub(crate) fn files(paths: &[PathBuf]) -> Vec<TraceFile> {
    paths.iter().map(|path| TraceFile::at(path)).collect()
}
