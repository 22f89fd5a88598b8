//! Tools about incidents, traces, and searches: queries of the API, with text for the assistant.

use super::tools::{ServerTool, ToolContext};
use super::trace_text::trace_text;
use crate::api::incidents::{IncidentParameters, incident, incidents};
use crate::api::page_sample::sampled_one_in;
use crate::api::parameters::{Query, count};
use crate::api::problem::{ApiError, ProblemKind};
use crate::api::recordings::{RecordingParameters, recordings};
use crate::api::search::{SearchParameters, StatusName, search};
use crate::api::trace::stored_trace;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use laggard_mcp::{Tool, ToolAnswer, input_schema, with_properties};
use laggard_model::{Nanos, Timestamp};
use laggard_params::Moment;
use laggard_report::{rfc3339, visible};
use laggard_system::printable;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use utoipa::openapi::path::ParameterIn;
use utoipa::{IntoParams, PartialSchema};

/// Characters of a name in text, and of the statements of a clause.
const TEXT_CHARS_MAX: usize = 400;
const SENTENCE_CHARS_MAX: usize = 2_000;

/// Spans of a trace that are shown, by default and at most.
const SPANS: usize = 40;
const SPANS_MAX: usize = 200;

pub(super) fn all() -> [ServerTool; 4] {
    [
        ServerTool::new(recordings_tool(), recordings_answer),
        ServerTool::new(incidents_tool(), incidents_answer),
        ServerTool::new(search_tool(), search_answer),
        ServerTool::new(trace_tool(), trace_answer),
    ]
}

/// The schema of arguments that are a query's parameters.
fn parameters_schema<P: IntoParams>() -> Value {
    let mut properties = Map::new();
    for parameter in P::into_params(|| Some(ParameterIn::Query)) {
        let parameter = json!(parameter);
        let mut property = parameter["schema"].clone();
        property["description"] = parameter["description"].clone();
        properties.insert(parameter["name"].as_str().unwrap_or_default().to_owned(), property);
    }
    let schemas = json!({"properties": properties, "$defs": {"Moment": Moment::schema(), "StatusName": StatusName::schema()}});
    let local = schemas.to_string().replace("#/components/schemas/", "#/$defs/");
    input_schema(serde_json::from_str(&local).unwrap_or_default())
}

fn read<P: DeserializeOwned>(arguments: Value) -> Result<P, ApiError> {
    serde_json::from_value(arguments).map_err(ApiError::invalid)
}

fn data(answer: &impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(answer).map_err(|error| ApiError::new(ProblemKind::Internal, error))
}

/// A text of an answer, on one line: it may come from the data, so that nothing in it acts or ends its place.
pub(super) fn text(value: &Value) -> String {
    let line = printable(value.as_str().unwrap_or_default(), TEXT_CHARS_MAX);
    visible(&line).replace('`', "'")
}

/// A sentence of ours, with names in backticks.
fn sentence(value: &Value) -> String {
    visible(&printable(value.as_str().unwrap_or_default(), SENTENCE_CHARS_MAX)).into_owned()
}

fn time(value: &Value) -> String {
    value.as_i64().map_or_else(|| "?".to_owned(), |ns| rfc3339(Timestamp::from_unix_ns(ns)))
}

fn incidents_tool() -> Tool {
    let about = "What went, or goes, wrong? Lists incidents, open ones first, with their verdict: statements with certainty and sources, \
                 alerts, and the page with the evidence. With id, one of them.";
    let id = json!({"type": "string", "description": "The id of one incident; nothing else applies then"});
    let schema = with_properties(parameters_schema::<IncidentParameters>(), &[("id", id)], &[]);
    Tool::for_question("incidents", "Incidents", about, schema)
}

async fn incidents_answer(context: ToolContext, mut arguments: Value) -> Result<ToolAnswer, ApiError> {
    let ToolContext { state, tenant } = context;
    let id = arguments.as_object_mut().and_then(|fields| fields.remove("id")).filter(|id| !id.is_null());
    if let Some(id) = id {
        let id = id.as_str().ok_or_else(|| ApiError::invalid("id must be a text"))?.to_owned();
        let Json(row) = incident(State(state), Extension(tenant), Path(id)).await?;
        let row = data(&row)?;
        return Ok(ToolAnswer::from_report(None, &incident_text(&row), row));
    }
    let parameters = Query(read::<IncidentParameters>(arguments)?);
    let Json(list) = incidents(State(state), Extension(tenant), parameters).await?;
    let list = data(&list)?;
    let rows = list["incidents"].as_array().map_or(&[][..], Vec::as_slice);
    let mut out = format!("{} incidents, {} of all open", rows.len(), list["open"]);
    if list["omitted"] != 0 {
        let _ = write!(out, "; {} more match", list["omitted"]);
    }
    out.push_str(".\n");
    rows.iter().for_each(|row| out.push_str(&format!("\n{}", incident_text(row))));
    Ok(ToolAnswer::from_report(None, &out, list))
}

fn incident_text(row: &Value) -> String {
    let mut out = format!(
        "### Incident {} ({}): {}\n",
        text(&row["id"]),
        text(&row["state"]),
        sentence(&row["headline"])
    );
    let _ = writeln!(out, "Since {}; subject `{}`", time(&row["since_ns"]), text(&row["subject"]));
    for clause in row["clauses"].as_array().into_iter().flatten() {
        let sources: Vec<String> = clause["sources"].as_array().into_iter().flatten().map(text).collect();
        let (title, certainty) = (text(&clause["title"]), text(&clause["certainty"]));
        let _ =
            write!(out, "- {title}: {} ({certainty}; by {}", sentence(&clause["text"]), sources.join(", "));
        match clause["page"].as_str() {
            Some(_) => drop(writeln!(out, "; page {})", sentence(&clause["page"]))),
            None => out.push_str(")\n"),
        }
    }
    if row["verdict_ns"].is_null() {
        out.push_str("- There is no verdict yet.\n");
    }
    for alert in row["alerts"].as_array().into_iter().flatten() {
        let _ = writeln!(
            out,
            "- Alert {}: {} (page {})",
            text(&alert["id"]),
            sentence(&alert["summary"]),
            sentence(&alert["page"])
        );
    }
    out
}

fn recordings_tool() -> Tool {
    let about = "Which kernel recordings are there? Lists what agents recorded of hosts, with ids for recordings_path and \
                 recordings_diagnose, and the incidents they belong to.";
    Tool::for_question("recordings", "Kernel recordings", about, parameters_schema::<RecordingParameters>())
}

async fn recordings_answer(context: ToolContext, arguments: Value) -> Result<ToolAnswer, ApiError> {
    let parameters = Query(read::<RecordingParameters>(arguments)?);
    let Json(list) = recordings(Extension(context.tenant), parameters).await?;
    let list = data(&list)?;
    let rows = list["recordings"].as_array().map_or(&[][..], Vec::as_slice);
    let mut out = format!("{} recordings; {} more match.\n\n", rows.len(), list["omitted"]);
    for row in rows {
        let [id, host, state, reason] = ["id", "host", "state", "reason"].map(|name| text(&row[name]));
        let (since, until) = (time(&row["since_ns"]), time(&row["until_ns"]));
        let _ = writeln!(out, "- `{id}` of `{host}`, {since} to {until}, {state}: {reason}");
    }
    Ok(ToolAnswer::from_report(None, &out, list))
}

fn search_tool() -> Tool {
    let about = "Which traces have requests like these? Lists stored traces of a window, the latest first, by service, operation, outcome, \
                 latency, category, or what was logged. The tool trace shows one.";
    Tool::for_question("search", "Search traces", about, parameters_schema::<SearchParameters>())
}

async fn search_answer(context: ToolContext, arguments: Value) -> Result<ToolAnswer, ApiError> {
    let ToolContext { state, tenant } = context;
    let parameters = Query(read::<SearchParameters>(arguments)?);
    let Json(found) = search(State(state), Extension(tenant), parameters).await?;
    let found = data(&found)?;
    let rows = found["traces"].as_array().map_or(&[][..], Vec::as_slice);
    let mut out = format!(
        "{} traces of {} requests searched; {} more match.\n\n",
        rows.len(),
        found["scanned"],
        found["omitted"]
    );
    if let Some(one_in) = sampled_one_in() {
        let _ =
            writeln!(out, "Only a sample was searched, one in {one_in} requests: choose a shorter window.\n");
    }
    for row in rows {
        let latency = Nanos::from_ns(row["latency_ns"].as_u64().unwrap_or_default());
        let _ = writeln!(
            out,
            "- `{}` `{}` `{}`: {latency}, {} spans, status {}, at {}",
            text(&row["trace"]),
            text(&row["service"]),
            text(&row["operation"]),
            row["spans"],
            text(&row["status"]),
            time(&row["start_ns"])
        );
    }
    Ok(ToolAnswer::from_report(None, &out, found))
}

/// Arguments of the tool about one trace.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TraceArguments {
    trace: String,
    spans: Option<u64>,
}

fn trace_tool() -> Tool {
    let about = "What happened in one trace? Shows the spans that its requests waited for longest, with callers, replicas, outcomes, and \
                 what was logged; reports and searches name traces.";
    let schema = json!({
        "type": "object",
        "properties": {
            "trace": {"type": "string", "description": "The id of the trace"},
            "spans": {
                "type": "integer", "minimum": 1, "maximum": SPANS_MAX, "default": SPANS,
                "description": "Most spans to show; the others are counted"
            }
        },
        "required": ["trace"],
        "additionalProperties": false
    });
    Tool::for_question("trace", "One trace", about, schema)
}

async fn trace_answer(context: ToolContext, arguments: Value) -> Result<ToolAnswer, ApiError> {
    let TraceArguments { trace, spans } = read(arguments)?;
    let spans_max = count("spans", spans, SPANS, SPANS_MAX)?;
    let stored = stored_trace(&context.tenant, &trace).await?;
    let shown = data(&stored.with_longest_spans(spans_max))?;
    Ok(ToolAnswer::from_report(None, &trace_text(&shown), shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_on_their_line_and_in_their_backticks() {
        assert_eq!(text(&json!("a`b\nc\u{1b}[2J\u{202e}d")), "a'b c [2J\\u{202e}d");
        assert_eq!(text(&json!("x".repeat(1_000))).len(), TEXT_CHARS_MAX);
        assert_eq!(text(&Value::Null), "");
    }

    #[test]
    fn parameters_of_queries_are_arguments() {
        let schema = parameters_schema::<SearchParameters>();
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(properties["since"]["type"], json!(["string", "integer"]));
        assert_eq!(properties["status"]["enum"], json!(["unset", "ok", "error"]));
        assert_eq!(properties["limit"]["minimum"], 1);
        for (name, property) in properties {
            assert!(property["description"].is_string(), "{name}: {property}");
            assert!(read::<SearchParameters>(json!({ name: null })).is_ok(), "{name}");
        }
        let state = &parameters_schema::<IncidentParameters>()["properties"]["state"];
        assert_eq!(state["enum"], json!(["open", "closed"]), "{state}");
    }
}
