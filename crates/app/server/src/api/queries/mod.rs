//! `POST /api/v1/diagnose` and its like: questions, from bodies to jobs.
//!
//! ```text
//! JSON, or a form with files ─► named settings, checked ─► job ─► answer
//! ```

mod automatic_baseline;
mod body;
mod kernel;
mod question;
mod recordings;
mod samples;
mod settings;
mod spans;
mod stored_data;
mod two_rounds;
mod worker_store;

pub(crate) use body::small_body;
pub(crate) use question::Question;
pub(crate) use settings::{__path_settings, settings};
pub(crate) use spans::TenantQueries;
pub use stored_data::{ReadLimits, StoredData};
pub use worker_store::WorkerStore;

use super::answers::{Answer, Form, FormParameters};
use super::jobs::routes::{created, respond};
use super::jobs::{Job, Jobs, NewJob, Progress};
use super::problem::{ApiError, ProblemKind};
use super::running::blocking;
use crate::api::state::AppState;
use axum::response::Response;
use laggard_params::{ParamsError, ReadError};
use laggard_report::Output;
use question::{Body, Query, Work};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Every question, in the order of the OpenAPI document.
pub(crate) fn questions() -> impl Iterator<Item = Question> {
    let kernel = kernel::questions().into_iter().chain(recordings::questions());
    spans::questions().into_iter().chain(samples::questions()).chain(kernel)
}

/// How an answer is wanted.
#[derive(Clone, Copy, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AnswerParameters {
    /// Whether the answer comes at once, instead of a job.
    wait: Option<bool>,
    /// Form of the report: json if absent.
    #[param(inline)]
    output: Option<Output>,
    /// Of text: columns, 40 to 500; 100 if absent.
    #[param(minimum = 40, maximum = 500)]
    width: Option<u16>,
    /// Of text: whether with colors.
    color: Option<bool>,
}

impl AnswerParameters {
    fn form(self) -> Result<Form, ApiError> {
        FormParameters { output: self.output, width: self.width, color: self.color }.form()
    }
}

impl From<ParamsError> for ApiError {
    fn from(invalid: ParamsError) -> ApiError {
        ApiError::invalid(invalid)
    }
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> ApiError {
        match error {
            ReadError::Params(invalid) => ApiError::from(invalid),
            ReadError::Unreadable(reason) => ApiError::new(ProblemKind::Unreadable, reason),
        }
    }
}

/// Makes a question a job, and waits for it if that is wanted.
async fn submit(
    state: &AppState,
    new: NewJob<'_>,
    parameters: AnswerParameters,
    work: impl FnOnce(&Progress) -> Result<Answer, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let form = parameters.form()?;
    let job = state.api.jobs.submit(new, work)?;
    if parameters.wait != Some(true) {
        return Ok(created(&job));
    }
    let job = ended(state, job).await?;
    blocking(move || respond(&job, &form)).await?
}

/// Waits until a job has ended. When nobody waits any longer, it is canceled.
async fn ended(state: &AppState, job: Arc<Job>) -> Result<Arc<Job>, ApiError> {
    let waiting = Waiting { jobs: state.api.jobs.clone(), job };
    let mut watch = waiting.job.progress.subscribe();
    tokio::select! {
        // A job holds its own progress, so that waiting for it does not fail.
        _ = watch.wait_for(|progress| progress.state.has_ended()) => {}
        () = state.stopping.cancelled() => {
            return Err(ApiError::new(ProblemKind::Busy, "the server is stopping"));
        }
    }
    Ok(waiting.job.clone())
}

/// A client that waits for an answer; when it goes away, nobody wants the answer.
struct Waiting {
    jobs: Jobs,
    job: Arc<Job>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.job.outcome().is_none() {
            self.jobs.cancel(&self.job);
        }
    }
}
