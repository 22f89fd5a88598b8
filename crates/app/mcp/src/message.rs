//! Messages of JSON-RPC 2.0, as MCP restricts them: one at a time, ids are texts or whole numbers.

use crate::RpcError;
use serde_json::{Map, Value, json};

/// The id of a request, as its JSON text: `1` and `"1"` are two ids.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(String);

impl RequestId {
    /// The id; `None` if the value cannot be one.
    fn from_value(value: &Value) -> Option<RequestId> {
        let is_id = value.is_string() || value.is_i64() || value.is_u64();
        is_id.then(|| RequestId(value.to_string()))
    }

    fn to_value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

/// A message of a client.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Message {
    Request {
        id: RequestId,
        method: String,
        params: Map<String, Value>,
    },
    /// The client gave up on a request.
    Canceled(RequestId),
    /// Another notification, or a response to something that was never requested.
    Other,
}

/// A message that is none, with its id as far as it has one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct InvalidMessage {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: RpcError,
}

impl Message {
    /// Reads one message.
    pub(crate) fn read(text: &[u8]) -> Result<Message, InvalidMessage> {
        let invalid = |id, code, message: &str| InvalidMessage { id, error: RpcError::new(code, message) };
        let no_json = |error: serde_json::Error| InvalidMessage {
            id: None,
            error: RpcError::new(RpcError::PARSE, format_args!("no JSON: {error}")),
        };
        let fields = match serde_json::from_slice(text).map_err(no_json)? {
            Value::Object(fields) => fields,
            Value::Array(_) => {
                return Err(invalid(
                    None,
                    RpcError::INVALID_REQUEST,
                    "send one message at a time, not a batch",
                ));
            }
            _ => return Err(invalid(None, RpcError::INVALID_REQUEST, "a message is a JSON object")),
        };
        let id = fields.get("id").and_then(RequestId::from_value);
        let invalid = |message| invalid(id.clone(), RpcError::INVALID_REQUEST, message);
        if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(invalid("\"jsonrpc\" must be \"2.0\""));
        }
        let Some(method) = fields.get("method") else {
            let is_response = fields.contains_key("result") || fields.contains_key("error");
            return if is_response { Ok(Message::Other) } else { Err(invalid("\"method\" is missing")) };
        };
        let method = method.as_str().ok_or_else(|| invalid("\"method\" must be a text"))?;
        let params = match fields.get("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params.clone(),
            Some(_) => return Err(invalid("\"params\" must be an object")),
        };
        if !fields.contains_key("id") {
            let canceled = (method == "notifications/cancelled").then(|| params.get("requestId")).flatten();
            return Ok(canceled.and_then(RequestId::from_value).map_or(Message::Other, Message::Canceled));
        }
        let id = id.clone().ok_or_else(|| invalid("\"id\" must be a text or a whole number"))?;
        Ok(Message::Request { id, method: method.to_owned(), params })
    }
}

/// The response to a request.
pub(crate) fn response(id: Option<&RequestId>, outcome: Result<Value, &RpcError>) -> String {
    let id = id.map_or(Value::Null, RequestId::to_value);
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error.to_value()}),
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> (Option<String>, i64) {
        let invalid = Message::read(text.as_bytes()).unwrap_err();
        (invalid.id.map(|id| id.0), invalid.error.code)
    }

    #[test]
    fn requests_have_a_method_and_an_id() {
        let read = Message::read(br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#).unwrap();
        let id = RequestId("\"a\"".to_owned());
        assert_eq!(read, Message::Request { id, method: "ping".to_owned(), params: Map::new() });
        for (text, expected) in [
            ("{", (None, RpcError::PARSE)),
            ("[]", (None, RpcError::INVALID_REQUEST)),
            ("7", (None, RpcError::INVALID_REQUEST)),
            (&"[".repeat(100_000), (None, RpcError::PARSE)),
            (r#"{"id":3,"method":"ping"}"#, (Some("3"), RpcError::INVALID_REQUEST)),
            (r#"{"jsonrpc":"2.0","id":3}"#, (Some("3"), RpcError::INVALID_REQUEST)),
            (r#"{"jsonrpc":"2.0","id":3,"method":4}"#, (Some("3"), RpcError::INVALID_REQUEST)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, (None, RpcError::INVALID_REQUEST)),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, (None, RpcError::INVALID_REQUEST)),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}"#,
                (Some("3"), RpcError::INVALID_REQUEST),
            ),
        ] {
            assert_eq!(code(text), (expected.0.map(str::to_owned), expected.1), "{text}");
        }
    }

    #[test]
    fn notifications_and_responses_need_no_answer() {
        let read = |text: &str| Message::read(text.as_bytes()).unwrap();
        let canceled =
            read(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#);
        assert_eq!(canceled, Message::Canceled(RequestId("7".to_owned())));
        for text in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        ] {
            assert_eq!(read(text), Message::Other, "{text}");
        }
    }

    #[test]
    fn ids_return_as_they_were() {
        for id in ["7", "\"7\"", "\"a \\\" b\""] {
            let text = response(Some(&RequestId(id.to_owned())), Ok(json!({})));
            assert!(text.contains(&format!("\"id\":{id}")), "{text}");
        }
    }
}
