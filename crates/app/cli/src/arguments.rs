//! The command line.

use crate::output_form::{ColorWhen, OutputForm};
use crate::samples::SampleInput;
use crate::server::Server;
use clap::{Args, Parser, Subcommand};
use laggard_params::{ChangesParams, Inputs, Weights};
use std::path::PathBuf;

/// Tells why a distributed system is slow: which operations, on which replicas, and who pays.
#[derive(Parser, Debug)]
#[command(name = "laggard", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "Examples:
  laggard demo                                   make an incident and diagnose it
  laggard diagnose traces.json                   one file, format recognized
  laggard diagnose /var/traces/*.zst --output html -o report.html
  laggard compare yesterday/ today/              what differs between two sets
  laggard changes samples.csv                    code, workload or something foreign?
  laggard signature diff old.json new.json       which transactions take longer than they did?
  laggard kernel path trace.dat --thread nginx   what did it really wait on?
  kubectl logs collector | laggard diagnose -    from a pipe";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Read traces and name the operations and replicas that make requests slow
    Diagnose(Box<Diagnose>),
    /// Tell what differs between two sets of traces: two releases, two hours, before and after
    Compare(Box<Compare>),
    /// Tell how many clients a system can take within a latency target, from samples
    Capacity(Box<crate::capacity::Capacity>),
    /// Tell whether code, the workload or something foreign changed what the CPU does, and since when
    Changes(Box<Changes>),
    /// Tell what transactions take at every server without queueing, keep it in a file, and compare two of them
    Signature(Box<crate::signature::SignatureArguments>),
    /// Tell what threads and executions really waited on, from kernel traces
    Kernel(crate::kernel::KernelArguments),
    /// Record a kernel trace while a command runs, for `laggard kernel`
    Record(Box<crate::record::Record>),
    /// Collect traces and metrics, keep them, and answer from a web page
    Serve(Box<crate::serve::Serve>),
    /// Fetch call logs and other files from hosts over HTTP in rounds, into a folder or to a server
    Collect(Box<crate::collect::Collect>),
    /// Make an incident, diagnose it, and show where the files are
    Demo(Demo),
    /// Generate traces with known truth
    Simulate(Box<Simulate>),
    /// List what can be set by name (--set), with ranges, defaults, and their sources
    Settings(crate::settings::Settings),
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
    /// Print the man page (roff)
    Man,
}

const DIAGNOSE_EXAMPLES: &str = "Examples:
  laggard diagnose traces/                                  every file below a folder
  laggard diagnose --since 2026-01-12T09:10:00Z --until 2026-01-12T09:20:00Z traces/
  laggard diagnose today/ --baseline yesterday/              what is slower than it was?
  laggard diagnose --since 2026-01-12T09:10Z --until 2026-01-12T09:20Z --baseline-rest traces/
  laggard diagnose --service checkout traces/ --output markdown
  laggard diagnose spans.csv --column trace_id=TraceID --column start_us=Begin --column duration_ms=Took
  laggard diagnose traces/ --exit-code || page-somebody
  laggard diagnose --server http://localhost:4316 --since -15m

Exit status: 0 it ran, 1 suspects were found (with --exit-code), 2 usage, 3 unreadable input, 4 too little data to say.";

#[derive(Args, Debug)]
#[command(after_help = DIAGNOSE_EXAMPLES)]
pub(crate) struct Diagnose {
    /// Files, folders, patterns, or - for standard input (the default)
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) question: laggard_params::DiagnoseParams,
    /// Compare with these files, folders or patterns; repeat for more
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["baseline_rest", "server"])]
    pub(crate) baseline: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    #[command(flatten)]
    pub(crate) weights: Weights,
    /// Form of the report
    #[arg(long, value_enum, default_value_t = OutputForm::Text)]
    pub(crate) output: OutputForm,
    /// Write the report to a file instead of standard output
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Exit with status 1 when suspects are found
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// ColorWhen to use colors
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto)]
    pub(crate) color: ColorWhen,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Memory for spans; beyond it whole traces are let go evenly, and the report says so
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = crate::load::parse_size)]
    pub(crate) memory: usize,
    #[command(flatten)]
    pub(crate) server: Server,
}

const COMPARE_EXAMPLES: &str = "Examples:
  laggard compare yesterday/ today/
  laggard compare old.json new.json --output html -o difference.html
  laggard compare traces/ --since 2026-01-12T09:20:00Z          what is before against what is after
  laggard compare traces/ --before-until 2026-01-12T09:10:00Z --since 2026-01-12T09:20:00Z
  laggard compare main/ branch/ --service checkout --exit-code || echo slower

Exit status: 0 it ran, 1 slower or changed (with --exit-code), 2 usage, 3 unreadable input, 4 too little data to say.";

#[derive(Args, Debug)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct Compare {
    /// The set before and the set after; or one data set, with windows
    #[arg(value_name = "PATH", num_args = 0..=2)]
    pub(crate) paths: Vec<PathBuf>,
    /// More of the set before: file, folder or pattern
    #[arg(long, value_name = "PATH", conflicts_with = "server")]
    pub(crate) before: Vec<PathBuf>,
    /// More of the set after
    #[arg(long, value_name = "PATH", conflicts_with = "server")]
    pub(crate) after: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) question: laggard_params::CompareParams,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// Form of the comparison
    #[arg(long, value_enum, default_value_t = OutputForm::Text)]
    pub(crate) output: OutputForm,
    /// Write the comparison to a file instead of standard output
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Exit with status 1 when the set after is slower or changed
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// ColorWhen to use colors
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto)]
    pub(crate) color: ColorWhen,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Memory for spans of both sets; beyond it whole traces are let go evenly, and the report says so
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = crate::load::parse_size)]
    pub(crate) memory: usize,
    #[command(flatten)]
    pub(crate) server: Server,
}

const CHANGES_EXAMPLES: &str = "Examples:
  laggard changes samples.csv                               transactions and CPU utilization by window
  laggard changes traces/ cpu.csv --window 5m               counts and times from spans, one CPU series
  laggard changes samples.csv --deployment 2026-01-12T22:29:48Z=v2.4
  laggard changes samples.csv --method cherkasova --set error-max=3
  laggard changes samples.csv --exit-code || page-somebody

Exit status: 0 it ran, 1 application change or anomaly (with --exit-code), 2 usage, 3 unreadable input, 4 too little data to say.";

#[derive(Args, Debug)]
#[command(after_help = CHANGES_EXAMPLES)]
pub(crate) struct Changes {
    #[command(flatten)]
    pub(crate) input: SampleInput,
    /// Form of the report
    #[arg(long, value_enum, default_value_t = OutputForm::Text)]
    pub(crate) output: OutputForm,
    /// Write the report to a file instead of standard output
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Exit with status 1 on an application change or an anomaly
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// ColorWhen to use colors
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto)]
    pub(crate) color: ColorWhen,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    #[command(flatten)]
    pub(crate) question: ChangesParams,
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Folder for the traces and the report
    #[arg(value_name = "DIR", default_value = "laggard-demo")]
    pub(crate) directory: PathBuf,
}

const SIMULATE_EXAMPLES: &str = "Examples:
  laggard simulate --scenario bursts --seed 7 -o incident
  laggard simulate --scenario quiet --format call-log --compression zstd -o quiet
  laggard simulate --scenario tpcw --seed 3 -o shop            samples of a shop by the minute
  laggard diagnose incident/traces && cat incident/truth.json";

#[derive(Args, Debug)]
#[command(after_help = SIMULATE_EXAMPLES)]
pub(crate) struct Simulate {
    /// What goes wrong, in traces or (tpcw, tpcw-...) in samples; an unknown name lists them
    #[arg(long, value_name = "NAME", default_value = "random-device", value_parser = crate::simulate::scenario)]
    pub(crate) scenario: crate::simulate::AnyScenario,
    /// Same seed, same bytes
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Format of the traces [default: span-csv]; samples are CSV
    #[arg(long, value_name = "FORMAT", value_parser = crate::simulate::format)]
    pub(crate) format: Option<laggard_simulate::OutputFormat>,
    /// plain, gzip or zstd
    #[arg(long, value_name = "KIND", default_value = "plain", value_parser = crate::simulate::compression)]
    pub(crate) compression: laggard_simulate::Compression,
    /// Folder to write to; must not hold traces or samples already
    #[arg(short = 'o', value_name = "DIR", default_value = "laggard-simulated")]
    pub(crate) directory: PathBuf,
    /// Samples: length of their windows in seconds [default: 60]
    #[arg(long, value_name = "S")]
    pub(crate) sample_window: Option<u32>,
    #[command(flatten)]
    pub(crate) traces: SimulateTraces,
}

/// What only simulated traces have.
#[derive(Args, Clone, PartialEq, Debug)]
pub(crate) struct SimulateTraces {
    /// Traces: sampled requests of each of the three services (about 108 spans each) [default: 8000]
    #[arg(long, value_name = "N")]
    pub(crate) requests: Option<u32>,
    /// Traces: length of the period in seconds [default: 3600]
    #[arg(long, value_name = "S")]
    pub(crate) window: Option<u32>,
    /// Traces: call trees per service [default: 40]
    #[arg(long, value_name = "N")]
    pub(crate) categories: Option<u16>,
    /// Traces: number of files the spans are spread over (the call log always has one a host) [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) files: Option<u16>,
    /// Traces: probability that a record is lost [default: 0]
    #[arg(long, value_name = "P")]
    pub(crate) drop: Option<f64>,
    /// Traces: probability that a record is delivered twice [default: 0]
    #[arg(long, value_name = "P")]
    pub(crate) duplicate: Option<f64>,
    /// Traces: a fault a third as strong
    #[arg(long)]
    pub(crate) mild: bool,
    /// Traces: one host delivers its records ten minutes late
    #[arg(long)]
    pub(crate) late_host: bool,
    /// Traces: all clocks agree (by default they are off by up to 20 ms and drift)
    #[arg(long)]
    pub(crate) true_clocks: bool,
}
