//! Questions about uploaded kernel traces.

use super::{Body, Query, Question, Work};
use crate::api::data::threads;
use crate::api::jobs::Progress;
use crate::api::problem::ApiError;
use crate::api::uploads::{Part, Uploads};
use laggard_kernel_graph::Delimiter;
use laggard_params::{
    KernelDiagnoseParams, KernelPathParams, KernelReadSettings, KernelSources, KernelStatsParams, TraceFile,
    read_hosts, read_traces,
};
use laggard_report::{KernelDiagnosis, KernelPathReport, KernelStatsReport};

/// Memory for the graphs of one question.
const GRAPH_BYTES_MAX: usize = 1 << 30;

pub(super) fn questions() -> [Question; 3] {
    [
        Question::new(
            "kernel/path",
            "What was the time of a thread or of executions spent on?",
            Body::Files(
                "settings: named like the flags of `laggard kernel path`; file: a kernel trace, repeated for more hosts",
            ),
            path,
        ),
        Question::new(
            "kernel/diagnose",
            "Which executions are slower than normal ones, at which step, and what do they wait for?",
            Body::Files(
                "settings: named like the flags of `laggard kernel diagnose`; normal and sample: kernel traces of the two sets; \
                 or file: traces that hold both",
            ),
            diagnose,
        ),
        Question::new(
            "kernel/stats",
            "What do these traces hold?",
            Body::Files("file: a kernel trace, repeated for more"),
            stats,
        ),
    ]
}

fn path(query: Query<'_, KernelPathParams>) -> Result<Work<KernelPathReport>, ApiError> {
    let (params, traces) = (query.params, Traces::only_files(query.uploads)?);
    let reading = reading(Some(params.delimiter("auto")?), Wanted::Graph, params.compat);
    Ok(Box::new(move |progress| {
        progress.stage("reading events", 0)?;
        let hosts = traces.checked(read_hosts(&traces.of(Part::File), &reading, progress), progress)?;
        progress.stage("following waits", 0)?;
        let answered = laggard_kernel_diagnose::kernel_path(&hosts.runs, &params.question(None));
        let mut report = answered.map_err(ApiError::invalid)?;
        report.cautions.extend(hosts.remarks);
        Ok(report)
    }))
}

fn diagnose(query: Query<'_, KernelDiagnoseParams>) -> Result<Work<KernelDiagnosis>, ApiError> {
    let traces = Traces::some(query.uploads)?;
    let question = query.params.question(&traces.sources()?, threads())?;
    let reading = reading(Some(query.params.delimiter()?), Wanted::Graph, query.params.compat);
    Ok(Box::new(move |progress| {
        progress.stage("reading events", 0)?;
        let files = [Part::File, Part::Normal, Part::Sample].map(|part| traces.of(part)).concat();
        let runs = traces.checked(read_traces(&files, &reading, progress), progress)?;
        progress.stage("aligning", 0)?;
        laggard_kernel_diagnose::diagnose_kernel(&runs, &question).map_err(ApiError::invalid)
    }))
}

fn stats(query: Query<'_, KernelStatsParams>) -> Result<Work<KernelStatsReport>, ApiError> {
    let KernelStatsParams {} = query.params;
    let traces = Traces::only_files(query.uploads)?;
    let reading = reading(None, Wanted::Statistics, false);
    Ok(Box::new(move |progress| {
        progress.stage("reading events", 0)?;
        let runs = traces.checked(read_traces(&traces.of(Part::File), &reading, progress), progress)?;
        Ok(laggard_kernel_diagnose::kernel_stats(&runs))
    }))
}

/// What is made of traces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Graph,
    Statistics,
}

fn reading(delimiter: Option<Delimiter>, wanted: Wanted, compat: bool) -> KernelReadSettings {
    KernelReadSettings {
        delimiter,
        graph: wanted == Wanted::Graph,
        compat,
        statistics: wanted == Wanted::Statistics,
        memory: GRAPH_BYTES_MAX,
        threads: threads(),
    }
}

/// Kernel traces that came with a question.
struct Traces {
    uploads: Uploads,
}

impl Traces {
    fn some(uploads: Option<Uploads>) -> Result<Traces, ApiError> {
        let none = || {
            ApiError::invalid(
                "kernel traces are needed: multipart/form-data with a part file, or normal and sample",
            )
        };
        uploads
            .filter(|uploads| !uploads.files().is_empty())
            .map(|uploads| Traces { uploads })
            .ok_or_else(none)
    }

    fn only_files(uploads: Option<Uploads>) -> Result<Traces, ApiError> {
        let traces = Traces::some(uploads)?;
        match traces.uploads.files().iter().all(|file| file.part == Part::File) {
            true => Ok(traces),
            false => Err(ApiError::invalid("traces of this question are parts called file")),
        }
    }

    fn of(&self, part: Part) -> Vec<TraceFile> {
        let own = self.uploads.files().iter().filter(|file| file.part == part);
        own.map(|file| TraceFile { path: file.path.clone(), name: file.name.clone() }).collect()
    }

    fn sources(&self) -> Result<KernelSources, ApiError> {
        let names = |part| self.of(part).into_iter().map(|file| file.name).collect();
        let sources = KernelSources {
            both: names(Part::File),
            normal: names(Part::Normal),
            sample: names(Part::Sample),
        };
        let in_two = !sources.normal.is_empty() || !sources.sample.is_empty();
        let mixed = !sources.both.is_empty() && in_two;
        match mixed {
            true => {
                Err(ApiError::invalid("send parts file, or parts normal and sample, but not all of them"))
            }
            false => Ok(sources),
        }
    }

    /// What was read, without the paths of this machine.
    fn checked<T>(
        &self,
        read: Result<T, laggard_params::ReadError>,
        progress: &Progress,
    ) -> Result<T, ApiError> {
        progress.check()?;
        read.map_err(|error| match error {
            laggard_params::ReadError::Unreadable(reason) => {
                ApiError::from(laggard_params::ReadError::Unreadable(self.uploads.hide_paths(&reason)))
            }
            other => ApiError::from(other),
        })
    }
}
