//! The declaration of a question. Its command, its route, its page, and the list of its thresholds follow.

use crate::{
    FromParams, Hosts, KernelReadSettings, KernelSources, KernelTraces, ParamsError, QuestionPage, ReadError,
    ReadProgress, SettingEntry, TraceFile, Windows, read_traces,
};
use clap::Args;
use laggard_kernel_graph::Delimiter;
use laggard_metrics_questions::{DeclaredDeployment, SampleFacts};
use laggard_report::DeclaredReport;
use laggard_samples::WindowTable;
use std::fmt::Debug;
use std::num::NonZeroUsize;
use utoipa::ToSchema;

/// The description of a question, shared by command line, API, and pages.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The command, the path below `/api/v1/`, and the page; `kernel/NAME` if it is about kernel traces.
    pub name: &'static str,
    /// Whether its command has more in it, so that it is not made from this declaration.
    pub own_command: bool,
    /// The summary in the API.
    pub question: &'static str,
    /// The summary of the command.
    pub about: &'static str,
    /// Examples of the command, and its exit statuses; empty if it needs none.
    pub examples: &'static str,
    /// When the command exits with status 1; `None` when it never does.
    pub alarm: Option<Alarm>,
    /// The stage of a job once its data is read.
    pub stage: &'static str,
    /// Lists the thresholds that can be set by name, if there are any.
    pub thresholds: Option<fn() -> Vec<SettingEntry>>,
    /// Its page.
    pub page: QuestionPage,
}

/// Verdicts for which a command exits with status 1, on demand.
#[derive(Clone, Copy, Debug)]
pub struct Alarm {
    /// As in the JSON of the report.
    pub verdicts: &'static [&'static str],
    /// Those for which it exits with status 4: the data do not tell.
    pub unsure: &'static [&'static str],
    /// The help of `--exit-code`.
    pub help: &'static str,
}

/// A question: its parameters, and what they declare.
pub trait DeclaredQuestion: FromParams + Args + ToSchema + Clone + Debug + Send + Sync + 'static {
    /// The parameters, checked.
    type Settings: Send + 'static;
    /// The answer.
    type Output: DeclaredReport + Send + Sync + 'static;
    /// The description of the question.
    const DECLARATION: Declaration;
}

/// How a question about samples is answered.
pub trait SampleQuestion: DeclaredQuestion {
    /// Whether it is also about memory and network links, so that a server of metrics is asked for them.
    const NEEDS_RESOURCES: bool = false;

    /// A parameter of which the command line also accepts `@FILE`, with the value in a file.
    fn value_or_file(&mut self) -> Option<&mut String> {
        None
    }

    /// Checks the parameters before anything is read.
    ///
    /// # Errors
    /// What is missing, what is out of range, and what does not exist.
    fn settings(&self, windows: &Windows) -> Result<Self::Settings, ParamsError>;

    /// The answer; it has the samples' cautions.
    ///
    /// # Errors
    /// Samples that the settings do not fit.
    fn answer(settings: Self::Settings, samples: WindowedSamples) -> Result<Self::Output, ParamsError>;
}

/// Samples in windows, with the facts of reading them.
pub struct WindowedSamples {
    /// The samples by window.
    pub table: WindowTable,
    /// Facts of reading the samples.
    pub facts: SampleFacts,
    /// Deployments that were declared, in order of time.
    pub deployments: Vec<DeclaredDeployment>,
    /// Doubts about the samples, in sentences.
    pub cautions: Vec<String>,
    /// Threads that may be used.
    pub threads: NonZeroUsize,
}

/// How a question about kernel traces is answered.
pub trait KernelQuestion: DeclaredQuestion {
    /// Which traces it is about.
    type Input: KernelTraces;

    /// The delimiter of executions; `None` when the question is about the traces as a whole.
    ///
    /// # Errors
    /// A delimiter that cannot be read.
    fn delimiter(&self) -> Result<Option<Delimiter>, ParamsError>;

    /// Whether graphs are built as the published reference does.
    fn compat(&self) -> bool {
        false
    }

    /// Checks the parameters before anything is read.
    ///
    /// # Errors
    /// What is missing, what is out of range, and what does not exist.
    fn settings(&self, sources: &KernelSources, threads: NonZeroUsize)
    -> Result<Self::Settings, ParamsError>;

    /// Reads the traces.
    ///
    /// # Errors
    /// The first trace, in order, that cannot be read.
    fn read(
        files: &[TraceFile],
        reading: &KernelReadSettings,
        watch: &dyn ReadProgress,
    ) -> Result<Hosts, ReadError> {
        Ok(Hosts { runs: read_traces(files, reading, watch)?, remarks: Vec::new() })
    }

    /// The answer.
    ///
    /// # Errors
    /// Traces that the settings do not fit.
    fn answer(settings: Self::Settings, hosts: Hosts) -> Result<Self::Output, ParamsError>;
}

/// Does something with questions of each kind.
pub trait QuestionVisitor {
    /// … with this one.
    fn about_samples<Q: SampleQuestion>(&mut self) {}

    /// … with this one.
    fn about_kernel_traces<Q: KernelQuestion>(&mut self) {}
}
