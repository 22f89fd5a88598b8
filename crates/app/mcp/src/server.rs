//! What each message asks for, and the replies that need no work.

use crate::message::{InvalidMessage, Message, response};
use crate::{RequestId, RpcError, Tool, ToolAnswer};
use serde_json::{Map, Value, json};

/// The version of the protocol in which each request carries its version …
pub(crate) const MODERN: &str = "2026-07-28";

/// … and those that begin with `initialize`, the latest first. 2025-03-26 is not among them: it has batches.
const LEGACY: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];

/// Where a request carries the version of the protocol.
pub const PROTOCOL_VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Where it carries what the client can do.
pub const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// How long a client may keep the list of tools, in milliseconds: it changes with the program only.
const LIST_TTL_MS: u64 = 3_600_000;

/// How a client speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Era {
    /// After `initialize`.
    Legacy,
    /// With the version in each request.
    Modern,
}

/// A server that has tools.
#[derive(Clone, Debug)]
pub struct ToolServer {
    tools: Vec<Tool>,
    instructions: String,
}

/// What to do about a message.
#[derive(Clone, PartialEq, Debug)]
pub enum Received {
    /// Reply with this.
    Reply {
        /// The message.
        text: String,
        /// Whether it is an error, and which.
        error: Option<i64>,
        /// How the client speaks, as far as that is known.
        era: Era,
    },
    /// Call a tool, and reply with its answer.
    Call(ToolCall),
    /// End a call, and do not reply to it.
    Cancel(RequestId),
    /// Nothing.
    Nothing,
}

/// A call of a tool that exists.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolCall {
    /// The request.
    pub id: RequestId,
    /// The tool.
    pub tool: String,
    /// Its arguments, not checked.
    pub arguments: Map<String, Value>,
    era: Era,
}

impl ToolCall {
    /// The reply with the tool's answer.
    pub fn reply(&self, answer: &ToolAnswer) -> String {
        self.reply_with(answer.to_value())
    }

    /// The reply with a result that another server made ([`result_of`](crate::result_of)).
    pub fn reply_with(&self, result: Value) -> String {
        response(Some(&self.id), Ok(completed(result, self.era)))
    }

    /// The reply that it was not called.
    pub fn fail(&self, error: &RpcError) -> String {
        response(Some(&self.id), Err(error))
    }

    /// How the client speaks.
    pub fn era(&self) -> Era {
        self.era
    }
}

impl ToolServer {
    /// A server with some tools; `instructions` are for the assistant.
    pub fn new(tools: Vec<Tool>, instructions: &str) -> ToolServer {
        ToolServer { tools, instructions: instructions.to_owned() }
    }

    /// Reads a message of a client.
    pub fn receive(&self, text: &[u8]) -> Received {
        let (id, method, params) = match Message::read(text) {
            Ok(Message::Request { id, method, params }) => (id, method, params),
            Ok(Message::Canceled(id)) => return Received::Cancel(id),
            Ok(Message::Other) => return Received::Nothing,
            Err(InvalidMessage { id, error }) => return failed(id.as_ref(), &error, Era::Legacy),
        };
        let era = match era(&params) {
            Ok(era) => era,
            Err(error) => return failed(Some(&id), &error, Era::Modern),
        };
        if method == "tools/call" {
            return match self.call(&params) {
                Ok((tool, arguments)) => Received::Call(ToolCall { id, tool, arguments, era }),
                Err(error) => failed(Some(&id), &error, era),
            };
        }
        match self.result(&method, &params) {
            Ok(result) => {
                let text = response(Some(&id), Ok(completed(result, era)));
                Received::Reply { text, error: None, era }
            }
            Err(error) => failed(Some(&id), &error, era),
        }
    }

    fn result(&self, method: &str, params: &Map<String, Value>) -> Result<Value, RpcError> {
        match method {
            "initialize" => self.initialize(params),
            "server/discover" => Ok(json!({
                "supportedVersions": supported(), "capabilities": {"tools": {}}, "instructions": self.instructions,
                "ttlMs": LIST_TTL_MS, "cacheScope": "public"
            })),
            "ping" => Ok(json!({})),
            "tools/list" => self.list(params),
            _ => Err(RpcError::new(
                RpcError::METHOD_NOT_FOUND,
                format_args!(
                    "there is no method {method:?}; this server has tools only (tools/list, tools/call)"
                ),
            )),
        }
    }

    fn initialize(&self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        let requested = params.get("protocolVersion").and_then(Value::as_str);
        let requested = requested.ok_or_else(|| RpcError::invalid_params("protocolVersion is missing"))?;
        let version = match LEGACY.iter().find(|known| **known == requested) {
            Some(known) => known,
            // Dates compare as texts do. Clients of before mid-2025 also speak the first version.
            None if requested < LEGACY[1] => LEGACY[2],
            None => LEGACY[0],
        };
        Ok(json!({
            "protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server_info(),
            "instructions": self.instructions
        }))
    }

    fn list(&self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return Err(RpcError::invalid_params("there is no such cursor: all tools are on the first page"));
        }
        let tools: Vec<Value> = self.tools.iter().map(Tool::to_value).collect();
        Ok(json!({"tools": tools, "ttlMs": LIST_TTL_MS, "cacheScope": "public"}))
    }

    fn call(&self, params: &Map<String, Value>) -> Result<(String, Map<String, Value>), RpcError> {
        let name = params.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| RpcError::invalid_params("name is missing: the name of a tool"))?;
        if !self.tools.iter().any(|tool| tool.name == name) {
            let known: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            let unknown = format!("Unknown tool: {name:?}; there is {}", known.join(", "));
            return Err(RpcError::invalid_params(unknown));
        }
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(_) => return Err(RpcError::invalid_params("arguments must be an object")),
        };
        Ok((name.to_owned(), arguments))
    }
}

/// How a request speaks, by the version that it carries.
fn era(params: &Map<String, Value>) -> Result<Era, RpcError> {
    let meta = params.get("_meta").and_then(Value::as_object);
    let Some(version) = meta.and_then(|meta| meta.get(PROTOCOL_VERSION_KEY)) else { return Ok(Era::Legacy) };
    let version = version.as_str().unwrap_or_default();
    if !is_supported(version) {
        return Err(unsupported_version(version));
    }
    if !meta.is_some_and(|meta| meta.get(CAPABILITIES_KEY).is_some_and(Value::is_object)) {
        return Err(RpcError::invalid_params(format_args!("_meta has no {CAPABILITIES_KEY}")));
    }
    Ok(Era::Modern)
}

/// The error for a version of the protocol that is not spoken.
pub fn unsupported_version(version: &str) -> RpcError {
    RpcError {
        code: RpcError::UNSUPPORTED_VERSION,
        message: "Unsupported protocol version".to_owned(),
        data: Some(json!({"supported": supported(), "requested": version})),
    }
}

/// Whether a version of the protocol is spoken.
pub fn is_supported(version: &str) -> bool {
    supported().contains(&version)
}

fn supported() -> Vec<&'static str> {
    [MODERN].into_iter().chain(LEGACY).collect()
}

fn server_info() -> Value {
    json!({"name": "laggard", "title": "Laggard", "version": env!("CARGO_PKG_VERSION")})
}

/// A result with what its era requires of all results.
fn completed(mut result: Value, era: Era) -> Value {
    if era == Era::Modern {
        result["resultType"] = json!("complete");
        result["_meta"] = json!({SERVER_INFO_KEY: server_info()});
    }
    result
}

fn failed(id: Option<&RequestId>, error: &RpcError, era: Era) -> Received {
    Received::Reply { text: response(id, Err(error)), error: Some(error.code), era }
}

/// The reply to a message that was not read.
pub fn reply_without_id(error: &RpcError) -> String {
    response(None, Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result_of;

    fn server() -> ToolServer {
        let tool = Tool::for_question("kernel/path", "Path", "Paths", json!({"type": "object"}));
        ToolServer::new(vec![tool], "ask")
    }

    fn reply(message: Value) -> Value {
        match server().receive(message.to_string().as_bytes()) {
            Received::Reply { text, error, .. } => {
                let reply: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(reply["error"]["code"].as_i64(), error);
                assert_eq!(reply["id"], message["id"]);
                reply
            }
            other => panic!("{other:?}"),
        }
    }

    fn request(method: &str, params: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    }

    fn modern(more: Value) -> Value {
        let mut params = more;
        params["_meta"] = json!({PROTOCOL_VERSION_KEY: MODERN, CAPABILITIES_KEY: {}});
        params
    }

    #[test]
    fn a_session_has_a_version_that_both_speak() {
        for (requested, version) in [
            ("2025-11-25", "2025-11-25"),
            ("2025-06-18", "2025-06-18"),
            ("2025-03-26", "2024-11-05"),
            ("2024-11-05", "2024-11-05"),
            ("2031-01-01", "2025-11-25"),
        ] {
            let reply = reply(request("initialize", json!({"protocolVersion": requested})));
            assert_eq!(reply["result"]["protocolVersion"], version, "{requested}");
            assert_eq!(reply["result"]["capabilities"], json!({"tools": {}}));
            assert_eq!(reply["result"].get("resultType"), None);
        }
        assert_eq!(reply(request("initialize", json!({})))["error"]["code"], RpcError::INVALID_PARAMS);
    }

    #[test]
    fn a_request_with_a_version_needs_no_session() {
        let discovered = reply(request("server/discover", modern(json!({}))));
        assert_eq!(discovered["result"]["supportedVersions"][0], MODERN);
        assert_eq!(discovered["result"]["resultType"], "complete");
        assert_eq!(discovered["result"]["_meta"][SERVER_INFO_KEY]["name"], "laggard");
        let wrong = json!({"_meta": {PROTOCOL_VERSION_KEY: "1900-01-01", CAPABILITIES_KEY: {}}});
        let error = &reply(request("tools/list", wrong))["error"];
        assert_eq!((&error["code"], &error["data"]["requested"]), (&json!(-32022), &json!("1900-01-01")));
        let without_capabilities = json!({"_meta": {PROTOCOL_VERSION_KEY: MODERN}});
        assert_eq!(
            reply(request("tools/list", without_capabilities))["error"]["code"],
            RpcError::INVALID_PARAMS
        );
    }

    #[test]
    fn tools_are_listed_on_one_page() {
        let list = reply(request("tools/list", json!({})));
        let tool = &list["result"]["tools"][0];
        assert_eq!(
            (&tool["name"], &tool["annotations"]["readOnlyHint"]),
            (&json!("kernel_path"), &json!(true))
        );
        assert_eq!(tool["outputSchema"]["type"], "object");
        let error = reply(request("tools/list", json!({"cursor": "x"})));
        assert_eq!(error["error"]["code"], RpcError::INVALID_PARAMS);
        assert_eq!(reply(request("ping", json!({})))["result"], json!({}));
        assert_eq!(reply(request("resources/list", json!({})))["error"]["code"], RpcError::METHOD_NOT_FOUND);
    }

    #[test]
    fn a_call_names_a_tool_and_has_arguments() {
        let text = request("tools/call", json!({"name": "kernel_path", "arguments": {"thread": "nginx"}}));
        let Received::Call(call) = server().receive(text.to_string().as_bytes()) else { panic!("no call") };
        assert_eq!((call.tool.as_str(), &call.arguments["thread"]), ("kernel_path", &json!("nginx")));
        let reply_of = |text: String| serde_json::from_str::<Value>(&text).unwrap();
        let replied = reply_of(call.reply(&ToolAnswer::failed("no file")));
        assert_eq!((&replied["id"], &replied["result"]["isError"]), (&json!(1), &json!(true)));
        assert_eq!(result_of(replied.to_string().as_bytes()).unwrap()["content"][0]["text"], "no file");
        let failed = call.fail(&RpcError::new(RpcError::INTERNAL, "a bug"));
        assert_eq!(result_of(failed.as_bytes()).unwrap_err().to_string(), "a bug");
        assert!(result_of(b"<html>").is_err());
        for params in [json!({}), json!({"name": "guess"}), json!({"name": "kernel_path", "arguments": []})] {
            assert_eq!(
                reply(request("tools/call", params.clone()))["error"]["code"],
                RpcError::INVALID_PARAMS
            );
        }
        let unknown = reply(request("tools/call", json!({"name": "guess"})))["error"]["message"].clone();
        assert_eq!(unknown, "Unknown tool: \"guess\"; there is kernel_path");
    }
}
