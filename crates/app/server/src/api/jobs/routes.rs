//! `/api/v1/jobs`: what is being answered, and what was.

use super::{Job, JobId, JobState};
use crate::api::answers::{Answer, FormParameters};
use crate::api::parameters::Query;
use crate::api::problem::{ApiError, ProblemDocument, ProblemKind};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures::stream::{self, Stream};
use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderValue, LOCATION};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// A job as it stands.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobDocument {
    id: String,
    /// The question: `diagnose`, `compare`, `kernel/path`, ...
    question: &'static str,
    state: JobState,
    created_ns: i64,
    /// The current stage.
    stage: &'static str,
    /// How much of the stage is done.
    done: u64,
    /// Of how much; 0 when that is not known.
    total: u64,
    /// Once it is done: the answer in one word.
    verdict: Option<String>,
    /// Once it failed: why.
    problem: Option<String>,
}

/// Jobs that are known.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobList {
    /// The latest first.
    jobs: Vec<JobDocument>,
}

/// The address of a job.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobCreated {
    job: String,
    href: String,
}

/// The result of a job as JSON.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes bodies that are rendered from reports")]
enum JobResult {
    /// With `output=json`: the report of the question.
    Report(serde_json::Value),
    /// With `output=document`: what the report shows, as blocks.
    Document(laggard_report::Document),
}

/// No parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

fn document(job: &Job) -> JobDocument {
    let standing = job.progress.progress();
    let outcome = job.outcome();
    JobDocument {
        id: job.id.to_string(),
        question: job.question,
        state: standing.state,
        created_ns: job.created.unix_ns(),
        stage: standing.stage,
        done: standing.done,
        total: standing.total,
        verdict: outcome.as_ref().and_then(|outcome| outcome.ok()).map(|answer| answer.verdict().to_owned()),
        problem: outcome.and_then(Result::err).map(|problem| problem.detail().to_owned()),
    }
}

fn find(state: &AppState, tenant: &Tenant, id: &str) -> Result<Arc<Job>, ApiError> {
    let job = JobId::parse(id).and_then(|id| state.api.jobs.get(&tenant.name, id));
    job.ok_or_else(|| {
        ApiError::not_found(format_args!("there is no job {id:?}, or its answer is no longer kept"))
    })
}

/// The answer to a question that was made a job.
pub(crate) fn created(job: &Job) -> Response {
    let href = format!("/api/v1/jobs/{}", job.id);
    let location = HeaderValue::from_str(&href).expect("hexadecimal digits are a header's value");
    let mut response =
        (StatusCode::ACCEPTED, Json(JobCreated { job: job.id.to_string(), href })).into_response();
    response.headers_mut().insert(LOCATION, location);
    response
}

/// Jobs
#[utoipa::path(
    get, path = "/api/v1/jobs", tag = "jobs",
    responses((status = 200, body = JobList), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn jobs(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(Nothing {}): Query<Nothing>,
) -> Json<JobList> {
    let jobs = state.api.jobs.list(&tenant.name);
    Json(JobList { jobs: jobs.iter().map(|job| document(job)).collect() })
}

/// One job
#[utoipa::path(
    get, path = "/api/v1/jobs/{id}", tag = "jobs", params(("id" = String, Path, description = "The job")),
    responses((status = 200, body = JobDocument), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn job(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
) -> Result<Json<JobDocument>, ApiError> {
    Ok(Json(document(&*find(&state, &tenant, &id)?)))
}

/// Cancels a job
#[utoipa::path(
    delete, path = "/api/v1/jobs/{id}", tag = "jobs", params(("id" = String, Path, description = "The job")),
    responses((status = 204, description = "It is canceled, or had ended"), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn cancel(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.api.jobs.cancel(&*find(&state, &tenant, &id)?);
    Ok(StatusCode::NO_CONTENT)
}

/// The answer of a job
#[utoipa::path(
    get, path = "/api/v1/jobs/{id}/result", tag = "jobs",
    params(("id" = String, Path, description = "The job"), FormParameters),
    responses(
        (status = 200, description = "The report, in the requested form", content(
            (JobResult = "application/json"), (String = "text/plain"), (String = "text/markdown"), (String = "text/html")
        )),
        (status = 409, description = "It has not ended, or it was canceled", body = ProblemDocument),
        (status = "4XX", body = ProblemDocument)
    )
)]
pub(crate) async fn result(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
    Query(parameters): Query<FormParameters>,
) -> Result<Response, ApiError> {
    let form = parameters.form()?;
    let job = find(&state, &tenant, &id)?;
    if job.outcome().is_none() {
        return Err(ApiError::new(ProblemKind::NotReady, "the job has not ended yet"));
    }
    // Rendering a large report takes a while.
    super::super::running::blocking(move || respond(&job, &form)).await?
}

pub(crate) fn respond(job: &Job, form: &super::Form) -> Result<Response, ApiError> {
    answer(job)?.respond(form)
}

/// The answer of a job.
pub(crate) fn answer(job: &Job) -> Result<&Answer, ApiError> {
    match job.outcome() {
        Some(Ok(answer)) => Ok(answer),
        Some(Err(problem)) => Err(problem.clone()),
        None => Err(ApiError::new(ProblemKind::NotReady, "the job has not ended yet")),
    }
}

/// The progress of a job, as server-sent events
#[utoipa::path(
    get, path = "/api/v1/jobs/{id}/events", tag = "jobs", params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, description = "The job's document, each time something changes, until it ends", content_type = "text/event-stream"),
        (status = "4XX", body = ProblemDocument)
    )
)]
pub(crate) async fn events(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let job = find(&state, &tenant, &id)?;
    let stopping = state.stopping.clone();
    let events = futures::StreamExt::take_until(progress(job), async move { stopping.cancelled().await });
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)));
    let mut response = events.into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that buffer would hold progress back.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// No more events of one job than so often.
const EVERY: Duration = Duration::from_millis(100);

/// Where a stream of events stands.
enum StreamState {
    First,
    More,
    Last,
}

fn progress(job: Arc<Job>) -> impl Stream<Item = Result<Event, Infallible>> {
    let watch = job.progress.subscribe();
    stream::unfold((job, watch, StreamState::First), async |(job, mut watch, events)| {
        match events {
            StreamState::Last => return None,
            StreamState::First => {}
            StreamState::More => {
                tokio::time::sleep(EVERY).await;
                watch.changed().await.ok()?;
            }
        }
        let ended = watch.borrow_and_update().state.has_ended();
        let json = serde_json::to_string(&document(&job)).expect("texts and numbers are JSON");
        let next = if ended { StreamState::Last } else { StreamState::More };
        Some((Ok(Event::default().data(json)), (job, watch, next)))
    })
}
