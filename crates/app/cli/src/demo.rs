//! `laggard demo`: an incident that the command itself makes, diagnosed; with `--live`, one of real processes.

use crate::diagnose::report;
use crate::exit::{CommandError, Status};
use crate::live_demo::LiveDemo;
use crate::load::{BeyondMemory, load};
use crate::output::{ColorWhen, OutputTarget, print};
use crate::progress::Meter;
use crate::simulate::{describe, failure};
use clap::Args;
use laggard_diagnose::DiagnoseSettings;
use laggard_engine::IngestSettings;
use laggard_formats::{InputSettings, expand};
use laggard_report::Output;
use laggard_simulate::{Compression, OutputFormat, Settings, generate};
use laggard_system::available_threads;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Folder for the traces and the report
    #[arg(value_name = "DIR", default_value = "laggard-demo")]
    directory: PathBuf,
    #[command(flatten)]
    live: LiveDemo,
}

pub(crate) fn run(arguments: &Demo) -> Result<Status, CommandError> {
    if arguments.live.live {
        return arguments.live.run(&arguments.directory);
    }
    let incident = incident(arguments)?;
    let sources = expand(std::slice::from_ref(&incident.traces)).map_err(CommandError::unreadable)?;
    let threads = available_threads();
    let meter = Meter::new(&sources);
    let (limits, storage) = (IngestSettings::default(), BeyondMemory::default().storage());
    let loaded = load(&sources, &InputSettings::default(), limits, &storage, threads, &meter)?;
    let report = report(loaded, None, &DiagnoseSettings::default(), Vec::new(), threads)?;
    meter.done();
    OutputTarget { file: None, color: ColorWhen::Auto }.write(Output::Text, &report)?;
    let page = arguments.directory.join("report.html");
    OutputTarget { file: Some(page.clone()), color: ColorWhen::Never }.write(Output::Html, &report)?;
    print(&format!(
        "\n{}\nThe same report as a page: {}\nNow your own: laggard diagnose PATH\n",
        incident.description,
        page.display()
    ))?;
    Ok(Status::Done)
}

/// Where the incident is, and a sentence on it.
struct Incident {
    traces: PathBuf,
    description: String,
}

/// The incident; the one an earlier demonstration left there, if any.
fn incident(arguments: &Demo) -> Result<Incident, CommandError> {
    let traces = arguments.directory.join("traces");
    if arguments.directory.join("truth.json").is_file() && traces.is_dir() {
        let description = format!("Diagnosed what an earlier demonstration left in {}.", traces.display());
        return Ok(Incident { traces, description });
    }
    let summary =
        generate(&Settings::demo(), OutputFormat::OtlpJson, &arguments.directory, Compression::Plain)
            .map_err(failure)?;
    let description = format!("Made for this demonstration: {}", describe(&summary).trim_end());
    Ok(Incident { traces: summary.traces, description })
}
