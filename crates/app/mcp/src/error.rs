//! Errors of the protocol. What a tool cannot answer is a [`crate::ToolAnswer`].

use serde_json::{Value, json};
use std::fmt;

/// Why a message was not processed: an error of JSON-RPC 2.0.
#[derive(Clone, PartialEq, Debug)]
pub struct RpcError {
    /// The kind.
    pub code: i64,
    /// A sentence.
    pub message: String,
    /// More about it, for programs.
    pub data: Option<Value>,
}

impl RpcError {
    /// The message is no JSON.
    pub const PARSE: i64 = -32_700;
    /// It is no message of JSON-RPC.
    pub const INVALID_REQUEST: i64 = -32_600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32_601;
    /// Its parameters are wrong; there is no such tool.
    pub const INVALID_PARAMS: i64 = -32_602;
    /// A bug.
    pub const INTERNAL: i64 = -32_603;
    /// HTTP headers and the message differ.
    pub const HEADER_MISMATCH: i64 = -32_020;
    /// The version of the protocol is not spoken here.
    pub const UNSUPPORTED_VERSION: i64 = -32_022;

    /// An error without data.
    pub fn new(code: i64, message: impl fmt::Display) -> RpcError {
        RpcError { code, message: message.to_string(), data: None }
    }

    pub(crate) fn invalid_params(message: impl fmt::Display) -> RpcError {
        RpcError::new(RpcError::INVALID_PARAMS, message)
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RpcError {}
