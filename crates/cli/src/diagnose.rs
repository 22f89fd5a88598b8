//! `laggard diagnose`.

use crate::arguments::Diagnose;
use crate::exit::{Failure, Status};
use crate::load::{Loaded, load};
use crate::progress::Meter;
use crate::write::{Destination, write_report};
use laggard_diagnose::{InputFacts, METHODS, SlowSettings, diagnose};
use laggard_engine::{IngestSettings, LocalEngine, WINDOW_MARGIN};
use laggard_formats::{
    FORMATS, Format, InputSettings, Outcome, ReaderOptions, expand, find_format, parse_column_option,
};
use laggard_model::Timestamp;
use laggard_report::{NamedCount, Report, Verdict};
use std::num::NonZeroUsize;

pub(crate) fn run(arguments: &Diagnose) -> Result<Status, Failure> {
    check_method(&arguments.method)?;
    let settings = settings(arguments)?;
    let input = InputSettings {
        format: format(arguments.format.as_deref())?,
        reader: reader_options(&arguments.columns)?,
    };
    let sources = expand(&arguments.paths).map_err(Failure::unreadable)?;
    let threads = threads(arguments);
    let limits = IngestSettings {
        memory_bytes: arguments.memory,
        keep_since: settings.since.minus(WINDOW_MARGIN),
        keep_until: settings.until.plus(WINDOW_MARGIN),
    };
    let meter = Meter::new(&sources);
    let loaded = load(&sources, &input, limits, threads, &meter);
    meter.stage("assembling and diagnosing");
    let report = loaded.and_then(|loaded| report(loaded, &settings, threads));
    meter.done();
    let report = report?;
    let destination =
        Destination { form: arguments.output, file: arguments.file.as_deref(), color: arguments.color };
    write_report(&report, &destination)?;
    Ok(status(&report, arguments.exit_code))
}

/// The report of what was loaded.
pub(crate) fn report(
    loaded: Loaded,
    settings: &SlowSettings,
    threads: NonZeroUsize,
) -> Result<Report, Failure> {
    let facts = facts(&loaded.outcome);
    let traces = loaded.ingest.finish(threads);
    let mut report =
        diagnose(&traces, &facts, settings, LocalEngine::new(threads)).map_err(Failure::usage)?;
    report.cautions.extend(skipped(&loaded.outcome));
    Ok(report)
}

/// A number from 1: without room for any suspect a report would call everything healthy.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("write a whole number from 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

fn check_method(name: &str) -> Result<(), Failure> {
    if METHODS.iter().any(|method| method.name == name) {
        return Ok(());
    }
    let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
    Err(Failure::usage(format!("there is no method {name:?}; there is {}", known.join(", "))))
}

fn settings(arguments: &Diagnose) -> Result<SlowSettings, Failure> {
    let settings = SlowSettings {
        clouddiag: arguments.thresholds.settings(),
        since: arguments.since.unwrap_or(Timestamp::MIN),
        until: arguments.until.unwrap_or(Timestamp::MAX),
        service: arguments.service.clone(),
        suspects_max: arguments.top,
    };
    if settings.since > settings.until {
        return Err(Failure::usage("--since is later than --until"));
    }
    settings.clouddiag.check().map_err(Failure::usage)?;
    Ok(settings)
}

pub(crate) fn format(name: Option<&str>) -> Result<Option<&'static Format>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let unknown = || Failure::usage(format!("there is no format {name:?}; there is {}", known.join(", ")));
    find_format(name).map(Some).ok_or_else(unknown)
}

pub(crate) fn reader_options(columns: &[String]) -> Result<ReaderOptions, Failure> {
    let columns: Result<Vec<_>, _> = columns.iter().map(|text| parse_column_option(text)).collect();
    Ok(ReaderOptions { columns: columns.map_err(Failure::usage)?, ..ReaderOptions::default() })
}

fn threads(arguments: &Diagnose) -> NonZeroUsize {
    arguments.threads.unwrap_or_else(available_threads)
}

/// As many threads as the machine has cores.
pub(crate) fn available_threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

pub(crate) fn facts(outcome: &Outcome) -> InputFacts {
    let formats = outcome.formats.iter();
    InputFacts {
        files: outcome.documents(),
        bytes: outcome.bytes,
        formats: formats.map(|(&name, &count)| NamedCount { name: name.to_owned(), count }).collect(),
    }
}

/// Files in a folder that no format recognised are worth a word, not a failure.
pub(crate) fn skipped(outcome: &Outcome) -> Option<String> {
    let first = outcome.skipped.first()?;
    Some(format!(
        "{} files were skipped, for example {}: {}",
        outcome.skipped_count, first.name, first.reason
    ))
}

fn status(report: &Report, exit_code: bool) -> Status {
    match report.verdict {
        Verdict::Suspects if exit_code => Status::Suspects,
        Verdict::Suspects | Verdict::Healthy => Status::Done,
        Verdict::InsufficientData => Status::TooLittle,
    }
}
