//! The tools of a server: its questions, and what else an assistant needs to follow their evidence.

use super::data_tools;
use crate::api::answers::{Answer, FormParameters};
use crate::api::problem::{ApiError, ProblemKind};
use crate::api::queries;
use crate::api::state::AppState;
use crate::tenants::Tenant;
use futures::future::BoxFuture;
use laggard_mcp::{Tool, ToolAnswer};
use laggard_params::{settings_answer, settings_tool};
use laggard_report::Output;
use serde_json::Value;
use std::sync::{Arc, LazyLock};

/// What a call is about.
pub(crate) struct ToolContext {
    pub(crate) state: AppState,
    pub(crate) tenant: Arc<Tenant>,
}

/// Answers a call.
type CallTool = dyn Fn(ToolContext, Value) -> BoxFuture<'static, Result<ToolAnswer, ApiError>> + Send + Sync;

/// A tool, and how it answers.
pub(crate) struct ServerTool {
    tool: Tool,
    call: Box<CallTool>,
}

impl ServerTool {
    pub(crate) fn new<F>(
        tool: Tool,
        call: impl Fn(ToolContext, Value) -> F + Send + Sync + 'static,
    ) -> ServerTool
    where
        F: Future<Output = Result<ToolAnswer, ApiError>> + Send + 'static,
    {
        ServerTool { tool, call: Box::new(move |context, arguments| Box::pin(call(context, arguments))) }
    }
}

static TOOLS: LazyLock<Vec<ServerTool>> = LazyLock::new(|| {
    let settings = ServerTool::new(settings_tool(), async |_, arguments| Ok(settings_answer(&arguments)));
    let questions = queries::questions().filter_map(|question| question.tool);
    questions.chain(data_tools::all()).chain([settings]).collect()
});

/// The tools of a server, as they are listed.
pub fn tools() -> Vec<Tool> {
    TOOLS.iter().map(|row| row.tool.clone()).collect()
}

/// The answer of a tool, or why there is none.
pub(super) async fn answer(context: ToolContext, name: &str, arguments: Value) -> ToolAnswer {
    let Some(row) = TOOLS.iter().find(|row| row.tool.name == name) else {
        return ToolAnswer::failed(format_args!("there is no tool {name:?}"));
    };
    match (row.call)(context, arguments).await {
        Ok(answer) => answer,
        Err(error) if error.kind() == ProblemKind::Busy => {
            ToolAnswer::failed(format_args!("{}; call again in some seconds", error.detail()))
        }
        Err(error) => ToolAnswer::failed(error.detail()),
    }
}

// Limit: bytes of JSON of a report that is shortened for an assistant of a server | refused: narrow the question
const REPORT_BYTES_MAX: usize = 64 << 20;

/// A report as an answer.
pub(crate) fn report_answer(answer: &Answer) -> Result<ToolAnswer, ApiError> {
    let render = |output| {
        let form = FormParameters { output: Some(output), ..FormParameters::default() }.form()?;
        answer.render(&form)
    };
    let text = render(Output::Markdown)?;
    let data = render(Output::Json)?;
    if data.len() > REPORT_BYTES_MAX {
        return Err(ApiError::new(
            ProblemKind::TooMuchData,
            format_args!(
                "the report has {} MB; choose a shorter window, or a service or tier",
                data.len() / 1_000_000
            ),
        ));
    }
    let data = serde_json::from_slice(&data);
    let data = data.map_err(|error| ApiError::new(ProblemKind::Internal, error))?;
    Ok(ToolAnswer::from_report(Some(answer.verdict()), &String::from_utf8_lossy(&text), data))
}
