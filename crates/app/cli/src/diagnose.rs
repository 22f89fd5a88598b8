//! `laggard diagnose`, from arguments to exit status: reads traces, runs the question, writes the report.

use crate::exit::{CommandError, Status, Verdicts};
use crate::kernel_evidence::{HostTrace, KernelEvidence, KernelFiles, kernel_evidence};
use crate::load::{Loaded, SpanMemory, assembled, load};
use crate::output::RunOptions;
use crate::progress::Meter;
use crate::prometheus::PrometheusInput;
use crate::runtime::{facts, input_cautions, input_sources};
use crate::samples::{SampleInput, load_samples_of_short_period};
use crate::server::{Server, unanswered};
use crate::stored::StoredFolder;
use crate::trace_source::{LoadedSource, SOURCE_GROUP, TraceSource, windows_to_diagnose};
use clap::Args;
use laggard_diagnose::{BaselineChoice, DiagnoseSettings, diagnose};
use laggard_engine::{IngestSettings, LocalEngine, Requests, WINDOW_MARGIN};
use laggard_formats::{InputSettings, expand};
use laggard_metrics_questions::ChangesSettings;
use laggard_model::Timestamp;
use laggard_params::{
    BaselineData, BaselineMode, ChangesParams, DiagnoseParams, Inputs, SampleFormats, SampleQuestion, Text,
    Weights, Window, Windows,
};
use laggard_report::{DeclaredReport, InputFacts, OtherEvidence, Report, SystemEvent};
use laggard_system::now;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  laggard diagnose traces/                                  every file below a folder
  laggard diagnose --since 2026-01-12T09:10:00Z --until 2026-01-12T09:20:00Z traces/
  laggard diagnose today/ --baseline yesterday/              what is slower than before?
  laggard diagnose --since 2026-01-12T09:10Z --until 2026-01-12T09:20Z --baseline-rest traces/
  laggard diagnose traces/ --baseline yesterday/ --samples cpu.csv    and was it the code, the load, or the machine?
  laggard diagnose traces/ --kernel web-1=web-1.dat --kernel web-2=web-2.dat    and what do slow calls wait for?
  laggard diagnose --service checkout traces/ --output markdown
  laggard diagnose spans.csv --column trace_id=TraceID --column start_us=Begin --column duration_ms=Took
  laggard diagnose traces/ --deployment cart@1.4.3=2026-01-12T09:12:00Z    did it begin with this?
  laggard diagnose traces/ --exit-code || page-somebody
  laggard diagnose --jaeger http://localhost:16686 --service front --since -15m
  laggard diagnose --server http://localhost:4316 --since -15m             compared with the hour before that
  laggard diagnose --server http://localhost:4316 --since -15m --baseline none
  laggard diagnose --store /var/lib/laggard --since -15m                   the same without asking a server

Servers: --jaeger, --tempo, and others read traces from servers (docs/manual/sources.md).

Exit status: 0 success, 1 suspects were found (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Diagnose {
    /// Files, folders, patterns, or - for standard input (the default)
    #[arg(value_name = "PATH", conflicts_with = SOURCE_GROUP)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) question: DiagnoseParams,
    /// Compare with these files, folders or patterns; repeat for more. With --server or --store: `none` for no baseline; without
    /// it one is chosen from earlier requests
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["baseline_rest", SOURCE_GROUP])]
    pub(crate) baseline: Vec<PathBuf>,
    /// Samples of CPU of the same time and half an hour or more before it: they say whether slow calls compute or wait; repeat for
    /// more
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["server", "store", SOURCE_GROUP])]
    pub(crate) samples: Vec<PathBuf>,
    /// A kernel trace of a replica, by its name in the traces: HOST=TRACE; it says what slow calls wait for; repeat for more
    #[arg(long, value_name = "HOST=TRACE", conflicts_with_all = ["server", "store", SOURCE_GROUP])]
    pub(crate) kernel: Vec<Text<HostTrace>>,
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
    pub(crate) source: TraceSource,
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) stored: StoredFolder,
}

pub(crate) fn run(arguments: &Diagnose) -> Result<Status, CommandError> {
    let verdicts = Verdicts { alarming: &["suspects"], exit_code: arguments.exit_code, ..Verdicts::NONE };
    let is_stored = arguments.server.is_set() || arguments.stored.is_set();
    if is_stored && arguments.weights != Weights::default() {
        return Err(CommandError::usage(
            "a server has read its spans already: attributes that weigh are of files",
        ));
    }
    let report = if is_stored {
        let question = DiagnoseParams {
            baseline: baseline_of_server(&arguments.baseline)?,
            ..arguments.question.clone()
        };
        if let Some(answered) = arguments.server.answer("diagnose", &question, &arguments.run, &verdicts) {
            return answered;
        }
        report_on_store(arguments, &question)?
    } else {
        report_on_input(arguments)?
    };
    arguments.run.write(&report)?;
    Ok(verdicts.status(&report.verdict()))
}

/// The report on the data folder of a server.
fn report_on_store(arguments: &Diagnose, question: &DiagnoseParams) -> Result<Report, CommandError> {
    let tenant = arguments.server.tenant();
    let stored = arguments.stored.open(tenant, &arguments.memory, &arguments.run)?;
    stored.diagnose(question).map_err(unanswered)
}

/// The report on files, or on a window of a trace server.
pub(crate) fn report_on_input(arguments: &Diagnose) -> Result<Report, CommandError> {
    let settings = arguments.question.settings(now()).map_err(CommandError::usage)?;
    let data = if arguments.baseline.is_empty() { BaselineData::Same } else { BaselineData::Own };
    arguments.question.check_baseline(&settings, data).map_err(CommandError::usage)?;
    let mut input = arguments.inputs.settings().map_err(CommandError::usage)?;
    arguments.weights.apply(&mut input.reader);
    let threads = arguments.run.threads();
    let report = if arguments.source.is_set() {
        report_on_source(arguments, settings, &input, threads)
    } else {
        report_on_files(arguments, &settings, &input, threads)
    };
    let mut report = report?;
    add_evidence(&mut report, arguments, threads)?;
    Ok(report)
}

/// The report on the traces of files.
fn report_on_files(
    arguments: &Diagnose,
    settings: &DiagnoseSettings,
    input: &InputSettings,
    threads: NonZeroUsize,
) -> Result<Report, CommandError> {
    let sources = input_sources(&arguments.paths)?;
    let earlier = match arguments.baseline.as_slice() {
        [] => Vec::new(),
        paths => expand(paths).map_err(CommandError::unreadable)?,
    };
    let sets = if earlier.is_empty() { 1 } else { 2 };
    let limits = ingest_settings(settings, arguments.memory.bytes / sets);
    let all: Vec<_> = sources.iter().chain(&earlier).cloned().collect();
    let (storage, meter) = (arguments.memory.beyond.storage(), Meter::new(&all));
    let read = || {
        let loaded = load(&sources, input, limits, &storage, threads, &meter)?;
        let baseline = match earlier.as_slice() {
            [] => None,
            earlier => {
                Some(load(earlier, input, kept_of_baseline(settings, limits), &storage, threads, &meter)?)
            }
        };
        meter.stage("assembling and diagnosing");
        report(loaded, baseline, settings, arguments.question.events(now()), threads)
    };
    let report = read();
    meter.done();
    report
}

/// The report on the traces of a server: the window and its baseline are bounded, since a server may store any number.
fn report_on_source(
    arguments: &Diagnose,
    settings: DiagnoseSettings,
    input: &InputSettings,
    threads: NonZeroUsize,
) -> Result<Report, CommandError> {
    let (window, baseline) = windows_to_diagnose(&settings, now())?;
    let within = baseline.map(|Window { since, until }| BaselineChoice::Within { since, until });
    let settings = DiagnoseSettings {
        since: window.since,
        until: window.until,
        baseline: within.unwrap_or(BaselineChoice::None),
        ..settings
    };
    let table = arguments.memory.beyond.storage().table(ingest_settings(&settings, arguments.memory.bytes));
    let meter = Meter::without_total();
    let read = || {
        let windows: Vec<Window> = [Some(window), baseline].into_iter().flatten().collect();
        let service = arguments.question.service.as_deref();
        let LoadedSource { loaded, cautions } =
            arguments.source.load(&windows, service, input, table, &meter)?;
        meter.stage("assembling and diagnosing");
        let mut report = report(loaded, None, &settings, arguments.question.events(now()), threads)?;
        report.cautions.extend(cautions);
        Ok(report)
    };
    let report = read();
    meter.done();
    report
}

/// Weighs what samples and kernel traces say about the cause. Transactions are counted by the spans where the samples do not
/// count them.
fn add_evidence(
    report: &mut Report,
    arguments: &Diagnose,
    threads: NonZeroUsize,
) -> Result<(), CommandError> {
    if arguments.samples.is_empty() && arguments.kernel.is_empty() {
        return Ok(());
    }
    let spans = [arguments.paths.as_slice(), &arguments.baseline].concat();
    let mut changes = None;
    if !arguments.samples.is_empty() {
        let input = SampleInput {
            paths: [arguments.samples.as_slice(), &spans].concat(),
            windows: Windows::default(),
            inputs: arguments.inputs.clone(),
            formats: SampleFormats::default(),
            weights: arguments.weights.clone(),
            prometheus: PrometheusInput::default(),
            memory: arguments.memory.bytes,
            beyond: arguments.memory.beyond.clone(),
        };
        let samples = load_samples_of_short_period(&input, threads)?;
        let found =
            ChangesParams::answer(ChangesSettings::default(), samples).map_err(CommandError::usage)?;
        let limits = found.cautions.iter().chain(&found.missing);
        report.cautions.extend(limits.map(|text| format!("Samples: {text}")));
        changes = Some(found);
    }
    let mut kernel = KernelEvidence::default();
    if !arguments.kernel.is_empty() {
        let files = KernelFiles {
            traces: arguments.kernel.iter().map(|trace| HostTrace::clone(trace)).collect(),
            spans: &spans,
            inputs: &arguments.inputs,
            memory: arguments.memory.bytes,
            threads,
        };
        kernel = kernel_evidence(report, &files)?;
        report.cautions.extend(kernel.cautions.iter().map(|text| format!("Kernel: {text}")));
    }
    report.conclude(OtherEvidence {
        changes: changes.as_ref(),
        kernel: kernel.diagnosis.as_ref(),
        ..OtherEvidence::default()
    });
    Ok(())
}

/// `--baseline` as a parameter of a server, which reads no files.
fn baseline_of_server(paths: &[PathBuf]) -> Result<BaselineMode, CommandError> {
    match paths {
        [] => Ok(BaselineMode::Auto),
        [none] if none.as_os_str() == "none" => Ok(BaselineMode::None),
        _ => Err(CommandError::usage(
            "a server reads no files: with --server or --store, --baseline can only be `none`; name a time with \
             --baseline-since and --baseline-until",
        )),
    }
}

/// Which spans of the window's files are worth keeping.
fn ingest_settings(settings: &DiagnoseSettings, memory_bytes: usize) -> IngestSettings {
    let (mut since, mut until) = (settings.since, settings.until);
    match settings.baseline {
        BaselineChoice::None => {}
        BaselineChoice::Rest => (since, until) = (Timestamp::MIN, Timestamp::MAX),
        BaselineChoice::Within { since: earlier, until: later } => {
            (since, until) = (since.min(earlier), until.max(later));
        }
    }
    IngestSettings { memory_bytes, since: since.minus(WINDOW_MARGIN), until: until.plus(WINDOW_MARGIN) }
}

/// Which spans of the baseline's own files are.
fn kept_of_baseline(settings: &DiagnoseSettings, limits: IngestSettings) -> IngestSettings {
    let (since, until) = match settings.baseline {
        BaselineChoice::Within { since, until } => (since, until),
        BaselineChoice::None | BaselineChoice::Rest => (Timestamp::MIN, Timestamp::MAX),
    };
    IngestSettings { since: since.minus(WINDOW_MARGIN), until: until.plus(WINDOW_MARGIN), ..limits }
}

/// The report on the loaded requests.
pub(crate) fn report(
    loaded: Loaded,
    baseline: Option<Loaded>,
    settings: &DiagnoseSettings,
    events: Vec<SystemEvent>,
    threads: NonZeroUsize,
) -> Result<Report, CommandError> {
    let spilled_bytes =
        [Some(&loaded), baseline.as_ref()].into_iter().flatten().map(Loaded::spilled_bytes).sum();
    let facts = InputFacts { events, spilled_bytes, ..facts(&loaded.outcome) };
    let requests = assembled(loaded.ingest, threads)?;
    let unread: Vec<String> = baseline.iter().flat_map(|loaded| input_cautions(&loaded.outcome)).collect();
    let earlier = baseline.map(|loaded| assembled(loaded.ingest, threads)).transpose()?;
    let engine = LocalEngine::new(threads);
    let mut report =
        diagnose(&requests, earlier.as_ref(), &facts, settings, engine).map_err(CommandError::usage)?;
    report.cautions.extend(input_cautions(&loaded.outcome));
    report.cautions.extend(unread.into_iter().map(|text| format!("Baseline: {text}")));
    report.cautions.extend(earlier.as_ref().and_then(baseline_losses));
    Ok(report)
}

/// Losses while reading the baseline; the report counts only those of the window's files.
fn baseline_losses(requests: &Requests) -> Option<String> {
    let losses = requests.import_losses();
    let lost = losses.iter().map(|(loss, found)| format!("{} {}", found.count, loss.name()));
    let thinned = (requests.thinning_factor() > 1)
        .then(|| format!("one trace retained in {}", requests.thinning_factor()));
    let words: Vec<String> = lost.chain(thinned).collect();
    (!words.is_empty()).then(|| format!("Lost on the way of the baseline: {}.", words.join(", ")))
}
