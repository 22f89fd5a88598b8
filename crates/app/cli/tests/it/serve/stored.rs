//! `--store`: questions about the data folder of a server, without it and beside it.

use super::store_commands::{damage, files, text};
use super::{Running, TRACE};
use crate::outcome::{Outcome, laggard};
use crate::server::traces;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const JSON: &str = "Content-Type: application/json";

/// The requests of one of three parts of [`traces`], 200 seconds each.
pub(super) fn part(number: usize) -> String {
    let mut all: Value = serde_json::from_str(&traces()).unwrap();
    for service in all["resourceSpans"].as_array_mut().unwrap() {
        let spans = service["scopeSpans"][0]["spans"].as_array_mut().unwrap();
        let trace = |span: &Value| usize::from_str_radix(span["traceId"].as_str().unwrap(), 16).unwrap();
        spans.retain(|span| trace(span) * 3 / 201 == number);
    }
    all.to_string()
}

/// The spans of one of the services of [`traces`].
pub(super) fn service_part(number: usize) -> String {
    let mut all: Value = serde_json::from_str(&traces()).unwrap();
    let services = all["resourceSpans"].as_array_mut().unwrap();
    *services = vec![services.swap_remove(number)];
    all.to_string()
}

/// A server with ten minutes of requests in three segments, and a declared deployment.
pub(super) fn start(folder: &Path, further: &[&str]) -> Running {
    let settings = ["--set", "store.keep_for=off", "--set", "store.upkeep=1h"];
    let server = Running::start(folder, &[&settings, further].concat());
    for number in 0..3 {
        assert_eq!(server.request("http", "POST", "/api/v1/import", &[], &part(number)).status, 200);
        assert_eq!(server.post("/api/v1/flush").status, 204);
    }
    let event = r#"{"time":"2026-01-12T09:04:00Z","kind":"deployment","service":"db","version":"1.4"}"#;
    assert_eq!(server.request("http", "POST", "/api/v1/events", &[JSON], event).status, 200);
    server
}

fn url(server: &Running) -> String {
    format!("http://{}", server.addresses["http"])
}

/// Every file below a folder, with its length and when it was written.
pub(super) fn everything(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let (path, data) = entry.map(|entry| (entry.path(), entry.metadata().unwrap())).unwrap();
            if data.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, (data.len(), data.modified().unwrap()));
        }
    }
    found
}

pub(super) fn of_store(folder: &Path, words: &[&str]) -> Outcome {
    laggard(&[words, &["--store", text(folder)]].concat())
}

const QUESTIONS: [&[&str]; 9] = [
    &["diagnose"],
    &["diagnose", "--baseline", "none", "--top", "3"],
    &["diagnose", "--since", "2026-01-12T09:06:00Z"],
    &["diagnose", "--until", "2026-01-12T09:05:00Z", "--baseline-rest", "--service", "web"],
    &["diagnose", "--since", "2026-01-12T09:06:00Z", "--baseline-until", "2026-01-12T09:03:00Z"],
    &["diagnose", "--deployment", "web@2=2026-01-12T09:02:00Z", "--method", "clouddiag"],
    &["diagnose", "--since", "2026-01-13T09:00:00Z"],
    &["compare", "--since", "2026-01-12T09:05:00Z"],
    &[
        "compare",
        "--before-until",
        "2026-01-12T09:03:00Z",
        "--since",
        "2026-01-12T09:07:00Z",
        "--service",
        "web",
    ],
];

/// Asks a server and its folder every question, in two forms; the answers must be equal. Returns those of the folder.
fn compared(server: &Running, folder: &Path, further: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for question in QUESTIONS {
        for output in ["json", "text"] {
            let words = [question, &["--exit-code", "--output", output]].concat();
            let requested = laggard(&[&words[..], &["--server", &url(server)]].concat());
            let read = of_store(folder, &[&words[..], further].concat());
            assert_eq!(read.stdout, requested.stdout, "{words:?}: {}{}", read.stderr, requested.stderr);
            assert_eq!(
                (read.status, &*read.stderr),
                (requested.status, ""),
                "{words:?}: {}",
                requested.stderr
            );
            all.push(read.stdout);
        }
    }
    all
}

fn answers(folder: &Path, further: &[&str]) -> Vec<String> {
    let forms = QUESTIONS.iter().flat_map(|question| ["json", "text"].map(|output| (question, output)));
    let answer = |(question, output): (&&[&str], &str)| {
        of_store(folder, &[*question, &["--exit-code", "--output", output], further].concat()).stdout
    };
    forms.map(answer).collect()
}

#[test]
fn a_folder_gives_the_answers_of_its_server_beside_it_and_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &[]);
    let before = everything(folder.path());
    let beside = compared(&server, folder.path(), &[]);
    assert!(beside[0].contains("\"read\"") && beside[0].contains("\"1.4\""), "{}", beside[0]);
    assert_eq!(everything(folder.path()), before, "nothing is changed");
    server.stop();
    let before = everything(folder.path());
    assert_eq!(answers(folder.path(), &[]), beside);
    assert_eq!(everything(folder.path()), before, "nothing is changed");
    let by_url = format!("file://{}", text(folder.path()));
    assert_eq!(answers(Path::new(&by_url), &[]), beside);
    let tenant = folder.path().join("tenants/default");
    assert_eq!(of_store(&tenant, &["diagnose", "--output", "json", "--exit-code"]).stdout, beside[0]);
}

#[test]
fn above_the_limit_of_calls_both_thin_the_same_requests() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &["--set", "limits.calls=150"]);
    let further = ["--calls-max", "150"];
    let thinned = compared(&server, folder.path(), &further);
    assert!(thinned[0].contains("of 200 requests, with "), "{}", thinned[0]);
    for threads in ["1", "3"] {
        let more = [&further[..], &["--threads", threads]].concat();
        assert_eq!(
            of_store(folder.path(), &[&["diagnose", "--output", "json"], &more[..]].concat()).stdout,
            thinned[0]
        );
    }
}

#[test]
fn what_is_only_in_the_log_of_a_killed_server_is_stated() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &["--set", "store.idle=60s"]);
    assert_eq!(server.send_trace(TRACE, &[]).status, 200);
    let words = ["diagnose", "--output", "json"];
    let beside = of_store(folder.path(), &words).json();
    let cautions = |report: &Value| report["cautions"].as_array().unwrap().clone();
    drop(server);
    let alone = of_store(folder.path(), &words).json();
    let caution = cautions(&alone).last().unwrap().as_str().unwrap().to_owned();
    assert!(caution.starts_with("In the log alone, and not considered: up to 1 span. "), "{caution}");
    assert_eq!(
        cautions(&alone).len(),
        cautions(&beside).len() + 1,
        "its server does not answer open traces either"
    );
    assert_eq!(alone["suspects"], beside["suspects"]);
}

#[test]
fn damaged_segments_are_counted_and_stay_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    start(folder.path(), &[]).stop();
    let all = files(folder.path(), ".parquet");
    damage(all.iter().find(|file| text(file).contains("/calls/")).unwrap());
    let before = everything(folder.path());
    for calls_max in ["1000000", "350"] {
        let read = of_store(folder.path(), &["diagnose", "--output", "json", "--calls-max", calls_max]);
        let report: Value = serde_json::from_str(&read.stdout).unwrap();
        assert_eq!((read.status, &report["verdict"]), (4, &"insufficient-data".into()));
        let lost = report["input"]["losses"]["corrupt_segment"]["count"].as_u64().unwrap();
        assert!((180..220).contains(&lost), "{lost}");
        assert_eq!(report["input"]["spans"].as_u64().unwrap() + lost, 600);
    }
    assert_eq!(everything(folder.path()), before, "the server sets it aside, or `laggard store repair` does");
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let words = ["diagnose"];
    of_store(&data, &words).fails(3, &["no data folder"]);
    start(&data, &[]).stop();
    of_store(&data, &["diagnose", "--tenant", "../x"]).fails(3, &["no tenant", "only default"]);
    fs::create_dir_all(data.join("tenants/other")).unwrap();
    of_store(&data, &words).fails(3, &["several tenants", "default, other"]);
    of_store(&data, &["diagnose", "--tenant", "other"]).fails(3, &["this is no store"]);
    assert_eq!(of_store(&data, &["diagnose", "--tenant", "default"]).status, 0);
    for more in [
        &["--server", "http://localhost:1"][..],
        &["--format", "zipkin"],
        &["--baseline", "x"],
        &["--weight-attribute", "w"],
        &["--set=cv-min=-1"],
        &["--samples", "x.csv"],
        &["x.json"],
    ] {
        let refused = of_store(&data, &[&["diagnose", "--tenant", "default"], more].concat());
        assert_eq!(refused.status, 2, "{more:?}: {}", refused.stderr);
    }
    of_store(Path::new("gcs://bucket"), &words).fails(3, &["gcs:// is not read"]);
    #[cfg(not(feature = "s3"))]
    of_store(Path::new("s3://bucket"), &words).fails(3, &["--features s3"]);
    assert_eq!(laggard(&["diagnose", "--calls-max", "5"]).status, 2, "files are not thinned like this");
    for ending in [".json", ".copy"] {
        damage(files(&data, ending).last().unwrap());
    }
    let refused = of_store(&data, &["diagnose", "--tenant", "default"]);
    refused.fails(3, &["manifest/", "another checksum", "laggard store repair"]);
}

#[test]
fn a_folder_can_be_read_while_its_server_replaces_segments() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--set", "store.upkeep=20ms", "--set", "store.slice=2s", "--set", "store.idle=100ms"];
    let server = Running::start(folder.path(), &settings);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let flush = |number: u128| {
        assert_eq!(server.send_trace(&format!("{number:032x}"), &[]).status, 200);
        assert_eq!(server.post("/api/v1/flush").status, 204);
    };
    flush(1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 2_u128.. {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                flush(number);
            }
        });
        let words = ["diagnose", "--output", "json"];
        let read: Vec<Outcome> = (0..15).map(|_| of_store(folder.path(), &words)).collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let mut before = 0;
        for answer in read {
            assert!([0, 4].contains(&answer.status), "{}", answer.stderr);
            let report: Value = serde_json::from_str(&answer.stdout).unwrap();
            let spans = report["input"]["spans"].as_u64().unwrap();
            assert!(spans >= before, "{spans} after {before}: nothing is missing");
            assert_eq!(report["input"]["losses"], serde_json::json!({}));
            before = spans;
        }
    });
    server.stop();
}
