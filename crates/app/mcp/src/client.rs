//! Calls of tools of another server.

use crate::RpcError;
use crate::server::{CAPABILITIES_KEY, MODERN, PROTOCOL_VERSION_KEY};
use serde_json::{Map, Value, json};

/// A request that calls a tool, with the headers that it has over HTTP.
#[derive(Clone, PartialEq, Debug)]
pub struct CallRequest {
    /// Names and values.
    pub headers: [(&'static str, String); 3],
    /// The message.
    pub body: String,
}

impl CallRequest {
    /// A call of a tool.
    pub fn new(tool: &str, arguments: &Map<String, Value>) -> CallRequest {
        let meta = json!({PROTOCOL_VERSION_KEY: MODERN, CAPABILITIES_KEY: {}});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        CallRequest {
            headers: [
                ("mcp-protocol-version", MODERN.to_owned()),
                ("mcp-method", "tools/call".to_owned()),
                ("mcp-name", tool.to_owned()),
            ],
            body: message.to_string(),
        }
    }
}

/// The result in the response to a call.
///
/// # Errors
/// The error in it; and a response that is none.
pub fn result_of(response: &[u8]) -> Result<Value, RpcError> {
    let none = || RpcError::new(RpcError::INTERNAL, "the server's response is no message of JSON-RPC");
    let mut message: Value = serde_json::from_slice(response).map_err(|_| none())?;
    if let Some(error) = message.get("error").filter(|error| error.is_object()) {
        let code = error["code"].as_i64().unwrap_or(RpcError::INTERNAL);
        return Err(RpcError::new(code, error["message"].as_str().unwrap_or("the server failed")));
    }
    let result = message.get_mut("result").filter(|result| result.is_object());
    result.map(Value::take).ok_or_else(none)
}
