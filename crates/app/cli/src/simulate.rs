//! `laggard simulate`.

use crate::exit::{CommandError, Status};
use crate::output::print;
use clap::Args;
use laggard_params::Moment;
use laggard_simulate::{
    Compression, DayFault, DayFaultKind, DayOutput, DaySettings, DaySummary, Error, OutputFormat, PROFILES,
    Profile, SamplesSummary, Scenario, Settings, Summary, TpcwScenario, TpcwSettings, generate, generate_day,
    tpcw, write_tpcw,
};
use laggard_system::now;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  laggard simulate --scenario bursts --seed 7 -o incident
  laggard simulate --scenario quiet --format call-log --compression zstd -o quiet
  laggard simulate --scenario tpcw --seed 3 -o shop            samples of a shop by the minute
  laggard simulate --day shop --fault tenant --drop 0.01 -o day  75 minutes of a system, the last 12 with a fault
  laggard diagnose incident/traces && cat incident/truth.json";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Simulate {
    /// What goes wrong, in traces or (tpcw, tpcw-...) in samples; an unknown name lists them
    #[arg(long, value_name = "NAME", default_value = "random-device", value_parser = scenario)]
    scenario: AnyScenario,
    /// Instead of a scenario: traces of an ordinary day of this kind of system; an unknown name lists them
    #[arg(long, value_name = "SYSTEM", value_parser = profile, conflicts_with = "scenario")]
    day: Option<Profile>,
    /// Day: what goes wrong in its last 12 minutes [default: nothing]; an unknown name lists the kinds
    #[arg(long, value_name = "KIND", value_parser = fault, requires = "day")]
    fault: Option<DayFaultKind>,
    /// Day: how many times as long the target of the fault takes [default: 1.5]
    #[arg(long, value_name = "N", requires = "fault")]
    factor: Option<f64>,
    /// Day: when it ends, such as now, so that a server takes its fault for a present one [default: 2026-01-12T10:15Z]
    #[arg(long, value_name = "TIME", requires = "day", allow_hyphen_values = true)]
    end: Option<Moment>,
    /// Same seed, same bytes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Format of the traces [default: span-csv]; samples are CSV
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    format: Option<OutputFormat>,
    /// plain, gzip or zstd
    #[arg(long, value_name = "KIND", default_value = "plain", value_parser = compression)]
    compression: Compression,
    /// Folder to write to; must not hold traces or samples already
    #[arg(short = 'o', value_name = "DIR", default_value = "laggard-simulated")]
    directory: PathBuf,
    /// Samples: length of their windows in seconds [default: 60]
    #[arg(long, value_name = "S")]
    sample_window: Option<u32>,
    #[command(flatten)]
    traces: SimulateTraces,
}

/// A day without another length: an hour to compare with, and a window of 15 minutes.
const DAY_WINDOW_S: u32 = 75 * 60;
const SECOND_NS: i64 = 1_000_000_000;
/// How long a day's fault lasts, until the end.
const FAULT_S: u32 = 12 * 60;
/// Share of the calls that fail or return early.
const FAULT_SHARE: f64 = 0.5;

/// Options of simulated traces only.
#[derive(Args, Clone, PartialEq, Debug)]
struct SimulateTraces {
    /// Traces: sampled requests of each of the three services (about 108 spans each) [default: 8000]
    #[arg(long, value_name = "N")]
    requests: Option<u32>,
    /// Traces: length of the period in seconds [default: 3600, of a day 4500]
    #[arg(long, value_name = "S")]
    window: Option<u32>,
    /// Traces: call trees per service [default: 40]
    #[arg(long, value_name = "N")]
    categories: Option<u16>,
    /// Traces: number of files the spans are spread over (the call log always has one a host) [default: 1]
    #[arg(long, value_name = "N")]
    files: Option<u16>,
    /// Traces: probability that a record (of a day: a span) is lost [default: 0]
    #[arg(long, value_name = "P")]
    drop: Option<f64>,
    /// Traces: probability that a record is delivered twice [default: 0]
    #[arg(long, value_name = "P")]
    duplicate: Option<f64>,
    /// Traces: a fault a third as strong
    #[arg(long)]
    mild: bool,
    /// Traces: one host delivers its records ten minutes late
    #[arg(long)]
    late_host: bool,
    /// Traces: all clocks agree (by default they are off by up to 20 ms and drift)
    #[arg(long)]
    true_clocks: bool,
}

/// A scenario of either kind.
#[derive(Clone, Copy, PartialEq, Debug)]
enum AnyScenario {
    Traces(Scenario),
    Samples(TpcwScenario),
}

pub(crate) fn run(arguments: &Simulate) -> Result<Status, CommandError> {
    if let Some(profile) = arguments.day {
        return day(arguments, profile);
    }
    match arguments.scenario {
        AnyScenario::Traces(scenario) => traces(arguments, scenario),
        AnyScenario::Samples(scenario) => samples(arguments, scenario),
    }
}

fn traces(arguments: &Simulate, scenario: Scenario) -> Result<Status, CommandError> {
    if arguments.sample_window.is_some() {
        return Err(CommandError::usage("--sample-window is for samples; this scenario makes traces"));
    }
    let usual = Settings::new(scenario, arguments.seed);
    let traces = &arguments.traces;
    let settings = Settings {
        requests_per_service: traces.requests.unwrap_or(usual.requests_per_service),
        window_s: traces.window.unwrap_or(usual.window_s),
        categories_per_service: traces.categories.unwrap_or(usual.categories_per_service),
        files: traces.files.unwrap_or(usual.files),
        mild: traces.mild,
        drop_records: traces.drop.unwrap_or(usual.drop_records),
        duplicate_records: traces.duplicate.unwrap_or(usual.duplicate_records),
        late_host: traces.late_host,
        clock_skew: !traces.true_clocks,
        ..usual
    };
    let format = arguments.format.unwrap_or(OutputFormat::SpanCsv);
    let summary =
        generate(&settings, format, &arguments.directory, arguments.compression).map_err(failure)?;
    print(&describe(&summary))?;
    Ok(Status::Done)
}

fn day(arguments: &Simulate, profile: Profile) -> Result<Status, CommandError> {
    let traces = &arguments.traces;
    let is_scenario_only = traces.requests.is_some()
        || traces.categories.is_some()
        || traces.duplicate.is_some()
        || traces.mild
        || traces.late_host
        || arguments.sample_window.is_some();
    if is_scenario_only {
        let names = "--requests, --categories, --duplicate, --mild, --late-host and --sample-window";
        return Err(CommandError::usage(format!("{names} are for scenarios; --day has none of them")));
    }
    let window_s = traces.window.unwrap_or(DAY_WINDOW_S);
    let fault = arguments.fault.map(|kind| DayFault {
        kind,
        seed: arguments.seed,
        factor: arguments.factor.unwrap_or(1.5),
        share: FAULT_SHARE,
        since_s: window_s.saturating_sub(FAULT_S),
        until_s: window_s,
    });
    let usual = DaySettings::new(profile, arguments.seed);
    let settings = DaySettings {
        start_unix_ns: arguments.end.map_or(usual.start_unix_ns, |end| start_of(end, window_s)),
        window_s,
        lost_spans: traces.drop.unwrap_or(0.0),
        clock_skew: !traces.true_clocks,
        fault,
        ..usual
    };
    let output = DayOutput {
        format: arguments.format.unwrap_or(OutputFormat::SpanCsv),
        compression: arguments.compression,
        files: traces.files.unwrap_or(1),
    };
    let summary = generate_day(&settings, &output, &arguments.directory).map_err(failure)?;
    print(&describe_day(&summary))?;
    Ok(Status::Done)
}

/// The start of a period of so many seconds, as a whole second.
fn start_of(end: Moment, window_s: u32) -> i64 {
    let start = end.at(now()).unix_ns().saturating_sub(i64::from(window_s) * SECOND_NS);
    start.div_euclid(SECOND_NS) * SECOND_NS
}

fn samples(arguments: &Simulate, scenario: TpcwScenario) -> Result<Status, CommandError> {
    let none = SimulateTraces {
        requests: None,
        window: None,
        categories: None,
        files: None,
        drop: None,
        duplicate: None,
        mild: false,
        late_host: false,
        true_clocks: false,
    };
    if arguments.traces != none || arguments.format.is_some() {
        let names = "--format, --requests, --window, --categories, --files, --drop, --duplicate, --mild, \
                     --late-host and --true-clocks";
        return Err(CommandError::usage(format!(
            "{names} are for traces; {} makes samples",
            scenario.name()
        )));
    }
    let usual = TpcwSettings::scenario(scenario, arguments.seed);
    let window_s = arguments.sample_window.unwrap_or(usual.window_s);
    let run = tpcw(&usual.with_window_s(window_s)).map_err(failure)?;
    let summary = write_tpcw(&run, &arguments.directory, arguments.compression).map_err(failure)?;
    print(&describe_samples(&summary))?;
    Ok(Status::Done)
}

fn describe_day(summary: &DaySummary) -> String {
    let counts = [summary.truth.requests, summary.truth.spans, summary.files];
    describe_traces(counts, &summary.traces, &summary.truth_file)
}

/// A sentence on how many requests, spans, and files were written, and where.
fn describe_traces([requests, spans, files]: [u64; 3], traces: &Path, truth: &Path) -> String {
    format!(
        "{requests} requests with {spans} spans in {files} files under {}; the truth is in {}\n",
        traces.display(),
        truth.display()
    )
}

fn describe_samples(summary: &SamplesSummary) -> String {
    format!(
        "{} transactions in {} windows on {} servers under {}; the truth is in {}\n",
        summary.transactions,
        summary.windows,
        summary.servers,
        summary.samples.display(),
        summary.truth_file.display()
    )
}

/// A sentence about the written files and the next step.
pub(crate) fn describe(summary: &Summary) -> String {
    let counts = [summary.truth.requests, summary.truth.spans, summary.files];
    describe_traces(counts, &summary.traces, &summary.truth_file)
}

pub(crate) fn failure(error: Error) -> CommandError {
    match error {
        Error::Setting { .. } => CommandError::usage(error),
        _ => CommandError::unreadable(error),
    }
}

fn scenario(name: &str) -> Result<AnyScenario, String> {
    let traces = Scenario::parse(name).map(AnyScenario::Traces);
    let samples = TpcwScenario::parse(name).map(AnyScenario::Samples);
    traces.or(samples).ok_or_else(|| format!("there is no such scenario; there is{}", list()))
}

/// Every scenario, a line each.
fn list() -> String {
    let traces = Scenario::ALL.iter().map(|known| (known.name(), known.summary()));
    let samples = TpcwScenario::ALL.iter().map(|known| (known.name(), known.summary()));
    traces.chain(samples).map(|(name, summary)| format!("\n  {name:<24} {summary}")).collect()
}

fn profile(name: &str) -> Result<Profile, String> {
    let list = || PROFILES.iter().map(|known| format!("\n  {:<16} {}", known.name, known.summary));
    Profile::parse(name)
        .ok_or_else(|| format!("there is no such kind of system; there is{}", list().collect::<String>()))
}

fn fault(name: &str) -> Result<DayFaultKind, String> {
    let row = |kind: DayFaultKind| format!("\n  {:<16} {}", kind.name(), kind.summary());
    let list = || DayFaultKind::ALL.map(row).concat();
    DayFaultKind::parse(name).ok_or_else(|| format!("there is no such fault; there is{}", list()))
}

fn format(name: &str) -> Result<OutputFormat, String> {
    let names = || OutputFormat::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", ");
    OutputFormat::parse(name).ok_or_else(|| format!("there is no such format; there is {}", names()))
}

fn compression(name: &str) -> Result<Compression, String> {
    Compression::parse(name).ok_or_else(|| "write plain, gzip or zstd".to_owned())
}
