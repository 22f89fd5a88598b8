//! `laggard kernel`: critical paths, diagnoses and statistics of kernel traces.

use crate::exit::{CommandError, Status};
use clap::{Args, Subcommand};

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
    /// Show what the time of a thread or of executions was spent on: their critical paths
    Path(Box<crate::kernel_path::Path>),
    /// Find executions of a sample that are slower than normal ones, at which step, and what they wait for
    Diagnose(Box<crate::kernel_diagnose::Diagnose>),
    /// Summarize traces, and suggest what could delimit executions
    Stats(Box<crate::kernel_path::Stats>),
}

pub(crate) fn run(arguments: &KernelArguments) -> Result<Status, CommandError> {
    match &arguments.command {
        KernelCommand::Path(arguments) => crate::kernel_path::run(arguments),
        KernelCommand::Diagnose(arguments) => crate::kernel_diagnose::run(arguments),
        KernelCommand::Stats(arguments) => crate::kernel_path::stats(arguments),
    }
}
