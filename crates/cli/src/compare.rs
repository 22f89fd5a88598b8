//! `laggard compare`.

use crate::arguments::Compare;
use crate::diagnose::{available_threads, facts, format, reader_options, skipped};
use crate::exit::{Failure, Status};
use crate::load::{Loaded, load};
use crate::progress::Meter;
use crate::write::{Destination, write_comparison};
use laggard_diagnose::{CompareSettings, ComparedPopulation, InputFacts, Population, compare};
use laggard_engine::{IngestSettings, LocalEngine, Traces, WINDOW_MARGIN};
use laggard_formats::{InputSettings, expand};
use laggard_model::{Nanos, Timestamp};
use laggard_report::{Comparison, ComparisonVerdict};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

pub(crate) fn run(arguments: &Compare) -> Result<Status, Failure> {
    let settings = settings(arguments)?;
    let question = Question::of(arguments)?;
    let input = InputSettings {
        format: format(arguments.format.as_deref())?,
        reader: reader_options(&arguments.columns)?,
    };
    let reading = Reading {
        input: &input,
        threads: arguments.threads.unwrap_or_else(available_threads),
        // Two sets share the memory.
        memory_bytes: arguments.memory / if question.after.is_some() { 2 } else { 1 },
    };
    let windows = question.windows;
    let comparison = match &question.after {
        Some(after) => {
            let before = reading.read(&question.before, windows[0])?;
            let after = reading.read(after, windows[1])?;
            answer(arguments, [&before, &after], windows, &settings, reading.threads)
        }
        None => {
            let whole = reading.read(&question.before, windows[0].join(windows[1]))?;
            answer(arguments, [&whole, &whole], windows, &settings, reading.threads)
        }
    }?;
    let destination =
        Destination { form: arguments.output, file: arguments.file.as_deref(), color: arguments.color };
    write_comparison(&comparison, &destination)?;
    Ok(status(&comparison, arguments.exit_code))
}

fn settings(arguments: &Compare) -> Result<CompareSettings, Failure> {
    let settings = CompareSettings {
        level: arguments.level,
        change_min: arguments.change_min,
        requests_min: arguments.requests_min,
        paths_max: arguments.paths_max,
        observations_max: arguments.observations_max,
        ..CompareSettings::default()
    };
    settings.check().map_err(Failure::usage)?;
    Ok(settings)
}

/// The time that a set's requests start in.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Window {
    since: Timestamp,
    until: Timestamp,
}

impl Window {
    fn join(self, other: Window) -> Window {
        Window { since: self.since.min(other.since), until: self.until.max(other.until) }
    }

    fn is_all(self) -> bool {
        self == Window { since: Timestamp::MIN, until: Timestamp::MAX }
    }
}

/// What is compared with what.
#[derive(Debug)]
struct Question {
    before: Vec<PathBuf>,
    /// `None` when both windows are of one data set.
    after: Option<Vec<PathBuf>>,
    windows: [Window; 2],
}

impl Question {
    fn of(arguments: &Compare) -> Result<Question, Failure> {
        let (mut before, mut after) = (arguments.before.clone(), arguments.after.clone());
        let whole = match arguments.paths.as_slice() {
            [] if !before.is_empty() && !after.is_empty() => None,
            [first, second] => {
                before.insert(0, first.clone());
                after.insert(0, second.clone());
                None
            }
            [whole] if before.is_empty() && after.is_empty() => Some(whole.clone()),
            _ => return Err(Failure::usage(WHAT_TO_GIVE)),
        };
        let windows = windows(arguments, whole.is_some())?;
        let question = match whole {
            Some(whole) => Question { before: vec![whole], after: None, windows },
            None => Question { before, after: Some(after), windows },
        };
        question.check_standard_input()?;
        Ok(question)
    }

    fn check_standard_input(&self) -> Result<(), Failure> {
        let all = self.before.iter().chain(self.after.iter().flatten());
        if all.filter(|path| path.as_path() == Path::new("-")).count() > 1 {
            return Err(Failure::usage("standard input can be one of the two sets only"));
        }
        Ok(())
    }
}

const WHAT_TO_GIVE: &str = "give two sets, BEFORE AFTER (more paths with --before and --after), \
     or one data set and two windows (--since T compares what is before T with what is after it)";

fn windows(arguments: &Compare, one_data_set: bool) -> Result<[Window; 2], Failure> {
    let given = [arguments.before_since, arguments.before_until, arguments.since, arguments.until];
    if one_data_set && given.iter().all(Option::is_none) {
        return Err(Failure::usage(WHAT_TO_GIVE));
    }
    // Of one data set, what is not said to be after was before.
    let until = match (arguments.before_until, arguments.since) {
        (None, Some(since)) if one_data_set => since.minus(Nanos::from_ns(1)),
        (until, _) => until.unwrap_or(Timestamp::MAX),
    };
    let since = match (arguments.since, arguments.before_until) {
        (None, Some(until)) if one_data_set => until.plus(Nanos::from_ns(1)),
        (since, _) => since.unwrap_or(Timestamp::MIN),
    };
    let before = Window { since: arguments.before_since.unwrap_or(Timestamp::MIN), until };
    let after = Window { since, until: arguments.until.unwrap_or(Timestamp::MAX) };
    for (window, names) in [(before, ["before-since", "before-until"]), (after, ["since", "until"])] {
        if window.since > window.until {
            return Err(Failure::usage(format!("--{} is later than --{}", names[0], names[1])));
        }
    }
    Ok([before, after])
}

/// How sets are read.
struct Reading<'a> {
    input: &'a InputSettings,
    threads: NonZeroUsize,
    memory_bytes: usize,
}

/// A set that was read.
struct ReadSet {
    traces: Traces,
    facts: InputFacts,
    paths: Vec<PathBuf>,
    skipped: Option<String>,
}

impl Reading<'_> {
    fn read(&self, paths: &[PathBuf], window: Window) -> Result<ReadSet, Failure> {
        let sources = expand(paths).map_err(Failure::unreadable)?;
        let limits = IngestSettings {
            memory_bytes: self.memory_bytes,
            keep_since: window.since.minus(WINDOW_MARGIN),
            keep_until: window.until.plus(WINDOW_MARGIN),
        };
        let meter = Meter::new(&sources);
        let loaded = load(&sources, self.input, limits, self.threads, &meter);
        meter.done();
        let Loaded { ingest, outcome } = loaded?;
        Ok(ReadSet {
            traces: ingest.finish(self.threads),
            facts: facts(&outcome),
            paths: paths.to_vec(),
            skipped: skipped(&outcome),
        })
    }
}

fn answer(
    arguments: &Compare,
    sets: [&ReadSet; 2],
    windows: [Window; 2],
    settings: &CompareSettings,
    threads: NonZeroUsize,
) -> Result<Comparison, Failure> {
    let populations = [0, 1].map(|at| ComparedPopulation {
        population: Population {
            traces: &sets[at].traces,
            since: windows[at].since,
            until: windows[at].until,
            service: arguments.service.as_deref(),
        },
        facts: sets[at].facts.clone(),
        label: label(&sets[at].paths, windows[at]),
    });
    let engine = LocalEngine::new(threads);
    let mut comparison =
        compare([&populations[0], &populations[1]], settings, engine).map_err(Failure::usage)?;
    let one_data_set = std::ptr::eq(sets[0], sets[1]);
    let read = if one_data_set { &sets[..1] } else { &sets[..] };
    comparison.cautions.extend(read.iter().filter_map(|set| set.skipped.clone()));
    Ok(comparison)
}

fn label(paths: &[PathBuf], window: Window) -> String {
    let mut text = paths.first().map_or_else(String::new, |path| path.display().to_string());
    if paths.len() > 1 {
        text.push_str(&format!(" and {} more", paths.len() - 1));
    }
    if !window.is_all() {
        text.push_str(", a window of it");
    }
    text
}

fn status(comparison: &Comparison, exit_code: bool) -> Status {
    match comparison.verdict {
        ComparisonVerdict::Slower | ComparisonVerdict::Changed if exit_code => Status::Suspects,
        ComparisonVerdict::InsufficientData => Status::TooLittle,
        _ => Status::Done,
    }
}
