//! Traces of servers: the same verdict as of files, and errors with their exit status. The servers are stand-ins built from the
//! documented interfaces.

use crate::outcome::{Outcome, command, finish, laggard};
use laggard_testkit::{
    Answering, HttpStandIn, StandInResponse, StoredTraces, elasticsearch_response, elasticsearch_traces,
    jaeger_response, jaeger_traces, tempo_response, tempo_traces, trace_stand_in, zipkin_response,
    zipkin_traces,
};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A kind of server: its flag, the format of `laggard simulate`, and its stand-in.
struct Kind {
    flag: &'static str,
    format: &'static str,
    parse: fn(&str) -> StoredTraces,
    answering: Answering,
}

const KINDS: [Kind; 4] = [
    Kind { flag: "--jaeger", format: "jaeger", parse: jaeger_traces, answering: jaeger_response },
    Kind { flag: "--tempo", format: "otlp-json", parse: tempo_traces, answering: tempo_response },
    Kind { flag: "--zipkin", format: "zipkin", parse: zipkin_traces, answering: zipkin_response },
    Kind {
        flag: "--elasticsearch",
        format: "jaeger",
        parse: elasticsearch_traces,
        answering: elasticsearch_response,
    },
];

/// Ten minutes from 09:00 with a slow device on some hosts.
const WINDOW: [&str; 4] = ["--since", "2026-01-12T08:59:00Z", "--until", "2026-01-12T09:12:00Z"];

/// A simulated incident in a format; the folder is removed with the first value.
fn simulated(format: &str) -> (tempfile::TempDir, PathBuf, String) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("traces");
    let arguments =
        ["simulate", "--format", format, "--requests", "120", "--window", "600", "--categories", "4"];
    laggard(&[&arguments[..], &["-o", target.to_str().unwrap()]].concat()).text();
    let files: Vec<PathBuf> =
        std::fs::read_dir(target.join("traces")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("one file: {files:?}") };
    let content = std::fs::read_to_string(file).unwrap();
    (folder, file.clone(), content)
}

/// A Jaeger server with a simulated incident, for all tests.
fn jaeger() -> &'static HttpStandIn {
    static SERVER: OnceLock<HttpStandIn> = OnceLock::new();
    SERVER.get_or_init(|| trace_stand_in(jaeger_traces(&simulated("jaeger").2), jaeger_response))
}

fn run(question: &str, flag: &str, url: &str, further: &[&str]) -> Outcome {
    laggard(&[&[question, flag, url, "--output", "json"], further].concat())
}

/// What a report finds, without what depends on where the data came from.
fn findings(report: &Value) -> [&Value; 4] {
    ["verdict", "suspects", "categories", "replicas"].map(|name| &report[name])
}

#[test]
fn a_server_gives_the_same_verdict_as_the_file() {
    for kind in &KINDS {
        let (_folder, file, content) = simulated(kind.format);
        let server = trace_stand_in((kind.parse)(&content), kind.answering);
        let limits = ["--service", "front-end", WINDOW[0], WINDOW[1], WINDOW[2], WINDOW[3]];
        let from_file =
            laggard(&[&["diagnose", file.to_str().unwrap(), "--output", "json"], &limits[..]].concat())
                .json();
        let from_server = run("diagnose", kind.flag, &server.url(), &limits).json();
        assert_eq!(from_file["verdict"], "suspects", "{}", kind.flag);
        assert_eq!(findings(&from_server), findings(&from_file), "{}", kind.flag);
        let lost = |report: &Value| report["input"]["losses"]["clock_skew"]["count"].as_u64();
        assert_eq!(lost(&from_server), lost(&from_file), "{}", kind.flag);
        assert!(server.received().len() > 3, "several slices");
    }
}

#[test]
fn all_services_are_read_without_a_service() {
    let whole = run("diagnose", "--jaeger", &jaeger().url(), &WINDOW).json();
    assert_eq!(whole["input"]["requests"], 360, "{}", whole["input"]);
    assert_eq!(whole["verdict"], "suspects");
}

#[test]
fn a_baseline_and_a_comparison_have_windows_of_their_own() {
    let url = jaeger().url();
    let window =
        ["--service", "front-end", "--since", "2026-01-12T09:05:00Z", "--until", "2026-01-12T09:12:00Z"];
    let report = run(
        "diagnose",
        "--jaeger",
        &url,
        &[&window[..], &["--baseline-since", "2026-01-12T09:00:00Z"]].concat(),
    )
    .json();
    let baseline = report["baseline"]["requests"].as_u64().unwrap();
    assert!((120..=210).contains(&baseline), "half of 360 requests: {baseline}");
    let comparison = run("compare", "--jaeger", &url, &window).json();
    let requests = |side: &str| comparison[side]["input"]["requests"].as_u64().unwrap();
    assert_eq!(requests("before"), baseline, "{}", comparison["before"]);
    assert!((120..=210).contains(&requests("after")));
    run("diagnose", "--jaeger", &url, &[&window[..], &["--baseline-rest"]].concat())
        .fails(2, &["--baseline-since"]);
}

#[test]
fn a_sample_is_a_caution_of_the_report() {
    let report = run(
        "diagnose",
        "--jaeger",
        &jaeger().url(),
        &[&WINDOW[..], &["--service", "front-end", "--source-traces", "40"]].concat(),
    );
    let report = report.json();
    let cautions = report["cautions"].to_string();
    assert!(
        cautions.contains("Jaeger has more traces") && cautions.contains("--source-traces"),
        "{cautions}"
    );
}

#[test]
fn errors_have_their_exit_status() {
    let url = jaeger().url();
    let diagnose = |url: &str, further: &[&str]| run("diagnose", "--jaeger", url, further);
    diagnose(&url, &["--service", "front-ent", WINDOW[0], WINDOW[1]])
        .fails(2, &["\"front-ent\"", "front-end"]);
    diagnose(&url, &["--until", "2025-01-12T09:00:00Z"])
        .fails(4, &["no trace", "2025-01-12T08:00:00Z", "UTC"]);
    diagnose("localhost", &[]).fails(2, &["--jaeger", "http://localhost:16686"]);
    diagnose("http://me:secret@localhost", &[]).fails(2, &["LAGGARD_SOURCE_BASIC"]);
    diagnose("http://127.0.0.1:1", &["--source-timeout", "1s"])
        .fails(3, &["http://127.0.0.1:1/api/services"]);
    diagnose(&url, &["--format", "zipkin"]).fails(2, &["--format"]);
    diagnose(&url, &["traces.json"]).fails(2, &["--jaeger"]);
    diagnose(&url, &["--tempo", &url]).fails(2, &["--tempo"]);
    laggard(&["diagnose", "--source-tenant", "x", "-"]).fails(2, &["--jaeger", "--tempo"]);
    run("compare", "--jaeger", &url, &[]).fails(2, &["--since"]);
}

#[test]
fn credentials_are_those_of_the_environment() {
    let server = HttpStandIn::new(|_, request| match request.header("authorization") {
        Some("Bearer right") => StandInResponse::json(r#"{"data": []}"#),
        _ => StandInResponse::new("401 Unauthorized", ""),
    });
    let with =
        |name: &str, value: &str| finish(command(&["diagnose", "--jaeger", &server.url()]).env(name, value));
    with("LAGGARD_SOURCE_TOKEN", "right").fails(4, &["knows no service"]);
    let rejected = with("LAGGARD_SOURCE_BASIC", "me:secret");
    rejected.fails(3, &["401", "LAGGARD_SOURCE_TOKEN"]);
    assert!(!rejected.stderr.contains("secret"));
    with("LAGGARD_SOURCE_BASIC", "secret").fails(2, &["LAGGARD_SOURCE_BASIC", "user:password"]);
}
