//! The tools of assistants over HTTP.

use super::questions::occupy_threads;
use super::*;
use serde_json::json;
use std::time::Duration;

const VERSION: &str = "2026-07-28";

/// A message of the latest version of the protocol.
fn message(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {}
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// Posts a message with its headers, some of them replaced; those that are replaced by nothing are missing.
fn request(message: &Value, replaced: &[(&str, &str)]) -> Request<Body> {
    let method = message["method"].as_str().unwrap();
    let mut headers =
        vec![("content-type", "application/json"), ("mcp-protocol-version", VERSION), ("mcp-method", method)];
    headers.extend(message["params"]["name"].as_str().map(|name| ("mcp-name", name)));
    headers.retain(|(name, _)| replaced.iter().all(|(other, _)| other != name));
    headers.extend(replaced.iter().filter(|(_, value)| !value.is_empty()));
    let with_headers = headers
        .into_iter()
        .fold(Request::post("/api/v1/mcp"), |request, (name, value)| request.header(name, value));
    with_headers.body(Body::from(message.to_string())).unwrap()
}

fn call(tool: &str, arguments: Value) -> Value {
    message("tools/call", json!({"name": tool, "arguments": arguments}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_answers_as_its_question_does() {
    let server = TestServer::with_shop().await;
    let window = json!({"since": START, "until": START + 600 * SECOND});
    let report = server.post("/api/v1/diagnose?wait=true", window.clone()).await.json();
    let answered = server.send(request(&call("diagnose", window.clone()), &[])).await;
    assert_eq!(
        (answered.status, &answered.headers["content-type"]),
        (StatusCode::OK, &"application/json".parse().unwrap())
    );
    let result = &answered.json()["result"];
    assert_eq!((&result["resultType"], &result["isError"]), (&json!("complete"), &json!(false)));
    let data = &result["structuredContent"];
    assert_eq!((&data["verdict"], &data["report"]["suspects"]), (&report["verdict"], &report["suspects"]));
    // The same as a stream of events, for clients that accept one.
    let accepts = [("accept", "application/json, text/event-stream")];
    let streamed = server.send(request(&call("diagnose", window), &accepts)).await;
    assert_eq!(streamed.headers["content-type"], "text/event-stream");
    let data =
        streamed.text().lines().find_map(|line| Some(line.strip_prefix("data: ")?.to_owned())).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&data).unwrap(), answered.json());
    let jobs = server.ok("/api/v1/jobs").await;
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 3, "each is a job");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_gone_cancels_its_call() {
    let server = TestServer::with_shop().await;
    let end = occupy_threads(&server);
    for accepted in ["application/json", "application/json, text/event-stream"] {
        let request = request(&call("diagnose", json!({})), &[("accept", accepted)]);
        let waiting = server.send(request);
        assert!(tokio::time::timeout(Duration::from_millis(200), waiting).await.is_err());
        let jobs = server.ok("/api/v1/jobs").await;
        assert_eq!(jobs["jobs"][0]["state"], "cancelled", "{accepted}");
    }
    drop(end);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_and_messages_agree() {
    let server = TestServer::empty().await;
    let list = message("tools/list", json!({}));
    let settings = call("settings", json!({"question": "diagnose"}));
    let refused = |code: i64, status: u16| (code, status);
    for (message, headers, expected) in [
        (&list, vec![("mcp-protocol-version", "")], refused(-32_020, 400)),
        (&list, vec![("mcp-protocol-version", "2025-11-25")], refused(-32_020, 400)),
        (&list, vec![("mcp-method", "tools/call")], refused(-32_020, 400)),
        (&settings, vec![("mcp-name", "")], refused(-32_020, 400)),
        (&settings, vec![("mcp-name", "diagnose")], refused(-32_020, 400)),
        (&settings, vec![("mcp-name", "=?base64?c2V0dGluZ3M=?=")], refused(0, 200)),
        (&list, vec![("mcp-session-id", "1"), ("last-event-id", "1")], refused(0, 200)),
        (&message("prompts/list", json!({})), vec![], refused(-32_601, 404)),
        (&call("guess", json!({})), vec![], refused(-32_602, 200)),
    ] {
        let answered = server.send(request(message, &headers)).await;
        let code = answered.json()["error"]["code"].as_i64().unwrap_or(0);
        assert_eq!(refused(code, answered.status.as_u16()), expected, "{headers:?} {}", answered.text());
    }
    let mut unknown = list.clone();
    unknown["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
    let answered = server.send(request(&unknown, &[("mcp-protocol-version", "1900-01-01")])).await;
    assert_eq!((answered.status.as_u16(), &answered.json()["error"]["code"]), (400, &json!(-32_022)));
    let mut incapable = list;
    incapable["params"]["_meta"]
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    let answered = server.send(request(&incapable, &[])).await;
    assert_eq!((answered.status.as_u16(), &answered.json()["error"]["code"]), (400, &json!(-32_602)));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_earlier_versions_need_no_headers() {
    let server = TestServer::empty().await;
    let post = async |message: Value| server.post("/api/v1/mcp", message).await;
    let begun = post(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}})).await;
    assert_eq!(begun.json()["result"]["protocolVersion"], "2025-06-18");
    assert!(!begun.headers.contains_key("mcp-session-id"));
    let notified = post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!((notified.status.as_u16(), notified.body.len()), (202, 0));
    let listed = post(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await.json();
    assert!(listed["result"]["tools"].as_array().unwrap().len() > 10);
    assert_eq!(post(json!([])).await.status.as_u16(), 400);
    let header = Request::post("/api/v1/mcp").header("mcp-protocol-version", "1900-01-01");
    let unknown =
        server.send(header.body(Body::from(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)).unwrap()).await;
    assert_eq!((unknown.status.as_u16(), &unknown.json()["error"]["code"]), (400, &json!(-32_022)));
    for method in [Method::GET, Method::DELETE] {
        server.call(method, "/api/v1/mcp").await.problem(405);
    }
}

/// Every route below `/api/v1` that answers a question has a tool, unless its data are uploaded.
#[test]
fn each_question_about_stored_data_is_a_tool() {
    let tools: Vec<String> = crate::tools().into_iter().map(|tool| tool.name).collect();
    for question in super::super::queries::questions() {
        let name = question.path.trim_start_matches("/api/v1/").replace('/', "_");
        assert_eq!(tools.contains(&name), !name.starts_with("kernel_"), "{name}: {tools:?}");
    }
    let list: usize = crate::tools().iter().map(|tool| tool.input_schema.to_string().len()).sum();
    assert!(list < 40_000, "{list}");
}
