//! The one binary: reads the command line, runs the question, writes the report, picks the exit status.

mod agent;
mod allocator;
#[cfg(feature = "cluster")]
mod cluster;
mod collect;
mod compare;
mod demo;
mod diagnose;
mod exit;
mod kernel;
mod kernel_evidence;
mod kernel_input;
mod kernel_join;
mod kernel_path;
mod lists;
mod live_demo;
mod load;
mod mcp;
mod output;
mod perfetto_file;
mod probed_spans;
mod progress;
mod prometheus;
mod question_commands;
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
#[cfg(feature = "sql")]
mod sql;
mod store;
mod stored;
mod trace_source;

use clap::{Parser, Subcommand};
use exit::{CommandError, Status};
use question_commands::{ABOUT_SAMPLES, QuestionCommand};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Returns freed memory to the system after a moment, as a server that runs for months must; decision 28 has the figures.
/// `.cargo/config.toml` has its settings.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Finds out why a distributed system is slow: which operations, on which replicas, and which requests are affected.
#[derive(Parser, Debug)]
#[command(name = "laggard", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  laggard demo                                   simulate an incident and diagnose it
  laggard diagnose traces.json                   one file, format recognized
  laggard diagnose /var/traces/*.zst --output html -o report.html
  laggard compare yesterday/ today/              what differs between two sets
  laggard changes samples.csv                    code, workload, or another process?
  laggard signature diff old.json new.json       which transactions take longer than before?
  laggard kernel path trace.dat --thread nginx   what did it really wait for?
  kubectl logs collector | laggard diagnose -    from a pipe";

/// Printed without arguments.
const FIRST_STEPS: &str = "Finds out why a distributed system is slow. Three things to start with:

  laggard demo                    simulate an incident, and diagnose it
  laggard diagnose FILE...        diagnose your traces; the format is recognized
  laggard serve                   ingest traces and metrics on ports 4317 and 4318; pages at http://localhost:4316

All commands: laggard --help";

#[derive(Subcommand, Debug)]
enum Command {
    /// Read traces and name the operations and replicas that make requests slow
    Diagnose(Box<diagnose::Diagnose>),
    /// Show what differs between two sets of traces: two releases, two hours, before and after
    Compare(Box<compare::Compare>),
    Signature(Box<signature::SignatureArguments>),
    #[command(flatten)]
    Question(QuestionCommand<ABOUT_SAMPLES>),
    /// Show what threads and executions waited for, from kernel traces
    Kernel(kernel::KernelArguments),
    /// Record a kernel trace while a command runs, for `laggard kernel`
    Record(Box<record::Record>),
    /// Record this host's scheduler in memory, and send the part that a server requests
    Agent(Box<agent::AgentArguments>),
    /// Ingest and store traces and metrics, and answer questions in a web UI and an API
    Serve(Box<serve::Serve>),
    #[cfg(feature = "cluster")]
    Worker(cluster::WorkerArguments),
    /// Check, repair, or back up the data folder of `laggard serve`
    Store(store::StoreArguments),
    #[cfg(feature = "sql")]
    Sql(sql::SqlArguments),
    /// Fetch call logs and other files from hosts over HTTP in rounds, into a folder or to a server
    Collect(Box<collect::Collect>),
    /// Answer the questions of an assistant, over the Model Context Protocol on standard input and output
    Mcp(Box<mcp::Mcp>),
    /// Simulate an incident, diagnose it, and print the paths of its files
    Demo(demo::Demo),
    /// Generate traces with known truth
    Simulate(Box<simulate::Simulate>),
    /// List what can be set by name (--set), with ranges, defaults, and their sources
    Settings(settings::Settings),
    /// List the formats that are read
    Formats,
    /// List the methods
    Methods,
    /// Print the JSON Schema of a report, or list the schemas
    Schema {
        /// The report: diagnose, compare, changes, ...
        #[arg(value_name = "REPORT")]
        report: Option<String>,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page (roff), or write those of all commands into a folder
    Man {
        /// The folder, which is created
        #[arg(short = 'o', value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == record::GUARDIAN) {
        laggard_record::guard();
        return Status::Done.into();
    }
    if std::env::args_os().len() <= 1 {
        // Nothing can be done if standard error is closed.
        let _ = writeln!(std::io::stderr(), "{FIRST_STEPS}");
        return Status::Usage.into();
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
        Command::Signature(arguments) => signature::run(arguments),
        Command::Question(command) => command.run(),
        Command::Kernel(arguments) => kernel::run(arguments),
        // Its exit status may be any.
        Command::Record(arguments) => record::run(arguments).map(|_| Status::Done),
        Command::Agent(arguments) => agent::run(arguments),
        Command::Serve(arguments) => serve::run(arguments),
        #[cfg(feature = "cluster")]
        Command::Worker(arguments) => cluster::run(arguments),
        Command::Store(arguments) => store::run(arguments),
        #[cfg(feature = "sql")]
        Command::Sql(arguments) => sql::run(arguments),
        Command::Collect(arguments) => collect::run(arguments),
        Command::Mcp(arguments) => mcp::run(arguments),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Simulate(arguments) => simulate::run(arguments),
        Command::Settings(arguments) => settings::run(arguments),
        Command::Formats => lists::formats(),
        Command::Methods => lists::methods(),
        Command::Schema { report } => lists::schema(report.as_deref()),
        Command::Completions { shell } => lists::completions(*shell),
        Command::Man { folder: None } => lists::man(),
        Command::Man { folder: Some(folder) } => lists::man_pages(folder),
    }
}
