//! Questions about samples, stored or uploaded: changes, signature and capacity.

use super::body::QueryBody;
use super::spans::TenantQueries;
use super::{AnswerParameters, submit};
use crate::api::answers::Answer;
use crate::api::data::threads;
use crate::api::jobs::Progress;
use crate::api::jobs::routes::JobCreated;
use crate::api::parameters::{Query, now};
use crate::api::problem::{ApiError, ProblemDocument};
use crate::api::sampled::{Sampled, of_files, of_store};
use crate::api::state::AppState;
use crate::api::uploads::Uploads;
use crate::tenants::Tenant;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use laggard_metrics_questions::{CapacitySettings, ChangesQuestion, SignatureQuestion, build_signature};
use laggard_params::{CapacityQuery, ChangesQuery, SampleReading, SignatureQuery, Windows, WithFiles};
use std::sync::Arc;

/// Did code, workload, or another process on the host change CPU use?
#[utoipa::path(
    post, path = "/api/v1/changes", tag = "questions", params(AnswerParameters),
    request_body(content = WithFiles<ChangesQuery>, description = "Settings, named like the flags of `laggard changes`; or a form with the parts settings and file"),
    responses(
        (status = 200, description = "With wait=true: the report, in the requested form", body = laggard_report::ChangeReport),
        (status = 202, description = "A job", body = JobCreated),
        (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument)
    )
)]
pub(crate) async fn changes(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<AnswerParameters>,
    query: QueryBody<WithFiles<ChangesQuery>>,
) -> Result<Response, ApiError> {
    let WithFiles { question, reading } = query.params;
    let settings = question.params.settings()?;
    let source = SampleSource::new(query.uploads, &state, &tenant, &question.windows, reading)?;
    submit(&state, &tenant, "changes", parameters, move |progress| {
        let sampled = source.read(progress)?;
        progress.stage("looking for changes", 0)?;
        let deployments = source.windows.deployments();
        let found = laggard_metrics_questions::changes(&ChangesQuestion {
            table: &sampled.table,
            facts: &sampled.facts,
            deployments: &deployments,
            settings: &settings,
            threads: threads(),
        });
        let mut report = found.map_err(ApiError::invalid)?;
        report.cautions.extend(sampled.cautions);
        Ok(Answer::Changes(Box::new(report)))
    })
    .await
}

/// What do transactions take without queueing?
#[utoipa::path(
    post, path = "/api/v1/signature", tag = "questions", params(AnswerParameters),
    request_body(content = WithFiles<SignatureQuery>, description = "Settings, named like the flags of `laggard signature`; or a form with the parts settings and file"),
    responses(
        (status = 200, description = "With wait=true: the signature, in the requested form", body = laggard_report::Signature),
        (status = 202, description = "A job", body = JobCreated),
        (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument)
    )
)]
pub(crate) async fn signature(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<AnswerParameters>,
    query: QueryBody<WithFiles<SignatureQuery>>,
) -> Result<Response, ApiError> {
    let WithFiles { question, reading } = query.params;
    let source = SampleSource::new(query.uploads, &state, &tenant, &question.windows, reading)?;
    submit(&state, &tenant, "signature", parameters, move |progress| {
        let sampled = source.read(progress)?;
        progress.stage("fitting", 0)?;
        let mut signature = build_signature(&SignatureQuestion {
            table: &sampled.table,
            facts: &sampled.facts,
            label: &question.params.label,
            types_max: question.params.types_max.into(),
        });
        signature.cautions.extend(sampled.cautions);
        Ok(Answer::Signature(Box::new(signature)))
    })
    .await
}

/// How many clients can the system take within a latency target?
#[utoipa::path(
    post, path = "/api/v1/capacity", tag = "questions", params(AnswerParameters),
    request_body(content = WithFiles<CapacityQuery>, description = "Settings, named like the flags of `laggard capacity`; or a form with the parts settings and file"),
    responses(
        (status = 200, description = "With wait=true: the answer, in the requested form", body = laggard_report::CapacityReport),
        (status = 202, description = "A job", body = JobCreated),
        (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument)
    )
)]
pub(crate) async fn capacity(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<AnswerParameters>,
    query: QueryBody<WithFiles<CapacityQuery>>,
) -> Result<Response, ApiError> {
    let WithFiles { question, reading } = query.params;
    let settings = question.params.settings(&question.windows)?;
    let settings = CapacitySettings { threads: threads(), ..settings };
    let source = SampleSource::new(query.uploads, &state, &tenant, &question.windows, reading)?;
    submit(&state, &tenant, "capacity", parameters, move |progress| {
        let sampled = source.read(progress)?;
        progress.stage("modeling", 0)?;
        let answered = laggard_metrics_questions::capacity(&sampled.table, &sampled.facts, &settings);
        let mut report = answered.map_err(ApiError::invalid)?;
        report.cautions.extend(sampled.cautions);
        Ok(Answer::Capacity(Box::new(report)))
    })
    .await
}

/// Where samples come from.
struct SampleSource {
    windows: Windows,
    reading: SampleReading,
    uploads: Option<Uploads>,
    tenant_queries: TenantQueries,
}

impl SampleSource {
    /// Checks what can be checked before anything is read.
    fn new(
        uploads: Option<Uploads>,
        state: &AppState,
        tenant: &Tenant,
        windows: &Windows,
        reading: SampleReading,
    ) -> Result<SampleSource, ApiError> {
        windows.settings(now())?;
        reading.settings()?;
        let tenant_queries = TenantQueries::of(state, tenant);
        let uploads = uploads.filter(|uploads| !uploads.files().is_empty());
        Ok(SampleSource { windows: windows.clone(), reading, uploads, tenant_queries })
    }

    fn read(&self, progress: &Progress) -> Result<Sampled, ApiError> {
        match &self.uploads {
            Some(uploads) => of_files(uploads, &self.reading, &self.windows, progress),
            None => of_store(&self.tenant_queries, &self.windows, progress),
        }
    }
}
