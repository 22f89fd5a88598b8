//! `laggard diagnose`.

use crate::arguments::Diagnose;
use crate::exit::{Failure, Status};
use crate::load::{Loaded, load};
use crate::progress::Meter;
use crate::write::{Destination, write_report};
use laggard_diagnose::{BaselineChoice, InputFacts, METHODS, SlowMethod, SlowSettings, diagnose};
use laggard_engine::{IngestSettings, LocalEngine, Traces, WINDOW_MARGIN};
use laggard_formats::{
    FORMATS, Format, InputSettings, Outcome, ReaderOptions, expand, find_format, parse_column_option,
};
use laggard_model::{AdjustedCount, Timestamp};
use laggard_report::{NamedCount, Report, Verdict};
use std::num::NonZeroUsize;

pub(crate) fn run(arguments: &Diagnose) -> Result<Status, Failure> {
    let settings = settings(arguments)?;
    check_baseline(arguments, &settings)?;
    let reader = ReaderOptions {
        weight_attribute: arguments.weight_attribute.clone(),
        probability_attribute: arguments.probability_attribute.clone(),
        ..reader_options(&arguments.columns)?
    };
    let input = InputSettings { format: format(arguments.format.as_deref())?, reader };
    let sources = expand(&arguments.paths).map_err(Failure::unreadable)?;
    let earlier = match arguments.baseline.as_slice() {
        [] => Vec::new(),
        paths => expand(paths).map_err(Failure::unreadable)?,
    };
    let threads = threads(arguments);
    let sets = if earlier.is_empty() { 1 } else { 2 };
    let limits = kept(&settings, arguments.memory / sets);
    let all: Vec<_> = sources.iter().chain(&earlier).cloned().collect();
    let meter = Meter::new(&all);
    let read = || {
        let loaded = load(&sources, &input, limits, threads, &meter)?;
        let baseline = match earlier.as_slice() {
            [] => None,
            earlier => Some(load(earlier, &input, kept_of_baseline(&settings, limits), threads, &meter)?),
        };
        meter.stage("assembling and diagnosing");
        report(loaded, baseline, &settings, threads)
    };
    let report = read();
    meter.done();
    let report = report?;
    let destination =
        Destination { form: arguments.output, file: arguments.file.as_deref(), color: arguments.color };
    write_report(&report, &destination)?;
    Ok(status(&report, arguments.exit_code))
}

/// Which spans of the window's files are worth keeping.
fn kept(settings: &SlowSettings, memory_bytes: usize) -> IngestSettings {
    let (mut since, mut until) = (settings.since, settings.until);
    match settings.baseline {
        BaselineChoice::None => {}
        BaselineChoice::Rest => (since, until) = (Timestamp::MIN, Timestamp::MAX),
        BaselineChoice::Within { since: earlier, until: later } => {
            (since, until) = (since.min(earlier), until.max(later));
        }
    }
    IngestSettings {
        memory_bytes,
        keep_since: since.minus(WINDOW_MARGIN),
        keep_until: until.plus(WINDOW_MARGIN),
    }
}

/// Which spans of the baseline's own files are.
fn kept_of_baseline(settings: &SlowSettings, limits: IngestSettings) -> IngestSettings {
    let (since, until) = match settings.baseline {
        BaselineChoice::Within { since, until } => (since, until),
        BaselineChoice::None | BaselineChoice::Rest => (Timestamp::MIN, Timestamp::MAX),
    };
    IngestSettings { keep_since: since.minus(WINDOW_MARGIN), keep_until: until.plus(WINDOW_MARGIN), ..limits }
}

/// The report of what was loaded.
pub(crate) fn report(
    loaded: Loaded,
    baseline: Option<Loaded>,
    settings: &SlowSettings,
    threads: NonZeroUsize,
) -> Result<Report, Failure> {
    let facts = facts(&loaded.outcome);
    let traces = loaded.ingest.finish(threads);
    let unread: Vec<String> = baseline.iter().filter_map(|loaded| skipped(&loaded.outcome)).collect();
    let earlier = baseline.map(|loaded| loaded.ingest.finish(threads));
    let mut report = diagnose(&traces, earlier.as_ref(), &facts, settings, LocalEngine::new(threads))
        .map_err(Failure::usage)?;
    report.cautions.extend(skipped(&loaded.outcome));
    report.cautions.extend(unread.into_iter().map(|text| format!("Baseline: {text}")));
    report.cautions.extend(earlier.as_ref().and_then(baseline_losses));
    Ok(report)
}

/// What reading the baseline lost; the losses that the report counts are those of the window's files.
fn baseline_losses(traces: &Traces) -> Option<String> {
    let lost = traces.losses().iter().map(|(loss, found)| format!("{} {}", found.count, loss.name()));
    let thinned = (traces.kept_one_in() > 1).then(|| format!("one trace kept in {}", traces.kept_one_in()));
    let words: Vec<String> = lost.chain(thinned).collect();
    (!words.is_empty()).then(|| format!("Lost on the way of the baseline: {}.", words.join(", ")))
}

/// Without a window of its own, a baseline in the same files would be compared with itself.
fn check_baseline(arguments: &Diagnose, settings: &SlowSettings) -> Result<(), Failure> {
    let same_files = arguments.baseline.is_empty() && settings.baseline != BaselineChoice::None;
    if same_files && arguments.since.is_none() && arguments.until.is_none() {
        return Err(Failure::usage(
            "a baseline in the same files needs --since or --until for what is compared with it",
        ));
    }
    let compares = settings.baseline != BaselineChoice::None || !arguments.baseline.is_empty();
    if compares && settings.method != SlowMethod::Combined {
        return Err(Failure::usage(format!(
            "--method {} does not compare with a baseline",
            settings.method.name()
        )));
    }
    Ok(())
}

fn baseline(arguments: &Diagnose) -> Result<BaselineChoice, Failure> {
    if arguments.baseline_rest {
        return Ok(BaselineChoice::Rest);
    }
    let (since, until) = (arguments.baseline_since, arguments.baseline_until);
    if since.is_none() && until.is_none() {
        return Ok(BaselineChoice::None);
    }
    let (since, until) = (since.unwrap_or(Timestamp::MIN), until.unwrap_or(Timestamp::MAX));
    if since > until {
        return Err(Failure::usage("--baseline-since is later than --baseline-until"));
    }
    Ok(BaselineChoice::Within { since, until })
}

/// A number from 1: without room for any suspect a report would call everything healthy.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("write a whole number from 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// A sampling probability that something can have been kept with.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    let known = text.parse().ok().filter(|&number| AdjustedCount::of_probability(number).is_some());
    known.ok_or_else(|| "write a number above 0 and at most 1".to_owned())
}

fn method(name: &str) -> Result<SlowMethod, Failure> {
    if let Some(row) = METHODS.iter().find(|row| row.name == name) {
        return Ok(row.method);
    }
    let known: Vec<&str> = METHODS.iter().map(|row| row.name).collect();
    Err(Failure::usage(format!("there is no method {name:?}; there is {}", known.join(", "))))
}

fn settings(arguments: &Diagnose) -> Result<SlowSettings, Failure> {
    let settings = SlowSettings {
        method: method(&arguments.method)?,
        clouddiag: arguments.thresholds.settings(),
        patterns: arguments.site_thresholds.patterns(),
        sites: arguments.site_thresholds.settings(),
        baseline: baseline(arguments)?,
        pca: arguments.pca_thresholds.settings(),
        since: arguments.since.unwrap_or(Timestamp::MIN),
        until: arguments.until.unwrap_or(Timestamp::MAX),
        service: arguments.service.clone(),
        sampling_probability: arguments.sampling_probability,
        suspects_max: arguments.top,
    };
    if settings.since > settings.until {
        return Err(Failure::usage("--since is later than --until"));
    }
    settings.clouddiag.check().map_err(Failure::usage)?;
    settings.pca.check().map_err(Failure::usage)?;
    settings.sites.check().map_err(Failure::usage)?;
    settings.patterns.check().map_err(Failure::usage)?;
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
