//! `laggard compare`: reads two sets of traces, or one set with two windows, and reports the difference.

use crate::exit::{CommandError, Status, Verdicts};
use crate::load::{Loaded, SpanMemory, SpanStorage, assembled, load};
use crate::output::{RunOptions, TestCaseFiles};
use crate::progress::Meter;
use crate::runtime::{facts, input_cautions};
use crate::server::{Server, unanswered};
use crate::stored::StoredFolder;
use crate::trace_source::{LoadedSource, SOURCE_GROUP, TraceSource, windows_to_compare};
use clap::Args;
use laggard_diagnose::{CompareSettings, ComparedPopulation, Population, compare};
use laggard_engine::{IngestSettings, LocalEngine, Requests, WINDOW_MARGIN};
use laggard_formats::{InputSettings, expand};
use laggard_params::{CompareParams, ComparedData, Inputs, WHAT_TO_COMPARE, Window};
use laggard_report::{Comparison, DeclaredReport, InputFacts};
use laggard_system::now;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  laggard compare yesterday/ today/
  laggard compare old.json new.json --output html -o difference.html
  laggard compare traces/ --since 2026-01-12T09:20:00Z          the time before against the time after
  laggard compare traces/ --before-until 2026-01-12T09:10:00Z --since 2026-01-12T09:20:00Z
  laggard compare main/ branch/ --service checkout --exit-code --junit laggard.xml || echo slower
  laggard compare --tempo http://localhost:3200 --since -15m               with the 15 minutes before
  laggard compare --store /var/lib/laggard --before-since -1h --since -15m  windows of a server's data folder

Servers: --jaeger, --tempo, and others read traces from servers (docs/manual/sources.md).

Exit status: 0 success, 1 slower or changed (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Compare {
    /// The set before and the set after; or one data set, with windows
    #[arg(value_name = "PATH", num_args = 0..=2, conflicts_with = SOURCE_GROUP)]
    pub(crate) paths: Vec<PathBuf>,
    /// More of the set before: file, folder or pattern
    #[arg(long, value_name = "PATH", conflicts_with_all = ["server", "store", SOURCE_GROUP])]
    pub(crate) before: Vec<PathBuf>,
    /// More of the set after
    #[arg(long, value_name = "PATH", conflicts_with_all = ["server", "store", SOURCE_GROUP])]
    pub(crate) after: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) question: CompareParams,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// Exit with status 1 when the set after is slower or changed
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(crate) test_cases: TestCaseFiles,
    #[command(flatten)]
    pub(crate) run: RunOptions,
    #[command(flatten)]
    pub(crate) memory: SpanMemory,
    #[command(flatten)]
    pub(crate) source: TraceSource,
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) stored: StoredFolder,
}

pub(crate) fn run(arguments: &Compare) -> Result<Status, CommandError> {
    let verdicts =
        Verdicts { alarming: &["slower", "changed"], exit_code: arguments.exit_code, ..Verdicts::NONE };
    if !arguments.test_cases.is_empty() && arguments.server.is_set() {
        return Err(CommandError::usage(
            "--junit and --sarif are written from traces that are read here: files, or a trace server. A question to \
             --server has the other outputs",
        ));
    }
    if let Some(answered) = arguments.server.answer("compare", &arguments.question, &arguments.run, &verdicts)
    {
        return answered;
    }
    let comparison = if arguments.stored.is_set() {
        let stored = arguments.stored.open(arguments.server.tenant(), &arguments.memory, &arguments.run)?;
        stored.compare(&arguments.question).map_err(unanswered)?
    } else {
        comparison(arguments)?
    };
    arguments.run.write(&comparison)?;
    arguments.test_cases.write(&comparison)?;
    Ok(verdicts.status(&comparison.verdict()))
}

/// The comparison of files, or of windows of a trace server.
pub(crate) fn comparison(arguments: &Compare) -> Result<Comparison, CommandError> {
    let settings = arguments.question.settings().map_err(CommandError::usage)?;
    let input = arguments.inputs.settings().map_err(CommandError::usage)?;
    let reading = SetReader {
        input: &input,
        threads: arguments.run.threads(),
        memory_bytes: arguments.memory.bytes,
        storage: &arguments.memory.beyond.storage(),
    };
    if arguments.source.is_set() {
        compare_in_source(arguments, &reading, &settings)
    } else {
        compare_files(arguments, &reading, &settings)
    }
}

fn compare_files(
    arguments: &Compare,
    reading: &SetReader<'_>,
    settings: &CompareSettings,
) -> Result<Comparison, CommandError> {
    let Question { before, after, windows } = Question::of(arguments)?;
    match after {
        Some(after) => {
            let reading = reading.of_two();
            let before = reading.read(&before, windows[0])?;
            let after = reading.read(&after, windows[1])?;
            answer(arguments, [&before, &after], windows, settings, reading.threads)
        }
        None => {
            let whole = reading.read(&before, windows[0].join(windows[1]))?;
            answer(arguments, [&whole, &whole], windows, settings, reading.threads)
        }
    }
}

/// Compares two windows of a server.
fn compare_in_source(
    arguments: &Compare,
    reading: &SetReader<'_>,
    settings: &CompareSettings,
) -> Result<Comparison, CommandError> {
    let windows = arguments.question.windows(ComparedData::One, now()).map_err(CommandError::usage)?;
    let windows = windows_to_compare(windows, now())?;
    let reading = reading.of_two();
    let before = reading.read_source(arguments, windows[0])?;
    let after = reading.read_source(arguments, windows[1])?;
    answer(arguments, [&before, &after], windows, settings, reading.threads)
}

/// The two sets that are compared.
#[derive(Debug)]
struct Question {
    before: Vec<PathBuf>,
    /// `None` when both windows are of one data set.
    after: Option<Vec<PathBuf>>,
    windows: [Window; 2],
}

impl Question {
    fn of(arguments: &Compare) -> Result<Question, CommandError> {
        let (mut before, mut after) = (arguments.before.clone(), arguments.after.clone());
        let whole = match arguments.paths.as_slice() {
            [] if !before.is_empty() && !after.is_empty() => None,
            [first, second] => {
                before.insert(0, first.clone());
                after.insert(0, second.clone());
                None
            }
            [whole] if before.is_empty() && after.is_empty() => Some(whole.clone()),
            _ => return Err(CommandError::usage(WHAT_TO_COMPARE)),
        };
        let data = if whole.is_some() { ComparedData::One } else { ComparedData::Two };
        let windows = arguments.question.windows(data, now()).map_err(CommandError::usage)?;
        let question = match whole {
            Some(whole) => Question { before: vec![whole], after: None, windows },
            None => Question { before, after: Some(after), windows },
        };
        question.check_standard_input()?;
        Ok(question)
    }

    fn check_standard_input(&self) -> Result<(), CommandError> {
        let all = self.before.iter().chain(self.after.iter().flatten());
        if all.filter(|path| path.as_path() == Path::new("-")).count() > 1 {
            return Err(CommandError::usage("standard input can be one of the two sets only"));
        }
        Ok(())
    }
}

/// How sets are read.
#[derive(Clone, Copy)]
struct SetReader<'a> {
    input: &'a InputSettings,
    threads: NonZeroUsize,
    memory_bytes: usize,
    storage: &'a SpanStorage,
}

/// A set that was read.
struct ReadSet {
    requests: Requests,
    facts: InputFacts,
    label: String,
    cautions: Vec<String>,
}

impl SetReader<'_> {
    /// A reader of two sets, which share the memory.
    fn of_two(&self) -> SetReader<'_> {
        SetReader { memory_bytes: self.memory_bytes / 2, ..*self }
    }

    fn read(&self, paths: &[PathBuf], window: Window) -> Result<ReadSet, CommandError> {
        let sources = expand(paths).map_err(CommandError::unreadable)?;
        let meter = Meter::new(&sources);
        let loaded = load(&sources, self.input, self.limits(window), self.storage, self.threads, &meter);
        meter.done();
        let loaded = loaded?;
        let cautions = input_cautions(&loaded.outcome);
        self.set(loaded, label(paths), cautions)
    }

    fn read_source(&self, arguments: &Compare, window: Window) -> Result<ReadSet, CommandError> {
        let meter = Meter::without_total();
        let service = arguments.question.service.as_deref();
        let table = self.storage.table(self.limits(window));
        let loaded = arguments.source.load(&[window], service, self.input, table, &meter);
        meter.done();
        let LoadedSource { loaded, cautions } = loaded?;
        self.set(loaded, arguments.source.label(), cautions)
    }

    fn limits(&self, window: Window) -> IngestSettings {
        IngestSettings {
            memory_bytes: self.memory_bytes,
            since: window.since.minus(WINDOW_MARGIN),
            until: window.until.plus(WINDOW_MARGIN),
        }
    }

    fn set(&self, loaded: Loaded, label: String, cautions: Vec<String>) -> Result<ReadSet, CommandError> {
        let facts = InputFacts { spilled_bytes: loaded.spilled_bytes(), ..facts(&loaded.outcome) };
        let requests = assembled(loaded.ingest, self.threads)?;
        Ok(ReadSet { requests, facts, label, cautions })
    }
}

fn answer(
    arguments: &Compare,
    sets: [&ReadSet; 2],
    windows: [Window; 2],
    settings: &CompareSettings,
    threads: NonZeroUsize,
) -> Result<Comparison, CommandError> {
    let attributes = arguments.question.attribute_filters().map_err(CommandError::usage)?;
    let selection = arguments.question.selection();
    let populations = [0, 1].map(|side| ComparedPopulation {
        population: Population {
            requests: &sets[side].requests,
            since: windows[side].since,
            until: windows[side].until,
            attributes: &attributes,
            selection: &selection,
        },
        facts: sets[side].facts.clone(),
        label: window_label(&sets[side].label, windows[side]),
    });
    let engine = LocalEngine::new(threads);
    let mut comparison =
        compare([&populations[0], &populations[1]], settings, engine).map_err(CommandError::usage)?;
    let one_data_set = std::ptr::eq(sets[0], sets[1]);
    let read = if one_data_set { &sets[..1] } else { &sets[..] };
    comparison.cautions.extend(read.iter().flat_map(|set| set.cautions.clone()));
    Ok(comparison)
}

fn label(paths: &[PathBuf]) -> String {
    let mut text = paths.first().map_or_else(String::new, |path| path.display().to_string());
    if paths.len() > 1 {
        text.push_str(&format!(" and {} more", paths.len() - 1));
    }
    text
}

fn window_label(label: &str, window: Window) -> String {
    if window == Window::ALL { label.to_owned() } else { format!("{label}, a window of it") }
}
