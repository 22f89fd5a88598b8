//! What must be true of a plan that a client has sent.

use crate::plan::{Plan, REQUESTS};
use crate::server::Server;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// The server's diagnosis of the time of a plan.
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

/// Whether a client may have sent the same again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    None,
    /// It was cut off after its message was taken, before it heard so.
    Some,
}

/// Every span is there, counts once, in whole trees, and the diagnosis names what is slow and nothing else.
#[track_caller]
pub(crate) fn check(what: &str, server: &Server, plan: &Plan, repeats: Repeats) {
    let mut report = diagnosis(server, plan);
    if repeats == Repeats::Some {
        report["input"]["losses"].as_object_mut().unwrap().remove("duplicate_span");
    }
    let input = &report["input"];
    assert_eq!(input["spans"], plan.spans(), "{what}: {input:#}");
    assert_eq!(
        (&input["traces"], &input["requests"]),
        (&json!(REQUESTS), &json!(REQUESTS)),
        "{what}: {input:#}"
    );
    assert_eq!(input["losses"], json!({}), "{what}");
    assert_eq!(input["replicas"], 15, "{what}");
    assert_eq!(report["verdict"], "suspects", "{what}: {}", report["headline"]);
    let suspects = report["suspects"].as_array().unwrap();
    assert_eq!(suspects.len(), 1, "{what}: {}", report["headline"]);
    let found = ["service", "operation", "scope", "replicas"].map(|field| suspects[0][field].clone());
    let fault = &plan.fault;
    let injected = [json!(fault.service), json!(fault.operation), json!("replicas"), json!([fault.replica])];
    assert_eq!(found, injected, "{what}");
}
