//! `laggard simulate`.

use crate::arguments::{Simulate, SimulateTraces};
use crate::exit::{CommandError, Status};
use crate::write::print;
use laggard_simulate::{Compression, Error, OutputFormat, SamplesSummary, Scenario, Settings, Summary};
use laggard_simulate::{TpcwScenario, TpcwSettings, generate, tpcw, write_tpcw};

/// A scenario of either kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum AnyScenario {
    Traces(Scenario),
    Samples(TpcwScenario),
}

pub(crate) fn run(arguments: &Simulate) -> Result<Status, CommandError> {
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

/// A sentence on what was written and what to do next.
pub(crate) fn describe(summary: &Summary) -> String {
    format!(
        "{} requests with {} spans in {} files under {}; the truth is in {}\n",
        summary.truth.requests,
        summary.truth.spans,
        summary.files,
        summary.traces.display(),
        summary.truth_file.display()
    )
}

pub(crate) fn failure(error: Error) -> CommandError {
    match error {
        Error::Setting { .. } => CommandError::usage(error),
        _ => CommandError::unreadable(error),
    }
}

pub(crate) fn scenario(name: &str) -> Result<AnyScenario, String> {
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

pub(crate) fn format(name: &str) -> Result<OutputFormat, String> {
    let names = || OutputFormat::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", ");
    OutputFormat::parse(name).ok_or_else(|| format!("there is no such format; there is {}", names()))
}

pub(crate) fn compression(name: &str) -> Result<Compression, String> {
    Compression::parse(name).ok_or_else(|| "write plain, gzip or zstd".to_owned())
}
