//! A question of the API: its route, and its part of the OpenAPI document.

use super::body::QueryBody;
use super::{AnswerParameters, ended, submit};
use crate::api::answers::Answer;
use crate::api::client_id::ClientId;
use crate::api::jobs::routes::{JobCreated, answer as job_answer};
use crate::api::jobs::{NewJob, Progress};
use crate::api::mcp::{ServerTool, ToolContext, report_answer};
use crate::api::parameters;
use crate::api::problem::{ApiError, ProblemDocument};
use crate::api::running::{JobSize, blocking};
use crate::api::state::AppState;
use crate::api::uploads::Uploads;
use crate::tenants::Tenant;
use axum::Extension;
use axum::extract::State;
use axum::routing::{MethodRouter, post};
use laggard_params::{FromParams, add_schemas};
use laggard_report::DeclaredReport;
use std::sync::Arc;
use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder, ParameterIn};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Required};
use utoipa::{IntoParams, PartialSchema, ToSchema};

/// A question: `POST /api/v1/NAME`.
pub(crate) struct Question {
    pub(crate) path: String,
    pub(crate) handler: MethodRouter<AppState>,
    operation: Operation,
    schemas: Vec<(String, RefOr<Schema>)>,
    /// The same for assistants; none where it is about uploaded files.
    pub(crate) tool: Option<ServerTool>,
}

/// The body of a question's request.
#[derive(Clone, Copy)]
pub(super) enum Body {
    /// A JSON object of settings.
    Settings,
    /// The same, or a form with files.
    SettingsOrFiles,
    /// A form with kernel traces, of which there can be two sets.
    Files { two_sets: bool },
}

/// A question as it was sent.
pub(super) struct Query<'a, P> {
    pub(super) params: P,
    pub(super) uploads: Option<Uploads>,
    pub(super) state: &'a AppState,
    pub(super) tenant: &'a Tenant,
}

/// The work of a job once its parameters are checked.
pub(super) struct Work<R> {
    size: JobSize,
    answer: Box<dyn Answering<R>>,
}

/// A function that answers a question.
trait Answering<R>: FnOnce(&Progress) -> Result<R, ApiError> + Send {}

impl<R, F: FnOnce(&Progress) -> Result<R, ApiError> + Send> Answering<R> for F {}

impl<R> Work<R> {
    /// Work that may take long.
    pub(super) fn long(answer: impl FnOnce(&Progress) -> Result<R, ApiError> + Send + 'static) -> Work<R> {
        Work::from_size(JobSize::Long, answer)
    }

    pub(super) fn from_size(
        size: JobSize,
        answer: impl FnOnce(&Progress) -> Result<R, ApiError> + Send + 'static,
    ) -> Work<R> {
        Work { size, answer: Box::new(answer) }
    }
}

impl Question {
    /// Declares a question by its path below `/api/v1/`, a summary, and the function that checks the parameters and
    /// returns the work.
    pub(super) fn new<P, R>(
        name: &'static str,
        summary: &'static str,
        body: Body,
        prepare: fn(Query<'_, P>) -> Result<Work<R>, ApiError>,
    ) -> Question
    where
        P: FromParams + ToSchema + Send + 'static,
        R: DeclaredReport + Send + Sync + 'static,
    {
        let handler = async move |State(state): State<AppState>,
                                  Extension(tenant): Extension<Arc<Tenant>>,
                                  parameters::Query(parameters): parameters::Query<AnswerParameters>,
                                  QueryBody { params, uploads }: QueryBody<P>| {
            let Work { size, answer } = prepare(Query { params, uploads, state: &state, tenant: &tenant })?;
            let new = NewJob { tenant: &tenant.name, client: ClientId::current(), question: name, size };
            let answer = move |progress: &Progress| answer(progress).map(Answer::from_report);
            submit(&state, new, parameters, answer).await
        };
        let operation = OperationBuilder::new()
            .operation_id(Some(name.replace('/', "_")))
            .tag(if name.starts_with("kernel/") { "kernel" } else { "questions" })
            .summary(Some(summary))
            .parameters(Some(AnswerParameters::into_params(|| Some(ParameterIn::Query))))
            .request_body(Some(body.describe::<P>(name)))
            .response("200", response::<R>("With wait=true: the report, in the requested form"))
            .response("202", response::<JobCreated>("A job"))
            .response("4XX", response::<ProblemDocument>(""))
            .response("503", response::<ProblemDocument>(""));
        let mut schemas = Vec::new();
        if !matches!(body, Body::Files { .. }) {
            add_schemas::<P>(&mut schemas);
        }
        add_schemas::<R>(&mut schemas);
        add_schemas::<JobCreated>(&mut schemas);
        Question {
            path: format!("/api/v1/{name}"),
            handler: post(handler),
            operation: operation.build(),
            schemas,
            tool: (!matches!(body, Body::Files { .. })).then(|| tool_of(name, summary, prepare)),
        }
    }

    /// Adds the question to the OpenAPI document.
    pub(crate) fn document(self, document: &mut OpenApi) {
        document.paths.add_path_operation(self.path, vec![HttpMethod::Post], self.operation);
        document.components.get_or_insert_default().schemas.extend(self.schemas);
    }
}

/// A question as a tool: its answer is a job as any other.
fn tool_of<P, R>(
    name: &'static str,
    summary: &str,
    prepare: fn(Query<'_, P>) -> Result<Work<R>, ApiError>,
) -> ServerTool
where
    P: FromParams + ToSchema + Send + 'static,
    R: DeclaredReport + Send + Sync + 'static,
{
    let tool = laggard_params::tool::<P>(name, summary);
    ServerTool::new(tool, move |ToolContext { state, tenant }, arguments| async move {
        let params = P::from_json(arguments)?;
        let Work { size, answer } = prepare(Query { params, uploads: None, state: &state, tenant: &tenant })?;
        let new = NewJob { tenant: &tenant.name, client: ClientId::current(), question: name, size };
        let job = state.api.jobs.submit(new, move |progress| answer(progress).map(Answer::from_report))?;
        let job = ended(&state, job).await?;
        blocking(move || report_answer(job_answer(&job)?)).await?
    })
}

impl Body {
    fn describe<P: ToSchema>(self, name: &str) -> RequestBody {
        let command = name.replace('/', " ");
        let settings = format!("Settings, named like the flags of `laggard {command}`");
        let json = ("application/json", RefOr::from(Ref::from_schema_name(P::name())));
        let (description, (kind, schema)) = match self {
            Body::Settings => (settings, json),
            Body::SettingsOrFiles => (settings + "; or a form with the parts settings and file", json),
            Body::Files { two_sets } => {
                let parts = match two_sets {
                    true => {
                        "normal and sample: kernel traces of the two sets; or file: traces that hold both"
                    }
                    false => "file: a kernel trace, repeated for more",
                };
                let parts = format!("settings: named like the flags of `laggard {command}`; {parts}");
                (parts, ("multipart/form-data", String::schema()))
            }
        };
        let body = RequestBodyBuilder::new().description(Some(description)).required(Some(Required::True));
        body.content(kind, Content::new(Some(schema))).build()
    }
}

fn response<T: ToSchema>(description: &str) -> Response {
    let schema = Ref::from_schema_name(T::name());
    let content = Content::new(Some(schema));
    ResponseBuilder::new().description(description).content("application/json", content).build()
}
