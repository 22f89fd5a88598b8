//! The command line.

use crate::output_form::{ColorWhen, OutputForm};
use crate::samples::SampleInput;
use crate::server::Server;
use crate::write::Destination;
use clap::{Args, Parser, Subcommand};
use laggard_params::{ChangesParams, Inputs, Weights};
use laggard_system::available_threads;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Finds out why a distributed system is slow: which operations, on which replicas, and which requests are affected.
#[derive(Parser, Debug)]
#[command(name = "laggard", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
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

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Read traces and name the operations and replicas that make requests slow
    Diagnose(Box<Diagnose>),
    /// Show what differs between two sets of traces: two releases, two hours, before and after
    Compare(Box<Compare>),
    /// Compute how many clients a system can serve within a latency target, from samples
    Capacity(Box<crate::capacity::Capacity>),
    /// Find out whether code, workload, or another process changed CPU use, and since when
    Changes(Box<Changes>),
    /// Measure what transactions take at every server without queueing, and compare two such signatures
    Signature(Box<crate::signature::SignatureArguments>),
    /// Show what threads and executions waited for, from kernel traces
    Kernel(crate::kernel::KernelArguments),
    /// Record a kernel trace while a command runs, for `laggard kernel`
    Record(Box<crate::record::Record>),
    /// Ingest and store traces and metrics, and answer questions in a web UI and an API
    Serve(Box<crate::serve::Serve>),
    /// Fetch call logs and other files from hosts over HTTP in rounds, into a folder or to a server
    Collect(Box<crate::collect::Collect>),
    /// Simulate an incident, diagnose it, and print the paths of its files
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
  laggard diagnose today/ --baseline yesterday/              what is slower than before?
  laggard diagnose --since 2026-01-12T09:10Z --until 2026-01-12T09:20Z --baseline-rest traces/
  laggard diagnose --service checkout traces/ --output markdown
  laggard diagnose spans.csv --column trace_id=TraceID --column start_us=Begin --column duration_ms=Took
  laggard diagnose traces/ --exit-code || page-somebody
  laggard diagnose --server http://localhost:4316 --since -15m

Exit status: 0 success, 1 suspects were found (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

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
    /// Exit with status 1 when suspects are found
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(crate) run: RunOptions,
    #[command(flatten)]
    pub(crate) memory: SpanMemory,
    #[command(flatten)]
    pub(crate) server: Server,
}

const COMPARE_EXAMPLES: &str = "Examples:
  laggard compare yesterday/ today/
  laggard compare old.json new.json --output html -o difference.html
  laggard compare traces/ --since 2026-01-12T09:20:00Z          the time before against the time after
  laggard compare traces/ --before-until 2026-01-12T09:10:00Z --since 2026-01-12T09:20:00Z
  laggard compare main/ branch/ --service checkout --exit-code || echo slower

Exit status: 0 success, 1 slower or changed (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

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
    /// Exit with status 1 when the set after is slower or changed
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(crate) run: RunOptions,
    #[command(flatten)]
    pub(crate) memory: SpanMemory,
    #[command(flatten)]
    pub(crate) server: Server,
}

const CHANGES_EXAMPLES: &str = "Examples:
  laggard changes samples.csv                               transactions and CPU utilization by window
  laggard changes traces/ cpu.csv --window 5m               counts and times from spans, one CPU series
  laggard changes samples.csv --deployment 2026-01-12T22:29:48Z=v2.4
  laggard changes samples.csv --method cherkasova --set error-max=3
  laggard changes samples.csv --exit-code || page-somebody

Exit status: 0 success, 1 application change or anomaly (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

#[derive(Args, Debug)]
#[command(after_help = CHANGES_EXAMPLES)]
pub(crate) struct Changes {
    #[command(flatten)]
    pub(crate) input: SampleInput,
    /// Exit with status 1 on an application change or an anomaly
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(crate) run: RunOptions,
    #[command(flatten)]
    pub(crate) question: ChangesParams,
}

/// How a report is written, and how many threads compute it.
#[derive(Args, Debug)]
pub(crate) struct RunOptions {
    /// Format of the report
    #[arg(long, value_enum, default_value_t = OutputForm::Text)]
    output: OutputForm,
    /// Write the report to a file instead of standard output
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    /// When to use colors
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto)]
    color: ColorWhen,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl RunOptions {
    pub(crate) fn destination(&self) -> Destination<'_> {
        Destination { form: self.output, file: self.file.as_deref(), color: self.color }
    }

    pub(crate) fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(available_threads)
    }
}

/// Memory of commands that hold spans.
#[derive(Args, Debug)]
pub(crate) struct SpanMemory {
    /// Memory for spans of all sets; beyond it, traces are dropped evenly, and the report says so
    #[arg(id = "memory", long, value_name = "SIZE", default_value = "4GiB", value_parser = crate::load::parse_size)]
    pub(crate) bytes: usize,
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
