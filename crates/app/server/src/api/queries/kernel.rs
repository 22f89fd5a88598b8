//! Questions about uploaded kernel traces.

use super::body::QueryBody;
use super::{AnswerParameters, submit};
use crate::api::answers::Answer;
use crate::api::data::threads;
use crate::api::jobs::Progress;
use crate::api::jobs::routes::JobCreated;
use crate::api::parameters::Query;
use crate::api::problem::{ApiError, ProblemDocument};
use crate::api::state::AppState;
use crate::api::uploads::{Part, Uploads};
use crate::tenants::Tenant;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use laggard_kernel_graph::Delimiter;
use laggard_params::{
    KernelDiagnoseParams, KernelPathParams, KernelReadSettings, KernelSources, KernelStatsParams, TraceFile,
    read_hosts, read_traces,
};
use std::sync::Arc;

/// Memory for the graphs of one question.
const GRAPH_BYTES_MAX: usize = 1 << 30;

/// What was the time of a thread or of executions spent on?
#[utoipa::path(
    post, path = "/api/v1/kernel/path", tag = "kernel", params(AnswerParameters),
    request_body(content_type = "multipart/form-data", content = String, description = "settings: named like the flags of `laggard kernel path`; file: a kernel trace, repeated for more hosts"),
    responses(
        (status = 200, description = "With wait=true: the report, in the requested form", body = laggard_report::KernelPathReport),
        (status = 202, description = "A job", body = JobCreated),
        (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument)
    )
)]
pub(crate) async fn kernel_path(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<AnswerParameters>,
    query: QueryBody<KernelPathParams>,
) -> Result<Response, ApiError> {
    let traces = Traces::only_files(query.uploads)?;
    let reading = reading(Some(query.params.delimiter("auto")?), Wanted::Graph, query.params.compat);
    submit(&state, &tenant, "kernel/path", parameters, move |progress| {
        progress.stage("reading events", 0)?;
        let hosts = traces.checked(read_hosts(&traces.of(Part::File), &reading, progress), progress)?;
        progress.stage("following waits", 0)?;
        let answered = laggard_kernel_diagnose::kernel_path(&hosts.runs, &query.params.question(None));
        let mut report = answered.map_err(ApiError::invalid)?;
        report.cautions.extend(hosts.remarks);
        Ok(Answer::KernelPath(Box::new(report)))
    })
    .await
}

/// Which executions are slower than normal ones, at which step, and what do they wait for?
#[utoipa::path(
    post, path = "/api/v1/kernel/diagnose", tag = "kernel", params(AnswerParameters),
    request_body(content_type = "multipart/form-data", content = String, description = "settings: named like the flags of `laggard kernel diagnose`; normal and sample: kernel traces of the two sets; or file: traces that hold both"),
    responses(
        (status = 200, description = "With wait=true: the report, in the requested form", body = laggard_report::KernelDiagnosis),
        (status = 202, description = "A job", body = JobCreated),
        (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument)
    )
)]
pub(crate) async fn kernel_diagnose(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<AnswerParameters>,
    query: QueryBody<KernelDiagnoseParams>,
) -> Result<Response, ApiError> {
    let traces = Traces::some(query.uploads)?;
    let sources = traces.sources()?;
    let question = query.params.question(&sources, threads())?;
    let reading = reading(Some(query.params.delimiter()?), Wanted::Graph, query.params.compat);
    submit(&state, &tenant, "kernel/diagnose", parameters, move |progress| {
        progress.stage("reading events", 0)?;
        let files = [Part::File, Part::Normal, Part::Sample].map(|part| traces.of(part)).concat();
        let runs = traces.checked(read_traces(&files, &reading, progress), progress)?;
        progress.stage("aligning", 0)?;
        let answered = laggard_kernel_diagnose::diagnose_kernel(&runs, &question);
        Ok(Answer::KernelDiagnosis(Box::new(answered.map_err(ApiError::invalid)?)))
    })
    .await
}

/// What do these traces hold?
#[utoipa::path(
    post, path = "/api/v1/kernel/stats", tag = "kernel", params(AnswerParameters),
    request_body(content_type = "multipart/form-data", content = String, description = "file: a kernel trace, repeated for more"),
    responses(
        (status = 200, description = "With wait=true: the report, in the requested form", body = laggard_report::KernelStatsReport),
        (status = 202, description = "A job", body = JobCreated),
        (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument)
    )
)]
pub(crate) async fn kernel_stats(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<AnswerParameters>,
    query: QueryBody<KernelStatsParams>,
) -> Result<Response, ApiError> {
    let KernelStatsParams {} = query.params;
    let traces = Traces::only_files(query.uploads)?;
    let reading = reading(None, Wanted::Statistics, false);
    submit(&state, &tenant, "kernel/stats", parameters, move |progress| {
        progress.stage("reading events", 0)?;
        let runs = traces.checked(read_traces(&traces.of(Part::File), &reading, progress), progress)?;
        Ok(Answer::KernelStats(Box::new(laggard_kernel_diagnose::kernel_stats(&runs))))
    })
    .await
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
