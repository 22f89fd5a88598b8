//! The one binary: reads the command line, runs the question, writes the report, picks the exit status.

mod arguments;
mod capacity;
mod changes;
mod collect;
mod compare;
mod demo;
mod diagnose;
mod exit;
mod kernel;
mod kernel_diagnose;
mod kernel_join;
mod kernel_output;
mod kernel_path;
mod lists;
mod load;
mod output_form;
mod progress;
mod prometheus;
mod record;
mod round_log;
mod runtime;
mod samples;
mod serve;
mod server;
mod settings;
mod signature;
mod simulate;
mod small_files;
mod write;

use arguments::{Arguments, Command};
use clap::Parser;
use exit::{CommandError, Status};
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == record::GUARDIAN) {
        laggard_record::guard();
        return Status::Done.into();
    }
    let arguments = Arguments::parse();
    let ended = match &arguments.command {
        Command::Record(arguments) => record::run(arguments),
        command => run(command).map(ExitCode::from),
    };
    ended.unwrap_or_else(|failure| failure.print().into())
}

fn run(command: &Command) -> Result<Status, CommandError> {
    match command {
        Command::Diagnose(arguments) => diagnose::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Capacity(arguments) => capacity::run(arguments),
        Command::Changes(arguments) => changes::run(arguments),
        Command::Signature(arguments) => signature::run(arguments),
        Command::Kernel(arguments) => kernel::run(arguments),
        // Its exit status may be any.
        Command::Record(arguments) => record::run(arguments).map(|_| Status::Done),
        Command::Serve(arguments) => serve::run(arguments),
        Command::Collect(arguments) => collect::run(arguments),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Simulate(arguments) => simulate::run(arguments),
        Command::Settings(arguments) => settings::run(arguments),
        Command::Formats => lists::formats(),
        Command::Methods => lists::methods(),
        Command::Schema { report } => lists::schema(report.as_deref()),
        Command::Completions { shell } => lists::completions(*shell),
        Command::Man => lists::man(),
    }
}
