//! Checks that the server received a plan completely and diagnoses its fault.

use crate::plan::{Plan, REQUESTS};
use crate::server::Server;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// The server's diagnosis of the plan's window.
#[track_caller]
pub(crate) fn diagnosis(server: &Server, plan: &Plan) -> Value {
    server.flush();
    let [since, until] = plan.window();
    let url = server.url("http");
    let output = Command::new(env!("CARGO_BIN_EXE_laggard"))
        .args(["diagnose", "--output", "json", "--server", &url, "--since", &since, "--until", &until])
        .args(["--baseline", "none"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Whether a client may have sent spans more than once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duplicates {
    None,
    /// The connection broke after the server accepted a message and before the client got the response.
    Some,
}

/// Checks that every span is stored once in complete traces and that the diagnosis names only the slow operation.
#[track_caller]
pub(crate) fn check(context: &str, server: &Server, plan: &Plan, duplicates: Duplicates) {
    let mut report = diagnosis(server, plan);
    if duplicates == Duplicates::Some {
        report["input"]["losses"].as_object_mut().unwrap().remove("duplicate_span");
    }
    let input = &report["input"];
    assert_eq!(input["spans"], plan.spans(), "{context}: {input:#}");
    assert_eq!(
        (&input["traces"], &input["requests"]),
        (&json!(REQUESTS), &json!(REQUESTS)),
        "{context}: {input:#}"
    );
    assert_eq!(input["losses"], json!({}), "{context}");
    assert_eq!(input["replicas"], 15, "{context}");
    assert_eq!(report["verdict"], "suspects", "{context}: {}", report["headline"]);
    let suspects = report["suspects"].as_array().unwrap();
    assert_eq!(suspects.len(), 1, "{context}: {}", report["headline"]);
    let suspect = ["service", "operation", "scope", "replicas"].map(|field| suspects[0][field].clone());
    let fault = &plan.fault;
    let injected = [json!(fault.service), json!(fault.operation), json!("replicas"), json!([fault.replica])];
    assert_eq!(suspect, injected, "{context}");
}
