//! `laggard kernel`: critical paths, diagnoses and statistics of kernel traces.

use crate::exit::{CommandError, Status};
use crate::question_commands::{ABOUT_KERNEL_TRACES, QuestionCommand};
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
    Path(Box<crate::kernel_path::Path>),
    #[command(flatten)]
    Question(QuestionCommand<ABOUT_KERNEL_TRACES>),
}

pub(crate) fn run(arguments: &KernelArguments) -> Result<Status, CommandError> {
    match &arguments.command {
        KernelCommand::Path(arguments) => crate::kernel_path::run(arguments),
        KernelCommand::Question(command) => command.run(),
    }
}
