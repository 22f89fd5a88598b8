//! The Python SDK of the Model Context Protocol, which lists the tools and calls each.

use crate::install::{command, mcp_program, mcp_python};
use crate::server::Server;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program prints for a plan.
fn play(python: &Path, folder: &Path, plan: &Value) -> Value {
    let file = folder.join("plan.json");
    std::fs::write(&file, plan.to_string()).unwrap();
    let output = command(python).arg(mcp_program()).arg(file).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An incident of some traces.
fn incident(folder: &Path) -> PathBuf {
    let incident = folder.join("incident");
    let mut simulate = Command::new(env!("CARGO_BIN_EXE_laggard"));
    simulate.args([
        "simulate",
        "--scenario",
        "thread-pool",
        "--seed",
        "3",
        "--requests",
        "60",
        "--categories",
        "2",
        "-o",
    ]);
    assert!(simulate.arg(&incident).output().unwrap().status.success());
    incident.join("traces")
}

/// Lists the tools in both eras of the protocol, and calls every one. A tool that is not called, or a call that is not answered as
/// expected (by a report, or by an error with these words), fails.
fn check(python: &Path, folder: &Path, transport: (&str, Value), calls: &[(&str, Value, Option<&str>)]) {
    for (mode, version) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
        let list: Vec<Value> = calls.iter().map(|(tool, arguments, _)| json!([tool, arguments])).collect();
        let mut plan = json!({"mode": mode, "calls": list});
        plan[transport.0] = transport.1.clone();
        let played = play(python, folder, &plan);
        assert_eq!(played["version"], version);
        let names = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        let mut listed: Vec<String> = played["tools"].as_array().unwrap().iter().map(names).collect();
        let mut called: Vec<String> = calls.iter().map(|(tool, ..)| (*tool).to_owned()).collect();
        listed.sort();
        called.sort();
        called.dedup();
        assert_eq!(listed, called, "each tool is called");
        for ((tool, arguments, failure), answer) in calls.iter().zip(played["answers"].as_array().unwrap()) {
            let context = format!("{mode} {tool} {arguments}: {answer}");
            let text = answer["text"].as_str().unwrap_or_else(|| panic!("{context}"));
            assert_eq!(answer["is_error"], failure.is_some(), "{context}");
            match failure {
                Some(words) => assert!(text.contains(words), "{context}"),
                None => assert!(answer["structured"]["report"].is_object() && !text.is_empty(), "{context}"),
            }
        }
    }
}

#[test]
fn the_python_sdk_calls_every_tool_about_files() {
    let Some(python) = mcp_python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let traces = incident(folder.path()).display().to_string();
    let samples = folder.path().join("samples.csv");
    let mut text = "time,server,tier,cores,utilization,clients,count:home,response_ms:home\n".to_owned();
    for window in 0..60 {
        let count = 600 + 50 * (window % 7);
        let used = f64::from(count) * 0.01 / 60.0;
        text += &format!(
            "2026-01-12T00:{window:02}:00Z,app-1,app,1,{used:.4},100,{count},{:.3}\n",
            10.0 / (1.0 - used)
        );
    }
    std::fs::write(&samples, text).unwrap();
    let kernel = folder.path().join("trace.txt");
    std::fs::write(
        &kernel,
        "# tracer: nop\n#\n  app-100   [000] d..2. 1.000000000: sched_switch: prev_comm=app prev_pid=100 prev_prio=120 prev_state=S ==> \
         next_comm=swapper/0 next_pid=0 next_prio=120\n  <idle>-0   [000] d..2. 1.005000000: sched_switch: prev_comm=swapper/0 prev_pid=0 \
         prev_prio=120 prev_state=R ==> next_comm=app next_pid=100 next_prio=120\n  app-100   [000] d..2. 1.006000000: sched_switch: \
         prev_comm=app prev_pid=100 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n",
    )
    .unwrap();
    let program =
        [env!("CARGO_BIN_EXE_laggard"), "mcp", &folder.path().display().to_string()].map(str::to_owned);
    let calls = [
        ("diagnose", json!({"paths": [&traces]}), None),
        ("diagnose", json!({"paths": ["/etc"]}), Some("nothing else may be read")),
        ("compare", json!({"before": [&traces], "after": [&traces]}), None),
        ("changes", json!({"paths": ["samples.csv"]}), None),
        ("signature", json!({"paths": ["samples.csv"]}), None),
        ("capacity", json!({"paths": ["samples.csv"], "latency-max": "200ms"}), None),
        ("capacity", json!({"paths": ["samples.csv"]}), Some("latency-max is needed")),
        ("kernel_stats", json!({"paths": ["trace.txt"]}), None),
        ("kernel_path", json!({"paths": ["trace.txt"], "thread": "app"}), None),
        (
            "kernel_diagnose",
            json!({"normal": ["trace.txt"], "sample": ["trace.txt"], "executions": "thread:app"}),
            None,
        ),
        ("settings", json!({"question": "compare"}), None),
    ];
    check(python, folder.path(), ("command", json!(program)), &calls);
}

#[test]
fn the_python_sdk_calls_every_tool_of_a_server() {
    let Some(python) = mcp_python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"));
    let traces = incident(folder.path());
    let file = std::fs::read_dir(traces).unwrap().next().unwrap().unwrap().path();
    server.send_file("/api/v1/import", &file);
    server.flush();
    let window = json!({"since": "2026-01-12T09:00:00Z", "until": "2026-01-12T12:00:00Z"});
    let found =
        server.request("GET", "/api/v1/search?since=2026-01-12T09:00:00Z&until=2026-01-12T12:00:00Z&limit=1");
    let trace = serde_json::from_str::<Value>(&found).unwrap()["traces"][0]["trace"].clone();
    let calls = [
        ("diagnose", window.clone(), None),
        ("diagnose", json!({"since": "tomorrow"}), Some("is not a time")),
        ("compare", json!({"since": "2026-01-12T09:30:00Z"}), None),
        ("changes", json!({}), None),
        ("signature", json!({}), None),
        ("capacity", json!({"latency-max": "1s"}), None),
        ("recordings_path", json!({"recording": "0"}), Some("there is no stored recording")),
        ("recordings_diagnose", json!({"recording": "0"}), Some("there is no stored recording")),
        ("recordings", json!({}), None),
        ("incidents", json!({}), None),
        ("search", window, None),
        ("trace", json!({"trace": trace}), None),
        ("settings", json!({"question": "diagnose", "containing": "level"}), None),
    ];
    let url = server.url("http");
    check(python, folder.path(), ("url", json!(format!("{url}/api/v1/mcp"))), &calls);
    let forwarded = [env!("CARGO_BIN_EXE_laggard"), "mcp", "--server", &url];
    check(python, folder.path(), ("command", json!(forwarded)), &calls);
    server.stop();
}
