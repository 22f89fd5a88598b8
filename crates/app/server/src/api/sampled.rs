//! Samples as windows: from the store, or from uploaded files.

use super::data::threads;
use super::jobs::Progress;
use super::parameters::now;
use super::problem::{ApiError, ProblemKind};
use super::queries::TenantQueries;
use super::uploads::Uploads;
use crate::operations::ProcessMemory;
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_formats::{InputError, NoProgress, Outcome, expand, read};
use laggard_metrics_questions::{SampleFacts, add_span_samples};
use laggard_model::{CallRecord, Loss, SampleRecord, Sink, SpanRecord, Timestamp};
use laggard_params::{SampleReading, Window, WindowedSamples, Windows};
use laggard_report::{InputFacts, NamedCount};
use laggard_samples::{SampleLimits, SampleTable, WindowError, WindowSettings};
use std::sync::Arc;

/// Samples of one question, and what each needs, bytes.
const SAMPLES_MAX: usize = 16 << 20;
const SAMPLE_BYTES: usize = 16;

/// Memory for the spans of uploaded files.
const SPAN_BYTES_MAX: usize = 1 << 30;

/// Windows of the stored data of a tenant.
pub(crate) fn of_store(
    tenant_queries: &TenantQueries,
    windows: &Windows,
    progress: &Progress,
) -> Result<WindowedSamples, ApiError> {
    let settings = fitting(windows, &tenant_queries.memory)?;
    progress.stage("reading samples", 0)?;
    let mut samples = empty_table(&tenant_queries.memory);
    // Counters are read once before the first window, so that it is complete.
    let since = settings.since.minus(settings.length);
    let view = tenant_queries.views.newest();
    let reading = async { Ok(view.samples(since, settings.until, &mut samples).await?) };
    progress.wait_for(&tenant_queries.handle, reading)?;
    let window = Window { since, until: settings.until };
    let requests = tenant_queries.requests(&[window], progress)?;
    let input = InputFacts {
        files: 1,
        formats: vec![NamedCount { name: "store".to_owned(), count: 1 }],
        ..InputFacts::default()
    };
    finish(
        LoadedInput { samples, requests, window, input, cautions: Vec::new() },
        &settings,
        windows,
        progress,
    )
}

/// Windows of uploaded files.
pub(crate) fn of_files(
    (uploads, memory): (&Uploads, &ProcessMemory),
    reading: &SampleReading,
    windows: &Windows,
    progress: &Progress,
) -> Result<WindowedSamples, ApiError> {
    let settings = fitting(windows, memory)?;
    let memory_bytes = memory.at_most_a_quarter(SPAN_BYTES_MAX);
    let spans = IngestSettings { memory_bytes, ..IngestSettings::default() };
    let mut mixed = Mixed { samples: empty_table(memory), spans: Ingest::new(spans) };
    let outcome = read_files(uploads, reading, &mut mixed, progress)?;
    progress.stage("assembling", 0)?;
    let traces = mixed.spans.finish(threads());
    if traces.spans() > 0 {
        mixed.samples.add_losses(traces.losses());
    }
    let formats = outcome.formats.iter();
    let input = InputFacts {
        files: outcome.documents(),
        bytes: outcome.bytes,
        formats: formats.map(|(&name, &count)| NamedCount { name: name.to_owned(), count }).collect(),
        ..InputFacts::default()
    };
    let skipped =
        outcome.skipped.iter().map(|file| uploads.hide_paths(&format!("{}: {}", file.name, file.reason)));
    let cautions = skipped.collect();
    let requests = Arc::new(Requests::from_traces(traces, threads()));
    let window = Window { since: Timestamp::MIN, until: Timestamp::MAX };
    finish(
        LoadedInput { samples: mixed.samples, requests, window, input, cautions },
        &settings,
        windows,
        progress,
    )
}

/// Reads uploaded files into a sink, in their order.
pub(crate) fn read_files(
    uploads: &Uploads,
    reading: &SampleReading,
    sink: &mut dyn Sink,
    progress: &Progress,
) -> Result<Outcome, ApiError> {
    let settings = reading.settings()?;
    progress.stage("reading files", uploads.files().len() as u64)?;
    let unreadable =
        |error: InputError| ApiError::new(ProblemKind::Unreadable, uploads.hide_paths(&error.to_string()));
    let mut outcome = Outcome::default();
    for (file, done) in uploads.files().iter().zip(1..) {
        for source in expand(std::slice::from_ref(&file.path)).map_err(unreadable)? {
            progress.check()?;
            outcome.merge(read(&source, &settings, sink, &NoProgress).map_err(unreadable)?);
        }
        progress.done(done);
    }
    outcome.check().map_err(unreadable)?;
    Ok(outcome)
}

/// Samples and spans before they become windows.
struct LoadedInput {
    samples: SampleTable,
    requests: Arc<Requests>,
    /// Requests that count.
    window: Window,
    input: InputFacts,
    cautions: Vec<String>,
}

fn finish(
    read: LoadedInput,
    settings: &WindowSettings,
    windows: &Windows,
    progress: &Progress,
) -> Result<WindowedSamples, ApiError> {
    let LoadedInput { mut samples, requests, window, input, mut cautions } = read;
    progress.stage("windowing", 0)?;
    let spans = requests.counts_within(window.since, window.until).spans;
    let facts = SampleFacts { input, samples: samples.samples(), spans };
    if !requests.is_empty() {
        let range = requests.within(window.since, window.until);
        let (assumed, engine) = (windows.assumed_count(), LocalEngine::new(threads()));
        cautions.extend(add_span_samples(range, assumed, settings.length, &mut samples, engine).cautions);
    }
    let table = samples.finish(settings).map_err(|error| match error {
        WindowError::NoSamples { .. } | WindowError::NoUtilization { .. } => {
            ApiError::new(ProblemKind::TooLittleData, error)
        }
        _ => ApiError::invalid(error),
    })?;
    Ok(WindowedSamples { table, facts, deployments: windows.deployments(), cautions, threads: threads() })
}

fn fitting(windows: &Windows, memory: &ProcessMemory) -> Result<WindowSettings, ApiError> {
    Ok(WindowSettings { cells_max: memory.window_cells_max(), ..windows.settings(now())? })
}

fn empty_table(memory: &ProcessMemory) -> SampleTable {
    let samples_max = memory.at_most_an_eighth(SAMPLES_MAX * SAMPLE_BYTES) / SAMPLE_BYTES;
    SampleTable::new(SampleLimits { samples_max, ..SampleLimits::default() })
}

/// Samples and spans of the same files, each in its own table.
struct Mixed {
    samples: SampleTable,
    spans: Ingest,
}

impl Sink for Mixed {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.spans.span(span);
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        self.spans.call(call);
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.samples.sample(sample);
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.samples.lose(loss, example);
    }
}
