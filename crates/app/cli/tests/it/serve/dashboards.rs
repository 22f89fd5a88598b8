//! The query APIs of Jaeger and Tempo: Laggard reads its own traces through them, and Grafana's panels and provisioned data sources
//! name what is there.

use super::Running;
use crate::outcome::{command, finish, laggard};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const TOKEN: &str = "a-token-of-sixteen-or-more-bytes";

/// A simulated incident as one file.
fn simulated(folder: &Path) -> PathBuf {
    let target = folder.join("simulated");
    let arguments =
        ["simulate", "--format", "jaeger", "--requests", "120", "--window", "600", "--categories", "4", "-o"];
    laggard(&[&arguments[..], &[target.to_str().unwrap()]].concat()).text();
    let files: Vec<PathBuf> =
        fs::read_dir(target.join("traces")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("one file: {files:?}") };
    file.clone()
}

/// A server that needs a token and has the traces of a file.
fn server_with(file: &Path, folder: &Path) -> Running {
    let token = folder.join("token");
    fs::write(&token, TOKEN).unwrap();
    let setting = format!("token_file={}", token.display());
    let server = Running::start(&folder.join("data"), &["--set", &setting]);
    let authorization = format!("Authorization: Bearer {TOKEN}");
    let body = fs::read_to_string(file).unwrap();
    let sent = server.request("http", "POST", "/api/v1/import?name=traces.json", &[&authorization], &body);
    assert_eq!(sent.status, 200, "{}", sent.body);
    assert_eq!(server.request("http", "POST", "/api/v1/flush", &[&authorization], "").status, 204);
    server
}

/// What a report finds, without what depends on where the data came from.
fn findings(report: &Value) -> [&Value; 4] {
    ["verdict", "suspects", "categories", "replicas"].map(|name| &report[name])
}

#[test]
fn traces_that_are_read_back_give_the_verdict_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = simulated(folder.path());
    let server = server_with(&file, folder.path());
    let base = format!("http://{}", server.addresses["http"]);
    let limits = ["--since", "2026-01-12T08:59:00Z", "--until", "2026-01-12T09:12:00Z", "--output", "json"];
    let from_file = laggard(&[&["diagnose", file.to_str().unwrap()], &limits[..]].concat()).json();
    assert_eq!(from_file["verdict"], "suspects");
    for (flag, path, further) in [
        ("--jaeger", "jaeger", &[][..]),
        // Many slices, each with few traces.
        ("--jaeger", "jaeger", &["--service", "front-end", "--source-traces", "640"]),
        ("--tempo", "tempo", &[]),
        ("--tempo", "tempo", &["--service", "front-end"]),
    ] {
        let url = format!("{base}/{path}");
        let arguments = [&["diagnose", flag, &url], &limits[..], further].concat();
        let report = finish(command(&arguments).env("LAGGARD_SOURCE_TOKEN", TOKEN)).json();
        assert_eq!(report["input"]["requests"], from_file["input"]["requests"], "{flag} {further:?}");
        assert_eq!(findings(&report), findings(&from_file), "{flag} {further:?}");
    }
    let refused = laggard(&["diagnose", "--tempo", &format!("{base}/tempo")]);
    refused.fails(3, &["401"]);
    server.stop();
}

#[test]
fn unknown_paths_are_no_pages() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    for path in ["/jaeger", "/jaeger/", "/jaeger/search", "/tempo", "/tempo/api/v2/search"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    assert_eq!(server.get("/tempo/api/echo").body, "echo");
    let posted = server.post("/jaeger/api/services");
    assert_eq!(posted.status, 405, "{}", posted.body);
    let limited = server.request("http", "GET", "/jaeger/api/services", &["Host: evil.example"], "");
    assert_eq!(limited.status, 403, "{}", limited.body);
}

fn packaging(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/grafana").join(name);
    fs::read_to_string(path).unwrap()
}

/// Every query of Tempo's data source in the dashboard is answered, and every provisioned URL leads to an API.
#[test]
fn grafanas_files_match_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    let dashboard: Value = serde_json::from_str(&packaging("incidents.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let mut queries = 0;
    for query in targets.filter_map(|target| target["query"].as_str()) {
        let query = query.replace("$slow", "1s");
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answered = server.get(&format!("/tempo/api/search?q={encoded}"));
        assert_eq!(answered.status, 200, "{query}: {}", answered.body);
        queries += 1;
    }
    assert_eq!(queries, 2);
    let sources = packaging("datasources.yaml");
    let paths = sources.lines().filter_map(|line| line.trim().strip_prefix("url: http://127.0.0.1:4316"));
    let tests = [("/tempo", "/api/echo"), ("/jaeger", "/api/services")];
    for (path, (known, test)) in paths.zip(tests) {
        assert_eq!(path, known);
        assert_eq!(server.get(&format!("{path}{test}")).status, 200, "{path}");
    }
}
