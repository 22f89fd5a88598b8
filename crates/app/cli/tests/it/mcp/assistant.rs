//! A client that speaks the protocol by itself.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Longest wait for a message: nothing here takes as long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A running `laggard mcp`.
pub(crate) struct Assistant {
    process: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    requests: u64,
}

impl Assistant {
    /// Starts it in a folder.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Assistant {
        let mut process = Command::new(env!("CARGO_BIN_EXE_laggard"))
            .arg("mcp")
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, messages) = channel();
        let output = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map(Result::unwrap) {
                let message: Value =
                    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                let _ = sender.send(message);
            }
        });
        Assistant { input: process.stdin.take(), process, messages, requests: 0 }
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    /// Sends a request; returns its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params});
        self.write(&message.to_string());
        self.requests
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// The next message.
    pub(crate) fn next(&self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("a message")
    }

    /// The response to a request that is sent now.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let response = self.next();
        assert_eq!(response["id"], id, "{response}");
        response
    }

    /// The result of a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut response = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(response["error"], Value::Null, "{tool}");
        response["result"].take()
    }

    /// The text and the structured content of an answer.
    #[track_caller]
    pub(crate) fn answer(&mut self, tool: &str, arguments: Value) -> (String, Value) {
        let mut result = self.call(tool, arguments);
        let text = text(&result);
        assert_eq!(result["isError"], false, "{tool}: {text}");
        (text, result["structuredContent"].take())
    }

    /// Why a tool has no answer.
    #[track_caller]
    pub(crate) fn failure(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}");
        assert_eq!(result.get("structuredContent"), None);
        text(&result)
    }

    /// Names of the tools.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Ends its input: it ends by itself, without having printed anything else.
    #[track_caller]
    pub(crate) fn end(mut self) {
        drop(self.input.take());
        let status = self.process.wait().unwrap();
        let mut errors = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
    }
}

impl Drop for Assistant {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().unwrap();
    assert_eq!((blocks.len(), &blocks[0]["type"]), (1, &json!("text")));
    blocks[0]["text"].as_str().unwrap().to_owned()
}
