//! Flags and loading for the commands that start from windows of samples.

use crate::exit::CommandError;
use crate::load::{
    BeyondMemory, LoadedTables, ParallelLoad, SpanStorage, assembled, load_tables, memory_shares,
};
use crate::progress::Meter;
use crate::prometheus::{self, PrometheusInput, QueryRange};
use crate::runtime::{facts, input_cautions, input_sources};
use clap::Args;
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_formats::Outcome;
use laggard_metrics_questions::{SampleFacts, add_span_samples};
use laggard_model::{CallRecord, Loss, Nanos, SampleRecord, Sink, SpanRecord};
use laggard_params::{Inputs, SampleFormats, Weights, WindowedSamples, Windows};
use laggard_samples::{SampleLimits, SampleTable, WindowError, WindowSettings, WindowTable, shorter_windows};
use laggard_system::now;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The sample files, and how they become windows.
#[derive(Args, Debug)]
pub(crate) struct SampleInput {
    /// Files, folders or patterns of samples, traces or access logs, in any mixture; - for standard input
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) windows: Windows,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    #[command(flatten)]
    pub(crate) formats: SampleFormats,
    #[command(flatten)]
    pub(crate) weights: Weights,
    #[command(flatten)]
    pub(crate) prometheus: PrometheusInput,
    /// Memory for samples and spans, half of it for each; further samples are dropped, and the report says so
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = crate::load::parse_size)]
    pub(crate) memory: usize,
    #[command(flatten)]
    pub(crate) beyond: BeyondMemory,
}

/// Reads everything the flags name into one table of windows. `has_resources`: a Prometheus server is asked for memory and
/// network links as well.
pub(crate) fn load_samples(
    input: &SampleInput,
    has_resources: bool,
    threads: NonZeroUsize,
) -> Result<WindowedSamples, CommandError> {
    let mut read = ReadSamples::from_input(input, has_resources, threads)?;
    let samples = std::mem::take(&mut read.samples);
    let (table, cautions) = read.table(samples, read.settings.length)?;
    Ok(read.windowed(table, cautions))
}

/// The same for a period that may be short: with shorter windows if there are few, and samples are dense enough.
pub(crate) fn load_samples_of_short_period(
    input: &SampleInput,
    threads: NonZeroUsize,
) -> Result<WindowedSamples, CommandError> {
    let read = ReadSamples::from_input(input, false, threads)?;
    let with_length = |length| read.table(read.samples.clone(), length);
    let (table, cautions) = with_length(read.settings.length)?;
    let shorter = shorter_windows(table.windows).find_map(|length| with_length(length).ok());
    let (table, cautions) = shorter.unwrap_or((table, cautions));
    Ok(read.windowed(table, cautions))
}

/// Samples and spans before they become windows.
struct ReadSamples<'a> {
    input: &'a SampleInput,
    settings: WindowSettings,
    samples: SampleTable,
    requests: Requests,
    facts: SampleFacts,
    cautions: Vec<String>,
    threads: NonZeroUsize,
}

impl ReadSamples<'_> {
    fn from_input(
        input: &SampleInput,
        has_resources: bool,
        threads: NonZeroUsize,
    ) -> Result<ReadSamples<'_>, CommandError> {
        let settings = input.windows.settings(now()).map_err(CommandError::usage)?;
        let LoadedTables { tables, outcome } = read_inputs(input, threads)?;
        let mut samples = tables.samples;
        let mut facts = SampleFacts { input: facts(&outcome), ..SampleFacts::default() };
        let mut cautions = input_cautions(&outcome);
        let range = QueryRange {
            since: input.windows.since.map(|_| settings.since),
            until: input.windows.until.map(|_| settings.until),
            window: settings.length,
            has_resources,
        };
        let only = input.paths.is_empty();
        prometheus::query(&input.prometheus, &range, &mut samples, &mut facts, &mut cautions, only)?;
        facts.samples = samples.samples();
        facts.input.spilled_bytes = tables.spans.spilled_bytes();
        let requests = assembled(tables.spans, threads)?;
        facts.spans = requests.spans();
        Ok(ReadSamples { input, settings, samples, requests, facts, cautions, threads })
    }

    /// Windows of a length, in which spans count transactions where samples do not.
    fn table(
        &self,
        mut samples: SampleTable,
        length: Nanos,
    ) -> Result<(WindowTable, Vec<String>), CommandError> {
        let mut cautions = Vec::new();
        if self.facts.spans > 0 {
            samples.add_losses(self.requests.import_losses());
            let (assumed, engine) = (self.input.windows.assumed_count(), LocalEngine::new(self.threads));
            let added = add_span_samples(self.requests.all(), assumed, length, &mut samples, engine);
            cautions.extend(added.cautions);
        }
        let settings = WindowSettings { length, ..self.settings.clone() };
        Ok((samples.finish(&settings).map_err(no_table)?, cautions))
    }

    fn windowed(self, table: WindowTable, cautions: Vec<String>) -> WindowedSamples {
        let deployments = self.input.windows.deployments();
        let cautions = [self.cautions, cautions].concat();
        WindowedSamples { table, facts: self.facts, deployments, cautions, threads: self.threads }
    }
}

fn read_inputs(input: &SampleInput, threads: NonZeroUsize) -> Result<LoadedTables<Mixed>, CommandError> {
    let mut settings = input.inputs.settings().map_err(CommandError::usage)?;
    input.weights.apply(&mut settings.reader);
    input.formats.apply(&mut settings.reader).map_err(CommandError::usage)?;
    let storage = input.beyond.storage();
    if input.paths.is_empty() && input.prometheus.url.is_some() {
        return Ok(LoadedTables { tables: Mixed::new(input.memory, &storage), outcome: Outcome::default() });
    }
    let sources = input_sources(&input.paths)?;
    let empty = || Mixed::new(input.memory / memory_shares(&sources, threads), &storage);
    let meter = Meter::new(&sources);
    let loaded = load_tables(&sources, &settings, &empty, threads, &meter);
    meter.done();
    loaded
}

/// Samples and spans of the same inputs, each in a table of their own.
struct Mixed {
    samples: SampleTable,
    spans: Ingest,
}

/// Bytes of a sample in memory.
const SAMPLE_BYTES: usize = 16;

impl Mixed {
    /// Half of the memory for each kind.
    fn new(memory_bytes: usize, storage: &SpanStorage) -> Mixed {
        let half = memory_bytes / 2;
        let limits = SampleLimits { samples_max: half / SAMPLE_BYTES, ..SampleLimits::default() };
        let spans = IngestSettings { memory_bytes: half, ..IngestSettings::default() };
        Mixed { samples: SampleTable::new(limits), spans: storage.table(spans) }
    }
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

impl ParallelLoad for Mixed {
    fn merge(&mut self, later: Mixed) {
        self.samples.merge(later.samples);
        self.spans.merge(later.spans);
    }
}

fn no_table(error: WindowError) -> CommandError {
    match error {
        WindowError::NoSamples { .. } | WindowError::NoUtilization { .. } => CommandError::too_little(error),
        _ => CommandError::usage(error),
    }
}
