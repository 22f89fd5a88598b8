//! What `laggard kernel diagnose` is params.

use crate::kernel::{setting, window};
use crate::{AtLeastOne, FromParams, ParamsError, RawParams, Text};
use laggard_align::{AlignMode, AlignSettings};
use laggard_kernel_diagnose::{Instant, KernelDiagnosisQuestion, KernelSet, SequenceSettings};
use laggard_kernel_graph::{AlphabetSettings, Delimiter, Encoding, Glob, SplitBy};
use laggard_report::Setting;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;

/// A question: which executions are slower than normal ones, at which step, and what do they wait for?
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[cfg_attr(feature = "flags", derive(clap::Args))]
#[cfg_attr(feature = "flags", group(skip))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KernelDiagnoseQuery {
    /// Which executions.
    #[serde(flatten)]
    #[cfg_attr(feature = "flags", command(flatten))]
    pub params: KernelDiagnoseParams,
    /// How they are judged.
    #[serde(flatten)]
    #[cfg_attr(feature = "flags", command(flatten))]
    pub thresholds: KernelThresholds,
}

/// Which executions are compared.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::Args))]
#[cfg_attr(feature = "flags", group(skip))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct KernelDiagnoseParams {
    /// What begins and ends executions
    // Its help is no doc comment: brackets are links there.
    #[cfg_attr(
        feature = "flags",
        arg(
            long,
            value_name = "DELIMITER",
            default_value = "auto",
            help = "What begins and ends executions: auto, marker[:NAME], marker:BEGIN,END, process[:NAME], \
                    events:BEGIN[key=FIELD],END[key=FIELD], syscall:NAME, between:NAME or thread:NAME"
        )
    )]
    pub executions: String,
    /// Normal executions from when: seconds of the trace's clock, +1.5s from its first event, or calendar time
    #[cfg_attr(feature = "flags", arg(long, value_name = "T"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub normal_from: Option<Text<Instant>>,
    /// … until when
    #[cfg_attr(feature = "flags", arg(long, value_name = "T"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub normal_to: Option<Text<Instant>>,
    /// Executions in question from when
    #[cfg_attr(feature = "flags", arg(long, value_name = "T"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub sample_from: Option<Text<Instant>>,
    /// … until when
    #[cfg_attr(feature = "flags", arg(long, value_name = "T"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub sample_to: Option<Text<Instant>>,
    /// Only normal executions with this label (* stands for anything)
    #[cfg_attr(feature = "flags", arg(long, value_name = "LABEL"))]
    pub normal_label: Option<String>,
    /// Only executions in question with this label
    #[cfg_attr(feature = "flags", arg(long, value_name = "LABEL"))]
    pub sample_label: Option<String>,
    /// Build graphs as the published reference does, without the corrections that current kernels need
    #[cfg_attr(feature = "flags", arg(long))]
    pub compat: bool,
}

/// How executions become sequences, and how those are judged.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::Args))]
#[cfg_attr(feature = "flags", group(skip))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case", default)]
#[cfg_attr(
    feature = "flags",
    command(next_help_heading = "Sequences and thresholds (docs/manual/kernel.md)")
)]
pub struct KernelThresholds {
    /// The robust rules, the paper's as its text has them, or as its listing prints them
    #[cfg_attr(feature = "flags", arg(long, value_enum, default_value_t = KernelMode::Robust))]
    mode: KernelMode,
    /// Letters: states alone, states with whose they are, by device too, or by other threads' names too
    #[cfg_attr(feature = "flags", arg(long, value_enum, default_value_t = AlphabetName::Whose))]
    alphabet: AlphabetName,
    /// Add steps shorter than this many microseconds to the step before
    #[cfg_attr(feature = "flags", arg(long, value_name = "US", default_value_t = 0.0))]
    step_min: f64,
    /// Executions of a set at most; the first in time
    #[cfg_attr(feature = "flags", arg(long, value_name = "N", default_value = "5000"))]
    #[cfg_attr(feature = "openapi", schema(value_type = u32, minimum = 1))]
    executions_max: Text<AtLeastOne>,
    /// Steps of an execution at most; what comes later is left out
    #[cfg_attr(feature = "flags", arg(long, value_name = "N", default_value = "20000"))]
    #[cfg_attr(feature = "openapi", schema(value_type = u32, minimum = 1))]
    steps_max: Text<AtLeastOne>,
    /// Robust: probability of an alarm by chance, for each question asked of the sample [default: 0.01]
    #[cfg_attr(feature = "flags", arg(long, value_name = "P"))]
    false_alarm: Option<f64>,
    /// Paper: standard deviations above the mean for the average rule (t1) [default: 1.5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X", visible_alias = "t1"))]
    #[serde(alias = "t1")]
    average_factor: Option<f64>,
    /// Paper: factor of the probability rule (t2) [default: 1.5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X", visible_alias = "t2"))]
    #[serde(alias = "t2")]
    probability_factor: Option<f64>,
    /// Paper: standard deviations above its kind's mean from which an execution stands out [default: 1.5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    outlier_sigma: Option<f64>,
    /// Executions that make a kind [default: 5]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    cluster_min: Option<usize>,
    /// Steepness at which a kind ends [default: 0.05]
    #[cfg_attr(feature = "flags", arg(long, value_name = "X"))]
    steepness: Option<f64>,
}

/// Form of the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::ValueEnum))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
enum KernelMode {
    /// Rules changed where the published ones fail on plausible data
    #[default]
    Robust,
    /// The text of the paper
    Paper,
    /// The paper, with the probability rule as its listing prints it
    PaperPrinted,
}

/// What letters tell apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::ValueEnum))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
enum AlphabetName {
    /// A letter is a state
    State,
    /// A state of the execution's own thread is another letter than that of another
    #[default]
    Whose,
    /// As whose, and waits by device or interrupt
    Device,
    /// As whose, and other threads by their names
    Thread,
}

impl AlphabetName {
    const fn name(self) -> &'static str {
        match self {
            AlphabetName::State => "state",
            AlphabetName::Whose => "whose",
            AlphabetName::Device => "device",
            AlphabetName::Thread => "thread",
        }
    }
}

impl Default for KernelDiagnoseParams {
    fn default() -> KernelDiagnoseParams {
        KernelDiagnoseParams {
            executions: "auto".to_owned(),
            normal_from: None,
            normal_to: None,
            sample_from: None,
            sample_to: None,
            normal_label: None,
            sample_label: None,
            compat: false,
        }
    }
}

impl Default for KernelThresholds {
    fn default() -> KernelThresholds {
        KernelThresholds {
            mode: KernelMode::Robust,
            alphabet: AlphabetName::Whose,
            step_min: 0.0,
            executions_max: "5000".parse().expect("5000 is a number from 1"),
            steps_max: "20000".parse().expect("20000 is a number from 1"),
            false_alarm: None,
            average_factor: None,
            probability_factor: None,
            outlier_sigma: None,
            cluster_min: None,
            steepness: None,
        }
    }
}

impl FromParams for KernelDiagnoseQuery {
    fn from_raw(raw: &mut RawParams) -> Result<KernelDiagnoseQuery, ParamsError> {
        Ok(KernelDiagnoseQuery { params: raw.group()?, thresholds: raw.group()? })
    }
}

/// The traces of a diagnosis, by what they are called.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelSources {
    /// Traces that hold both sets; empty when the sets have traces of their own.
    pub both: Vec<String>,
    /// Traces of normal executions.
    pub normal: Vec<String>,
    /// Traces of executions in question.
    pub sample: Vec<String>,
}

impl KernelDiagnoseQuery {
    /// What delimits executions.
    ///
    /// # Errors
    /// A delimiter that cannot be read.
    pub fn delimiter(&self) -> Result<Delimiter, ParamsError> {
        Delimiter::parse(&self.params.executions).map_err(ParamsError::new)
    }

    /// Whether the sets can be told apart.
    ///
    /// # Errors
    /// Too few traces, or one set of traces that is not divided.
    pub fn check_sources(&self, sources: &KernelSources) -> Result<(), ParamsError> {
        if sources.both.is_empty() {
            let missing = sources.normal.is_empty() || sources.sample.is_empty();
            return match missing {
                true => Err(ParamsError::new(
                    "give --normal TRACE... and --sample TRACE..., or traces that hold both sets",
                )),
                false => Ok(()),
            };
        }
        let params = &self.params;
        let windows = [&params.normal_from, &params.normal_to, &params.sample_from, &params.sample_to];
        let labels = params.normal_label.is_some() || params.sample_label.is_some();
        if windows.iter().all(|end| end.is_none()) && !labels {
            return Err(ParamsError::new(
                "one set of traces holds both sets of executions: tell them apart by --normal-from, --normal-to, \
                 --sample-from and --sample-to, or by --normal-label and --sample-label; or give --normal TRACE... and \
                 --sample TRACE...",
            ));
        }
        let same = window(params.normal_from.as_ref(), params.normal_to.as_ref())
            == window(params.sample_from.as_ref(), params.sample_to.as_ref());
        if same && params.normal_label == params.sample_label {
            return Err(ParamsError::new("the normal executions and those in question are the same"));
        }
        Ok(())
    }

    /// The question about traces that were read in the order both, normal, sample.
    ///
    /// # Errors
    /// As [`KernelDiagnoseQuery::check_sources`]; and a setting out of its range.
    pub fn question(
        &self,
        sources: &KernelSources,
        threads: NonZeroUsize,
    ) -> Result<KernelDiagnosisQuestion, ParamsError> {
        self.check_sources(sources)?;
        let params = &self.params;
        let normals = sources.normal.len();
        let (normal_runs, sample_runs): (Vec<usize>, Vec<usize>) = match sources.both.len() {
            0 => ((0..normals).collect(), (normals..normals + sources.sample.len()).collect()),
            both => ((0..both).collect(), (0..both).collect()),
        };
        let normal = KernelSet {
            source: source("normal", &sources.normal, params.normal_label.as_deref()),
            runs: normal_runs,
            window: window(params.normal_from.as_ref(), params.normal_to.as_ref()),
            label: params.normal_label.as_deref().map(Glob::new),
        };
        let sample = KernelSet {
            source: source("sample", &sources.sample, params.sample_label.as_deref()),
            runs: sample_runs,
            window: window(params.sample_from.as_ref(), params.sample_to.as_ref()),
            label: params.sample_label.as_deref().map(Glob::new),
        };
        let align = self.thresholds.align(threads);
        align.check().map_err(ParamsError::new)?;
        let sequences = self.thresholds.sequences()?;
        let settings = self.rows(&align);
        Ok(KernelDiagnosisQuestion { normal, sample, sequences, align, settings })
    }

    fn rows(&self, align: &AlignSettings) -> Vec<Setting> {
        let thresholds = &self.thresholds;
        vec![
            setting("executions", &self.params.executions),
            setting("mode", align.mode.name()),
            setting("alphabet", thresholds.alphabet.name()),
            setting("step-min", thresholds.step_min),
            setting("executions-max", thresholds.executions_max.0),
            setting("steps-max", thresholds.steps_max.0),
            setting("false-alarm", align.false_alarm),
            setting("average-factor", align.average_factor),
            setting("probability-factor", align.probability_factor),
            setting("outlier-sigma", align.outlier_sigma),
            setting("cluster-min", align.cluster_points_min),
            setting("steepness", align.steepness),
            setting("compat", self.params.compat),
        ]
    }
}

fn source(what: &str, names: &[String], label: Option<&str>) -> String {
    match (names, label) {
        ([], Some(label)) => label.to_owned(),
        ([], None) => format!("{what} window"),
        ([one], _) => one.clone(),
        ([first, rest @ ..], _) => format!("{first} and {} more", rest.len()),
    }
}

impl KernelThresholds {
    fn sequences(&self) -> Result<SequenceSettings, ParamsError> {
        if !(0.0..=1e9).contains(&self.step_min) {
            return Err(ParamsError::new("--step-min is a number of microseconds, 0 to 1e9"));
        }
        let (encoding, split_by) = match self.alphabet {
            AlphabetName::State => (Encoding::State, SplitBy::Nothing),
            AlphabetName::Whose => (Encoding::StateAndWorker, SplitBy::Nothing),
            AlphabetName::Device => (Encoding::StateAndWorker, SplitBy::Device),
            AlphabetName::Thread => (Encoding::StateAndWorker, SplitBy::Worker),
        };
        let alphabet = AlphabetSettings { encoding, split_by, min_ns: (self.step_min * 1e3) as u64 };
        Ok(SequenceSettings { alphabet, executions_max: self.executions_max.0, steps_max: self.steps_max.0 })
    }

    fn align(&self, threads: NonZeroUsize) -> AlignSettings {
        let default = AlignSettings::default();
        AlignSettings {
            mode: match self.mode {
                KernelMode::Robust => AlignMode::Robust,
                KernelMode::Paper => AlignMode::Paper,
                KernelMode::PaperPrinted => AlignMode::PaperPrinted,
            },
            average_factor: self.average_factor.unwrap_or(default.average_factor),
            probability_factor: self.probability_factor.unwrap_or(default.probability_factor),
            outlier_sigma: self.outlier_sigma.unwrap_or(default.outlier_sigma),
            false_alarm: self.false_alarm.unwrap_or(default.false_alarm),
            cluster_points_min: self.cluster_min.unwrap_or(default.cluster_points_min),
            steepness: self.steepness.unwrap_or(default.steepness),
            threads,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sources(both: &[&str], normal: &[&str], sample: &[&str]) -> KernelSources {
        let named = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        KernelSources { both: named(both), normal: named(normal), sample: named(sample) }
    }

    fn ask(value: serde_json::Value, of: &KernelSources) -> Result<KernelDiagnosisQuestion, ParamsError> {
        KernelDiagnoseQuery::from_json(value)?.question(of, NonZeroUsize::MIN)
    }

    #[test]
    fn two_sets_of_traces_are_numbered_in_order() {
        let question = ask(json!({"mode": "paper", "t1": 2.5}), &sources(&[], &["a", "b"], &["c"])).unwrap();
        assert_eq!((question.normal.runs, question.sample.runs), (vec![0, 1], vec![2]));
        assert_eq!((question.normal.source.as_str(), question.sample.source.as_str()), ("a and 1 more", "c"));
        assert_eq!((question.align.mode, question.align.average_factor), (AlignMode::Paper, 2.5));
    }

    #[test]
    fn one_set_of_traces_must_be_divided() {
        let one = sources(&["a"], &[], &[]);
        assert!(ask(json!({}), &one).unwrap_err().to_string().contains("tell them apart"));
        let same = json!({"normal-label": "x", "sample-label": "x"});
        assert!(ask(same, &one).unwrap_err().to_string().contains("are the same"));
        let question = ask(json!({"normal-to": "+1s", "sample-from": "+1s"}), &one).unwrap();
        assert_eq!((question.normal.runs, question.sample.runs), (vec![0], vec![0]));
        assert!(ask(json!({}), &sources(&[], &["a"], &[])).is_err());
        assert!(ask(json!({"step-min": -1.0}), &sources(&[], &["a"], &["b"])).is_err());
    }
}
