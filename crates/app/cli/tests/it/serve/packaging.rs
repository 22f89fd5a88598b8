//! Files in `packaging/` match the program.

use super::{Running, TRACE};
use crate::outcome::laggard;
use laggard_testkit::{Missing, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(packaging(name)).unwrap()
}

/// Names of metrics in query expressions.
fn metrics(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words
        .filter(|word| word.starts_with("laggard_") || word.starts_with("process_"))
        .map(|word| word.strip_suffix("_bucket").unwrap_or(word).to_owned())
        .collect()
}

fn expressions(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == "expr" || name == "definition" => into.push(text.to_owned()),
                    _ => expressions(value, into),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, into)),
        _ => {}
    }
}

#[test]
fn every_metric_of_dashboards_and_alerts_is_exposed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    let exposed = server.get("/metrics").body;
    let families: BTreeSet<&str> = exposed
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split(' ').next())
        .collect();
    let mut used = Vec::new();
    for dashboard in ["grafana/laggard.json", "grafana/incidents.json"] {
        expressions(&serde_json::from_str(&text(dashboard)).unwrap(), &mut used);
    }
    let rules = text("prometheus/alerts.yml");
    used.extend(rules.lines().filter(|line| !line.trim_start().starts_with('#')).map(str::to_owned));
    let used = metrics(&used.join("\n"));
    assert!(used.len() > 20, "{used:?}");
    for name in used {
        assert!(families.contains(name.as_str()), "{name} is not in {families:?}");
    }
}

#[test]
fn the_packaged_configuration_is_valid() {
    let path = packaging("laggard.yaml");
    let printed = laggard(&["serve", "--check-config", "--config", path.to_str().unwrap()]).text();
    assert!(printed.contains("keep_bytes: 50GiB"), "{printed}");
}

#[test]
fn the_agents_unit_and_daemon_set_use_valid_arguments() {
    let help = laggard(&["agent", "--help"]).text();
    for file in ["systemd/laggard-agent.service", "kubernetes/agent.yaml"] {
        let text = text(file);
        let started = text.lines().filter(|line| line.starts_with("ExecStart=") || line.contains("- --"));
        let words: Vec<&str> =
            started.flat_map(str::split_whitespace).filter(|word| word.starts_with("--")).collect();
        assert!(words.len() >= 2, "{file}: {words:?}");
        for word in words {
            let flag = word.split('=').next().unwrap_or(word);
            assert!(help.contains(flag), "{file}: {flag}");
        }
    }
}

/// The container file and the unit use existing flags and variables.
#[test]
fn container_and_unit_use_valid_arguments() {
    let help = laggard(&["serve", "--help"]).text();
    let container = text("container/Containerfile");
    let unit = text("systemd/laggard.service");
    for flag in [container.as_str(), unit.as_str()].join("\n").split_whitespace() {
        let flag = flag.trim_matches(['"', ',', '[', ']', '`', '.', ';']);
        if flag.starts_with("--check-") || flag == "--config" {
            assert!(help.contains(flag), "{flag}");
        }
    }
    let variables = container.lines().filter_map(|line| {
        let line = line.trim().strip_prefix("ENV ").unwrap_or(line.trim());
        line.strip_prefix("LAGGARD_")?.split_once('=')
    });
    let keys: Vec<String> = variables.map(|(name, _)| name.to_lowercase()).collect();
    assert_eq!(keys.len(), 7);
    let printed = laggard(&["serve", "--check-config"]).text();
    for key in keys {
        let last = key.rsplit_once("logs_").map_or(key.as_str(), |(_, last)| last);
        assert!(printed.lines().any(|line| line.trim().starts_with(&format!("{last}:"))), "{key}");
    }
    for instruction in container.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase())) {
        let word = instruction.split(' ').next().unwrap();
        let known = [
            "ARG",
            "FROM",
            "RUN",
            "COPY",
            "WORKDIR",
            "USER",
            "VOLUME",
            "ENV",
            "EXPOSE",
            "STOPSIGNAL",
            "HEALTHCHECK",
            "ENTRYPOINT",
            "CMD",
        ];
        assert!(known.contains(&word), "{instruction}");
    }
    assert!(container.contains("\nUSER 65532:65532\n"), "not root");
}

/// The lines of a metric's sample, without its value.
fn sample_value(text: &str, sample: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(sample)?.trim().parse().ok())
}

#[test]
fn metrics_have_histograms_and_pass_promtool() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &["--set", "store.upkeep=50ms"]);
    for _ in 0..3 {
        assert_eq!(server.send_trace(TRACE, &[]).status, 200);
        assert_eq!(server.post("/api/v1/flush").status, 204);
    }
    assert_eq!(server.get("/verdict").status, 200);
    let text = server.get("/metrics").body;
    let count = |sample: &str| sample_value(&text, sample).unwrap_or_else(|| panic!("{sample} in\n{text}"));
    let routes = "laggard_http_request_duration_seconds";
    let traces = r#"listener="otlp_http",method="POST",route="/v1/traces""#;
    assert_eq!(count(&format!("{routes}_count{{{traces}}}")), 3.0);
    assert_eq!(count(&format!("{routes}_bucket{{{traces},le=\"+Inf\"}}")), 3.0);
    assert!(count(&format!("{routes}_sum{{{traces}}}")) > 0.0);
    assert_eq!(
        count(&format!("{routes}_count{{listener=\"http\",method=\"POST\",route=\"/api/v1/flush\"}}")),
        3.0
    );
    assert_eq!(count(&format!("{routes}_count{{listener=\"http\",method=\"GET\",route=\"other\"}}")), 1.0);
    assert!(count("laggard_store_log_sync_duration_seconds_count{tenant=\"default\"}") >= 3.0);
    assert!(text.contains("# TYPE laggard_store_compaction_duration_seconds histogram"));
    assert!(text.contains("# TYPE laggard_alert_evaluation_duration_seconds histogram"));
    let accept = "Accept: application/openmetrics-text; version=1.0.0";
    let open = server.request("http", "GET", "/metrics", &[accept], "").body;
    assert!(open.contains(&format!("# UNIT {routes} seconds")) && open.ends_with("# EOF\n"), "{open}");
    check_with_promtool(&text);
}

/// `promtool check metrics` accepts the text, naming and help texts included.
fn check_with_promtool(text: &str) {
    let mut run = Command::new("promtool");
    run.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = run.spawn() else {
        return skip(Missing::Packages("prometheus"), "there is no program `promtool` on the path");
    };
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && message.trim().is_empty(), "{message}\n{text}");
}

#[test]
fn its_own_spans_go_where_the_variables_of_opentelemetry_point() {
    let folder = tempfile::tempdir().unwrap();
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", socket.local_addr().unwrap());
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20abc"),
        ("OTEL_SERVICE_NAME", "laggard-east"),
        ("OTEL_TRACES_SAMPLER", "always_on"),
    ];
    let server = Running::start_with(folder.path(), &[], &variables);
    assert_eq!(server.get("/api/v1/status").status, 200);
    let (mut stream, _) = socket.accept().unwrap();
    let mut received = String::new();
    while !received.contains("/api/v1/status") {
        let mut bytes = [0; 4096];
        let length = stream.read(&mut bytes).unwrap();
        assert!(length > 0, "{received}");
        received.push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    let lower = received.to_lowercase();
    assert!(lower.starts_with("post /v1/traces http/1.1"), "{received}");
    assert!(lower.contains("authorization: bearer abc") && received.contains("laggard-east"), "{received}");
}
