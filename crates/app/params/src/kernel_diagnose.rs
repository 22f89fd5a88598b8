//! Parameters of `laggard kernel diagnose`.

use crate::kernel::{setting, window};
use crate::listing::entries;
use crate::set::{self, SetArgument};
use crate::{
    Alarm, Declaration, DeclaredQuestion, Field, FromParams, Hosts, KernelQuestion, KernelSources,
    ParamsError, QuestionPage, RawParams, Text, TwoSets,
};
use clap::Args;
use laggard_align::AlignSettings;
use laggard_kernel_diagnose::{
    Instant, KernelDiagnoseSettings, KernelDiagnosisQuestion, KernelSet, diagnose_kernel,
};
use laggard_kernel_graph::{Delimiter, Glob};
use laggard_report::{KernelDiagnosis, Setting};
use laggard_settings::Settings;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use utoipa::ToSchema;

const EXAMPLES: &str = "Examples:
  laggard kernel diagnose --normal good.dat --sample bad.dat --executions marker
  laggard kernel diagnose --normal mon.dat tue.dat --sample wed.dat --output html -o kernel.html
  laggard kernel diagnose trace.dat --normal-to +10s --sample-from +10s        one trace, two intervals
  laggard kernel diagnose trace.dat --normal-label 'GET v1*' --sample-label 'GET v2*'

Exit status: 0 success, 1 executions are slower (with --exit-code), 2 invalid usage, 3 unreadable input, 4 not enough data.";

/// Which executions are slower than normal ones, at which step, and what do they wait for?
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct KernelDiagnoseParams {
    /// What begins and ends executions
    // Its help is no doc comment: brackets are links there.
    #[arg(
        long,
        value_name = "DELIMITER",
        default_value = "auto",
        help = "What begins and ends executions: auto, marker[:NAME], marker:BEGIN,END, process[:NAME], \
                    events:BEGIN[key=FIELD],END[key=FIELD], syscall:NAME, between:NAME or thread:NAME"
    )]
    pub executions: String,
    /// Normal executions from when: seconds of the trace's clock, +1.5s from its first event, or calendar time
    #[arg(long, value_name = "T")]
    #[schema(value_type = Option<String>)]
    pub normal_from: Option<Text<Instant>>,
    /// … until when
    #[arg(long, value_name = "T")]
    #[schema(value_type = Option<String>)]
    pub normal_to: Option<Text<Instant>>,
    /// Executions in question from when
    #[arg(long, value_name = "T")]
    #[schema(value_type = Option<String>)]
    pub sample_from: Option<Text<Instant>>,
    /// … until when
    #[arg(long, value_name = "T")]
    #[schema(value_type = Option<String>)]
    pub sample_to: Option<Text<Instant>>,
    /// Only normal executions with this label (* matches anything)
    #[arg(long, value_name = "LABEL")]
    pub normal_label: Option<String>,
    /// Only executions in question with this label
    #[arg(long, value_name = "LABEL")]
    pub sample_label: Option<String>,
    /// Only normal executions in this container (* matches anything)
    #[arg(long, value_name = "NAME")]
    pub normal_container: Option<String>,
    /// Only executions in question in this container
    #[arg(long, value_name = "NAME")]
    pub sample_container: Option<String>,
    /// Build graphs as the published reference does, without the corrections that current kernels need
    #[arg(long)]
    pub compat: bool,
    /// Set a threshold, like alphabet=device; repeat for more (`laggard settings kernel-diagnose` lists them)
    #[arg(long, value_name = "NAME=VALUE")]
    #[schema(schema_with = crate::openapi::settings::<KernelDiagnoseSettings>)]
    #[serde(with = "crate::set")]
    pub set: Vec<SetArgument>,
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
            normal_container: None,
            sample_container: None,
            compat: false,
            set: Vec::new(),
        }
    }
}

impl FromParams for KernelDiagnoseParams {
    fn from_raw(raw: &mut RawParams) -> Result<KernelDiagnoseParams, ParamsError> {
        raw.gather_settings::<KernelDiagnoseSettings>()?;
        raw.group()
    }
}

impl DeclaredQuestion for KernelDiagnoseParams {
    type Settings = KernelDiagnosisQuestion;
    type Output = KernelDiagnosis;
    const DECLARATION: Declaration = Declaration {
        name: "kernel/diagnose",
        own_command: false,
        question: "Which executions are slower than normal ones, at which step, and what do they wait for?",
        about: "Find executions of a sample that are slower than normal ones, at which step, and what they wait for",
        examples: EXAMPLES,
        alarm: Some(Alarm {
            verdicts: &["slower", "slower-overall"],
            unsure: &[],
            help: "Exit with status 1 when executions are slower",
        }),
        stage: "aligning",
        thresholds: Some(entries::<KernelDiagnoseSettings>),
        page: QuestionPage {
            title: "Why are some executions slow?",
            key: "",
            introduction: "",
            command: "",
            button: "Diagnose",
            fields: &[
                Field {
                    placeholder: "auto",
                    hint: "marker:NAME, syscall:NAME, thread:NAME, …",
                    ..Field::new("executions", "Executions by")
                },
                Field { rare: true, ..Field::new("normal-label", "Label of normal ones") },
                Field { rare: true, ..Field::new("sample-label", "Label of those in question") },
            ],
        },
    };
}

impl KernelQuestion for KernelDiagnoseParams {
    type Input = TwoSets;

    fn delimiter(&self) -> Result<Option<Delimiter>, ParamsError> {
        Delimiter::parse(&self.executions).map(Some).map_err(ParamsError::new)
    }

    fn compat(&self) -> bool {
        self.compat
    }

    fn settings(
        &self,
        sources: &KernelSources,
        threads: NonZeroUsize,
    ) -> Result<KernelDiagnosisQuestion, ParamsError> {
        self.question(sources, threads)
    }

    fn answer(settings: KernelDiagnosisQuestion, hosts: Hosts) -> Result<KernelDiagnosis, ParamsError> {
        diagnose_kernel(&hosts.runs, &settings).map_err(ParamsError::new)
    }
}

impl KernelDiagnoseParams {
    /// Whether the sets can be distinguished.
    fn check_sources(&self, sources: &KernelSources) -> Result<(), ParamsError> {
        if sources.both.is_empty() {
            let missing = sources.normal.is_empty() || sources.sample.is_empty();
            return match missing {
                true => Err(ParamsError::new(
                    "give --normal TRACE... and --sample TRACE..., or traces that hold both sets",
                )),
                false => Ok(()),
            };
        }
        let params = self;
        let windows = [&params.normal_from, &params.normal_to, &params.sample_from, &params.sample_to];
        let labels =
            [&params.normal_label, &params.normal_container, &params.sample_label, &params.sample_container];
        let labels = labels.iter().any(|label| label.is_some());
        if windows.iter().all(|end| end.is_none()) && !labels {
            return Err(ParamsError::new(
                "one set of traces holds both sets of executions: distinguish them by --normal-from, --normal-to, \
                 --sample-from and --sample-to, by --normal-label and --sample-label, or by --normal-container and \
                 --sample-container; or give --normal TRACE... and \
                 --sample TRACE...",
            ));
        }
        let same = window(params.normal_from.as_ref(), params.normal_to.as_ref())
            == window(params.sample_from.as_ref(), params.sample_to.as_ref());
        let same = same && params.normal_container == params.sample_container;
        if same && params.normal_label == params.sample_label {
            return Err(ParamsError::new("the normal executions and those in question are the same"));
        }
        Ok(())
    }

    /// The question about traces that were read in the order both, normal, sample.
    ///
    /// # Errors
    /// Too few traces, one set of traces that is not divided, and a setting out of its range.
    pub fn question(
        &self,
        sources: &KernelSources,
        threads: NonZeroUsize,
    ) -> Result<KernelDiagnosisQuestion, ParamsError> {
        self.check_sources(sources)?;
        let params = self;
        let normals = sources.normal.len();
        let (normal_runs, sample_runs): (Vec<usize>, Vec<usize>) = match sources.both.len() {
            0 => ((0..normals).collect(), (normals..normals + sources.sample.len()).collect()),
            both => ((0..both).collect(), (0..both).collect()),
        };
        let normal = KernelSet {
            source: source(
                "normal",
                &sources.normal,
                params.normal_label.as_deref().or(params.normal_container.as_deref()),
            ),
            runs: normal_runs,
            window: window(params.normal_from.as_ref(), params.normal_to.as_ref()),
            label: params.normal_label.as_deref().map(Glob::new),
            container: params.normal_container.as_deref().map(Glob::new),
        };
        let sample = KernelSet {
            source: source(
                "sample",
                &sources.sample,
                params.sample_label.as_deref().or(params.sample_container.as_deref()),
            ),
            runs: sample_runs,
            window: window(params.sample_from.as_ref(), params.sample_to.as_ref()),
            label: params.sample_label.as_deref().map(Glob::new),
            container: params.sample_container.as_deref().map(Glob::new),
        };
        let mut settings = KernelDiagnoseSettings::default();
        set::apply(&self.set, &mut settings, "kernel-diagnose")?;
        let rows = self.rows(&settings);
        let KernelDiagnoseSettings { sequences, align } = settings;
        let align = AlignSettings { threads, ..align };
        Ok(KernelDiagnosisQuestion { normal, sample, sequences, align, settings: rows })
    }

    fn rows(&self, settings: &KernelDiagnoseSettings) -> Vec<Setting> {
        let named = settings.values().into_iter().map(|(name, value)| setting(name, value));
        let first = [setting("executions", &self.executions), setting("compat", self.compat)];
        first.into_iter().chain(named).collect()
    }
}

fn source(what: &str, names: &[String], label: Option<&str>) -> String {
    match (names, label) {
        ([], Some(label)) => label.to_owned(),
        ([], None) => format!("{what} window"),
        ([source], _) => source.clone(),
        ([first, rest @ ..], _) => format!("{first} and {} more", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_align::AlignMode;
    use serde_json::json;

    fn sources(both: &[&str], normal: &[&str], sample: &[&str]) -> KernelSources {
        let named = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        KernelSources { both: named(both), normal: named(normal), sample: named(sample) }
    }

    fn question_from(
        value: serde_json::Value,
        of: &KernelSources,
    ) -> Result<KernelDiagnosisQuestion, ParamsError> {
        KernelDiagnoseParams::from_json(value)?.question(of, NonZeroUsize::MIN)
    }

    #[test]
    fn two_sets_of_traces_are_numbered_in_order() {
        let question = question_from(
            json!({"mode": "paper", "average-factor": 2.5}),
            &sources(&[], &["a", "b"], &["c"]),
        )
        .unwrap();
        assert_eq!((question.normal.runs, question.sample.runs), (vec![0, 1], vec![2]));
        assert_eq!((question.normal.source.as_str(), question.sample.source.as_str()), ("a and 1 more", "c"));
        assert_eq!((question.align.mode, question.align.average_factor), (AlignMode::Paper, 2.5));
    }

    #[test]
    fn one_set_of_traces_must_be_divided() {
        let one = sources(&["a"], &[], &[]);
        assert!(question_from(json!({}), &one).unwrap_err().to_string().contains("distinguish them"));
        let same = json!({"normal-label": "x", "sample-label": "x"});
        assert!(question_from(same, &one).unwrap_err().to_string().contains("are the same"));
        let containers = json!({"normal-container": "web", "sample-container": "4f5c2a9be1d0"});
        let question = question_from(containers, &one).unwrap();
        assert_eq!(
            (question.normal.source.as_str(), question.sample.source.as_str()),
            ("web", "4f5c2a9be1d0")
        );
        assert!(question.sample.container.unwrap().matches("4f5c2a9be1d0"));
        let same = json!({"normal-container": "x", "sample-container": "x"});
        assert!(question_from(same, &one).unwrap_err().to_string().contains("are the same"));
        let question = question_from(json!({"normal-to": "+1s", "sample-from": "+1s"}), &one).unwrap();
        assert_eq!((question.normal.runs, question.sample.runs), (vec![0], vec![0]));
        assert!(question_from(json!({}), &sources(&[], &["a"], &[])).is_err());
        assert!(question_from(json!({"step-min": -1.0}), &sources(&[], &["a"], &["b"])).is_err());
    }
}
