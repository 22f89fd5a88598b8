//! `laggard simulate`.

use crate::arguments::Simulate;
use crate::exit::{Failure, Status};
use crate::write::print;
use laggard_simulate::{Compression, Error, OutputFormat, Scenario, Settings, Summary, generate};

pub(crate) fn run(arguments: &Simulate) -> Result<Status, Failure> {
    let settings = Settings {
        requests_per_service: arguments.requests,
        window_s: arguments.window,
        categories_per_service: arguments.categories,
        files: arguments.files,
        mild: arguments.mild,
        drop_records: arguments.drop,
        duplicate_records: arguments.duplicate,
        late_host: arguments.late_host,
        clock_skew: !arguments.true_clocks,
        ..Settings::new(arguments.scenario, arguments.seed)
    };
    let summary = generate(&settings, arguments.format, &arguments.directory, arguments.compression)
        .map_err(failure)?;
    print(&describe(&summary))?;
    Ok(Status::Done)
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

pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::Setting { .. } => Failure::usage(error),
        _ => Failure::unreadable(error),
    }
}

pub(crate) fn scenario(name: &str) -> Result<Scenario, String> {
    let list = || {
        let rows = Scenario::ALL.iter().map(|known| format!("\n  {:<24} {}", known.name(), known.summary()));
        rows.collect::<String>()
    };
    Scenario::parse(name).ok_or_else(|| format!("there is no such scenario; there is{}", list()))
}

pub(crate) fn format(name: &str) -> Result<OutputFormat, String> {
    let names = || OutputFormat::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", ");
    OutputFormat::parse(name).ok_or_else(|| format!("there is no such format; there is {}", names()))
}

pub(crate) fn compression(name: &str) -> Result<Compression, String> {
    Compression::parse(name).ok_or_else(|| "write plain, gzip or zstd".to_owned())
}
