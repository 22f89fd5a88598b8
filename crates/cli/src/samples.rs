//! Flags and loading for the commands that start from windows of samples.

use crate::diagnose::{facts, format, reader_options, skipped};
use crate::exit::Failure;
use crate::load::{Gather, Gathered, gather, memory_shares};
use crate::progress::Meter;
use crate::prometheus::{self, Asked, PrometheusInput};
use crate::sample_formats::SampleFormats;
use clap::{Args, ValueEnum};
use laggard_diagnose::{SampleFacts, add_span_samples};
use laggard_engine::{Ingest, IngestSettings, LocalEngine};
use laggard_formats::{InputSettings, Outcome, ReaderOptions, expand};
use laggard_model::{AdjustedCount, CallRecord, Loss, Nanos, SampleRecord, Sink, SpanRecord, Timestamp};
use laggard_samples::{
    CoresOf, LENGTH_MAX, LENGTH_MIN, SampleLimits, SampleTable, UtilizationUnit, WindowError, WindowSettings,
    WindowTable,
};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// What is read, and how it becomes windows.
#[derive(Args, Debug)]
pub(crate) struct SampleInput {
    /// Files, folders or patterns of samples, traces or access logs, in any mixture; - for standard input
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Length of a window: 60s, 5m, 500ms
    #[arg(long, value_name = "LENGTH", default_value = "60s", value_parser = window_length)]
    pub(crate) window: Nanos,
    /// Leave out windows that start before this: RFC 3339, `2026-01-12 09:10` (UTC), or a Unix time in s, ms, µs or ns
    #[arg(long, value_name = "T", value_parser = crate::times::parse, allow_hyphen_values = true)]
    pub(crate) since: Option<Timestamp>,
    /// Leave out windows that end after this
    #[arg(long, value_name = "T", value_parser = crate::times::parse, allow_hyphen_values = true)]
    pub(crate) until: Option<Timestamp>,
    /// Only this server (replica, pod, host); repeat for more
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) servers: Vec<String>,
    /// Only servers of this tier (service); repeat for more
    #[arg(long = "tier", value_name = "NAME")]
    pub(crate) tiers: Vec<String>,
    /// The tier that clients call, when samples count transactions of several tiers
    #[arg(long, value_name = "TIER")]
    pub(crate) front: Option<String>,
    /// CPU capacity in cores, of a server or tier (NAME=N) or of all (N); a quota counts as what it allows, like 1.5
    #[arg(long, value_name = "[NAME=]N", value_parser = cores)]
    pub(crate) cores: Vec<CoresOf>,
    /// What utilization values are
    #[arg(long, value_enum, default_value_t = UtilizationForm::Auto)]
    pub(crate) utilization: UtilizationForm,
    /// Mark a deployment, to compare with the changes found; repeat for more
    #[arg(long = "deployment", value_name = "T=NAME", value_parser = deployment, allow_hyphen_values = true)]
    pub(crate) deployments: Vec<Deployment>,
    /// Read every input as this format instead of recognising it (see `laggard formats`)
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Map a column of somebody else's table: NAME=HEADER
    #[arg(long = "column", value_name = "NAME=HEADER")]
    pub(crate) columns: Vec<String>,
    #[command(flatten)]
    pub(crate) formats: SampleFormats,
    /// Of spans: attribute or column that says how many requests a kept one stands for, like Honeycomb's SampleRate
    #[arg(long, value_name = "NAME")]
    pub(crate) weight_attribute: Option<String>,
    /// Of spans: attribute or column that says with which probability a request was kept, like _sample_rate
    #[arg(long, value_name = "NAME", conflicts_with = "weight_attribute")]
    pub(crate) probability_attribute: Option<String>,
    /// Probability with which traces were kept that do not say themselves, 0 to 1
    #[arg(long, value_name = "P", value_parser = crate::diagnose::probability)]
    pub(crate) sampling_probability: Option<f64>,
    #[command(flatten)]
    pub(crate) prometheus: PrometheusInput,
    /// Memory for samples and spans; what does not fit is left out, and the report says so
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = crate::load::parse_size)]
    pub(crate) memory: usize,
}

/// What utilization values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum UtilizationForm {
    /// Percent when values say so, else a fraction
    Auto,
    /// 0..1 of all cores
    Fraction,
    /// 0..100 of all cores
    Percent,
    /// Cores in use
    Cores,
}

/// A deployment the user told of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Deployment {
    pub(crate) time: Timestamp,
    pub(crate) name: String,
}

/// Windows, and what they were made of.
pub(crate) struct LoadedSamples {
    pub(crate) table: WindowTable,
    pub(crate) facts: SampleFacts,
    /// In order of time.
    pub(crate) deployments: Vec<Deployment>,
    /// What is worth a word about the inputs; those about the table are in the table.
    pub(crate) cautions: Vec<String>,
}

/// Reads everything the flags name into one table of windows.
pub(crate) fn load_samples(input: &SampleInput, threads: NonZeroUsize) -> Result<LoadedSamples, Failure> {
    let settings = window_settings(input)?;
    let Gathered { tables, outcome } = read_inputs(input, threads)?;
    let mut samples = tables.samples;
    let mut facts = SampleFacts { input: facts(&outcome), ..SampleFacts::default() };
    let mut cautions: Vec<String> = skipped(&outcome).into_iter().collect();
    let asked = Asked { since: input.since, until: input.until, window: input.window };
    prometheus::ask(&input.prometheus, &asked, &mut samples, &mut facts, &mut cautions)?;
    facts.samples = samples.samples();
    let traces = tables.spans.finish(threads);
    facts.spans = traces.spans();
    if facts.spans > 0 {
        samples.add_losses(traces.losses());
        let assumed = input.sampling_probability.and_then(AdjustedCount::of_probability);
        let engine = LocalEngine::new(threads);
        cautions.extend(add_span_samples(&traces, assumed, settings.length, &mut samples, engine).cautions);
    }
    let table = samples.finish(&settings).map_err(no_table)?;
    let mut deployments = input.deployments.clone();
    deployments.sort_by_key(|deployment| deployment.time);
    Ok(LoadedSamples { table, facts, deployments, cautions })
}

fn read_inputs(input: &SampleInput, threads: NonZeroUsize) -> Result<Gathered<Mixed>, Failure> {
    let reader = input.formats.options(ReaderOptions {
        weight_attribute: input.weight_attribute.clone(),
        probability_attribute: input.probability_attribute.clone(),
        ..reader_options(&input.columns)?
    })?;
    let settings = InputSettings { format: format(input.format.as_deref())?, reader };
    if input.paths.is_empty() && input.prometheus.url.is_some() {
        return Ok(Gathered { tables: Mixed::new(input.memory), outcome: Outcome::default() });
    }
    let sources = expand(&input.paths).map_err(Failure::unreadable)?;
    let empty = || Mixed::new(input.memory / memory_shares(&sources, threads));
    let meter = Meter::new(&sources);
    let gathered = gather(&sources, &settings, &empty, threads, &meter);
    meter.done();
    gathered
}

/// Samples and spans of the same inputs, each in a table of their own.
struct Mixed {
    samples: SampleTable,
    spans: Ingest,
}

/// Bytes that a sample takes.
const SAMPLE_BYTES: usize = 16;

impl Mixed {
    /// Half of the memory for each kind.
    fn new(memory_bytes: usize) -> Mixed {
        let half = memory_bytes / 2;
        let limits = SampleLimits { samples_max: half / SAMPLE_BYTES, ..SampleLimits::default() };
        let spans = IngestSettings { memory_bytes: half, ..IngestSettings::default() };
        Mixed { samples: SampleTable::new(limits), spans: Ingest::new(spans) }
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

impl Gather for Mixed {
    fn merge(&mut self, later: Mixed) {
        self.samples.merge(later.samples);
        self.spans.merge(later.spans);
    }
}

fn no_table(error: WindowError) -> Failure {
    match error {
        WindowError::NoSamples { .. } => Failure::too_little(error),
        _ => Failure::usage(error),
    }
}

fn window_settings(input: &SampleInput) -> Result<WindowSettings, Failure> {
    let settings = WindowSettings {
        length: input.window,
        since: input.since.unwrap_or(Timestamp::MIN),
        until: input.until.unwrap_or(Timestamp::MAX),
        cores: input.cores.clone(),
        utilization: match input.utilization {
            UtilizationForm::Auto => UtilizationUnit::Auto,
            UtilizationForm::Fraction => UtilizationUnit::Fraction,
            UtilizationForm::Percent => UtilizationUnit::Percent,
            UtilizationForm::Cores => UtilizationUnit::Cores,
        },
        servers: input.servers.clone(),
        tiers: input.tiers.clone(),
        front: input.front.clone(),
        ..WindowSettings::default()
    };
    if settings.since >= settings.until {
        return Err(Failure::usage("--since is not before --until"));
    }
    Ok(settings)
}

/// Reads `60s`, `5m`, `1h`, `1d`, `500ms`, or a number of seconds.
pub(crate) fn length(text: &str) -> Result<Nanos, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit.trim() {
        "" | "s" | "sec" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return Err(format!("{text:?} is not a length of time; write 60s, 5m, 1h or 500ms")),
    };
    match number.parse::<f64>() {
        Ok(number) if (number * seconds).is_finite() => {
            Ok(Nanos::from_ns((number * seconds * 1e9).round() as u64))
        }
        _ => Err(format!("{text:?} is not a length of time; write 60s, 5m, 1h or 500ms")),
    }
}

fn window_length(text: &str) -> Result<Nanos, String> {
    let window = length(text)?;
    match (LENGTH_MIN..=LENGTH_MAX).contains(&window) {
        true => Ok(window),
        false => Err(format!("a window of {text} is not between 1 ms and 366 days")),
    }
}

fn cores(text: &str) -> Result<CoresOf, String> {
    let (name, number) = text.rsplit_once('=').unwrap_or(("", text));
    match number.trim().parse::<f64>() {
        Ok(cores) if cores > 0.0 && cores <= 1e6 => Ok(CoresOf { name: name.to_owned(), cores }),
        _ => Err(format!("{text:?} is not a number of cores; write 4, app-1=4 or db=1.5")),
    }
}

fn deployment(text: &str) -> Result<Deployment, String> {
    let Some((time, name)) = text.split_once('=') else {
        return Err(format!("{text:?} is not a deployment; write 2026-01-12T09:10:00Z=v1.4.2"));
    };
    Ok(Deployment { time: crate::times::parse(time)?, name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_with_their_units() {
        for (text, seconds) in
            [("60s", 60.0), ("5m", 300.0), ("1.5h", 5400.0), ("500ms", 0.5), ("10", 10.0), ("1d", 86_400.0)]
        {
            assert_eq!(length(text), Ok(Nanos::from_ns((seconds * 1e9) as u64)), "{text}");
        }
        for text in ["", "s", "5 weeks", "-1s", "1e3s", "nan"] {
            assert!(length(text).is_err(), "{text}");
        }
        assert!(window_length("0").is_err());
        assert!(window_length("400d").is_err());
    }

    #[test]
    fn cores_have_a_name_or_are_of_all() {
        assert_eq!(cores("app=1=1.5"), Ok(CoresOf { name: "app=1".to_owned(), cores: 1.5 }));
        assert_eq!(cores("4"), Ok(CoresOf { name: String::new(), cores: 4.0 }));
        for text in ["", "app=", "app=0", "app=-1", "app=inf", "app=nan"] {
            assert!(cores(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_deployment_has_a_time_and_a_name() {
        let known = deployment("2026-01-12T09:00:00Z=v1=2").unwrap();
        assert_eq!((known.time.unix_ns(), known.name.as_str()), (1_768_208_400_000_000_000, "v1=2"));
        assert!(deployment("v1").is_err());
        assert!(deployment("noon=v1").is_err());
    }
}
