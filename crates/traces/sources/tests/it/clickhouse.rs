//! ClickHouse's own engine (chdb, from PyPI) behind a small HTTP server, with the tables of the Collector's exporter and of SigNoz.

use crate::{START_US, read, settings_of, window};
use laggard_formats::{ReaderOptions, find_format};
use laggard_model::Collect;
use laggard_testkit::{HttpStandIn, StandInResponse, python_with};
use laggard_trace_sources::{SourceError, SourceSettings};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

const TABLES: [(&str, Option<&str>); 2] = [("clickhouse", Some("otel.otel_traces")), ("signoz", None)];

/// The server; ends when dropped.
struct ClickHouse {
    process: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Drop for ClickHouse {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl ClickHouse {
    /// A server with some spans; `None` where Python has no virtual environments.
    fn with(spans: &[Value]) -> Option<ClickHouse> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
        static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
        let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sources-python");
        let install = || python_with(&environment, &here.join("clickhouse-requirements.txt"));
        let python = PYTHON.get_or_init(install).as_ref()?;
        let folder = tempfile::tempdir().unwrap();
        let rows = folder.path().join("rows.json");
        let lines: Vec<String> = spans.iter().map(Value::to_string).collect();
        std::fs::write(&rows, lines.join("\n")).unwrap();
        let mut command = Command::new(python);
        command.arg(here.join("clickhouse_server.py")).arg(rows).current_dir(folder.path());
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Some(ClickHouse { process, url: format!("http://127.0.0.1:{}", port.trim()), _folder: folder })
    }

    fn settings(&self, (name, table): (&str, Option<&str>)) -> SourceSettings {
        SourceSettings { table: table.map(str::to_owned), ..settings_of(name, &self.url) }
    }
}

/// A span, as the server script reads it.
fn span(trace: u64, id: u64, parent: Option<u64>, service: &str, start_us: i64) -> Value {
    json!({
        "trace_id": format!("{trace:032x}"), "span_id": format!("{id:016x}"),
        "parent_id": parent.map(|id| format!("{id:016x}")).unwrap_or_default(),
        "trace_state": "ot=th:8", "name": "GET", "kind": if parent.is_some() { "Client" } else { "Server" }, "service": service,
        "resource": {"service.name": service, "k8s.pod.name": format!("{service}-1")},
        "attributes": {"http.request.method": "GET", "http.route": "/it's/\"x\""}, "numbers": {"thread.id": 17},
        "start": (START_US + start_us) * 1_000 + 7, "duration": 9_000_001, "status": "Error",
    })
}

/// 2,500 traces, one every 100 ms.
fn spans() -> Vec<Value> {
    let trace = |index: u64| {
        let start = i64::try_from(index).unwrap() * 100_000;
        [span(index + 1, 1, None, "front", start), span(index + 1, 2, Some(1), "it's back\\", start + 1_000)]
    };
    (0..2_500).flat_map(trace).collect()
}

#[test]
fn windows_and_samples_are_read_from_the_tables() {
    let Some(server) = ClickHouse::with(&spans()) else { return };
    for table in TABLES {
        for service in [None, Some("front"), Some("it's back\\")] {
            let found = read(server.settings(table), &[window(50.0, 200.0)], service, 10_000).unwrap();
            assert_eq!(found.traces().len(), 1_500, "{table:?} {service:?}");
            assert_eq!(found.spans.spans.len(), 3_000, "{table:?} {service:?}");
            assert!(found.spans.losses.is_empty(), "{:?}", found.spans.losses);
        }
        let found = read(server.settings(table), &[window(0.0, 250.0)], None, 800).unwrap();
        let summary = &found.summary.windows[0];
        assert!(summary.one_in > 1 && (400..=880).contains(&summary.traces), "{table:?} {summary:?}");
        let error =
            read(server.settings(table), &[window(0.0, 250.0)], Some("front-end"), 100).err().unwrap();
        assert!(error.to_string().contains("\"front-end\"; it knows front"), "{error}");
        let error = read(server.settings(table), &[window(600.0, 660.0)], None, 100).err().unwrap();
        assert!(matches!(error, SourceError::NoTrace(_)), "{error}");
    }
    let error = read(server.settings(("clickhouse", Some("otel.none"))), &[window(0.0, 1.0)], None, 9).err();
    let error = error.unwrap().to_string();
    assert!(error.contains("has no table otel.none") && error.contains("--source-table"), "{error}");
}

#[test]
fn spans_are_those_of_the_collector() {
    let row = span(1, 1, None, "front", 0);
    let Some(server) = ClickHouse::with(std::slice::from_ref(&row)) else { return };
    let attribute = |key: &str, value: Value| json!({"key": key, "value": value});
    let text = |text: &str| json!({"stringValue": text});
    let document = json!({"resourceSpans": [{
        "resource": {"attributes": [attribute("service.name", text("front")), attribute("k8s.pod.name", text("front-1"))]},
        "scopeSpans": [{"spans": [{
            "traceId": row["trace_id"], "spanId": row["span_id"], "traceState": "ot=th:8", "name": "GET", "kind": 2,
            "startTimeUnixNano": row["start"].to_string(),
            "endTimeUnixNano": (row["start"].as_i64().unwrap() + 9_000_001).to_string(),
            "attributes": [
                attribute("http.request.method", text("GET")), attribute("http.route", text("/it's/\"x\"")),
                attribute("thread.id", json!({"intValue": "17"})),
            ],
            "status": {"code": 2},
        }]}],
    }]});
    let mut expected = Collect::default();
    let mut reader = (find_format("otlp-json").unwrap().open)(&ReaderOptions::default());
    reader.push(document.to_string().as_bytes(), &mut expected).unwrap();
    reader.finish(&mut expected).unwrap();
    for table in TABLES {
        let found = read(server.settings(table), &[window(0.0, 1.0)], None, 100).unwrap();
        assert_eq!(found.spans.spans, expected.spans, "{table:?}");
    }
}

#[test]
fn errors_of_clickhouse_are_reported() {
    let error_of = |status: &'static str, body: &'static str| {
        let server = HttpStandIn::new(move |_, _| StandInResponse::new(status, body));
        read(settings_of("clickhouse", &server.url()), &[window(0.0, 1.0)], None, 9).err().unwrap()
    };
    let rejected = error_of("403 Forbidden", "Code: 516. DB::Exception: default: Authentication failed");
    assert!(rejected.to_string().contains("LAGGARD_SOURCE_BASIC"), "{rejected}");
    let body = "{\"trace_id\":\"1\"\nCode: 241. DB::Exception: Memory limit exceeded";
    let broken = error_of("200 OK", body);
    assert!(matches!(broken, SourceError::Unexpected { .. }), "{broken}");
    let settings = SourceSettings {
        table: Some("t; DROP TABLE t".to_owned()),
        ..settings_of("clickhouse", "http://127.0.0.1:1")
    };
    let named = read(settings, &[window(0.0, 1.0)], None, 9).err().unwrap();
    assert!(matches!(named, SourceError::Settings(_)), "{named}");
    let settings =
        SourceSettings { table: Some("t".to_owned()), ..settings_of("jaeger", "http://127.0.0.1:1") };
    assert!(read(settings, &[window(0.0, 1.0)], None, 9).err().unwrap().to_string().contains("no tables"));
}
