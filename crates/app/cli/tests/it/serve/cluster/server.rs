//! `cluster.workers`: servers whose stores workers read.

use super::super::claimed_prefix::{SharedStore, flush, import};
use super::super::roles::{has_spans, receiver, wait_until};
use super::super::{Running, TRACE};
use super::{TestCluster, of_store, start, text};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

/// Begins the caution of reports without workers.
pub(super) const READ_BY_ITSELF: &str = "Read by the server itself";

/// Settings of a server that uses all workers, also for few spans.
pub(super) fn settings(cluster: &TestCluster) -> Vec<String> {
    let workers = format!("cluster.workers={}", cluster.addresses().join(","));
    let token = format!("cluster.token_file={}", text(&cluster.token()));
    let all = [workers, token, "cluster.spans_min=0".to_owned()];
    all.into_iter().flat_map(|setting| ["--set".to_owned(), setting]).collect()
}

pub(super) const QUESTIONS: [(&str, &str); 4] = [
    ("diagnose", r#"{"baseline": "none"}"#),
    ("diagnose", r#"{"since": "2026-01-12T09:06:00Z"}"#),
    ("diagnose", r#"{"until": "2026-01-12T09:05:00Z", "baseline-rest": true, "service": "web"}"#),
    ("compare", r#"{"since": "2026-01-12T09:05:00Z"}"#),
];

/// The report of a server.
pub(super) fn answered(server: &Running, (question, body): (&str, &str), headers: &[&str]) -> String {
    let headers = [&["Content-Type: application/json"], headers].concat();
    let response = server.request("http", "POST", &format!("/api/v1/{question}?wait=true"), &headers, body);
    assert_eq!(response.status, 200, "{question} {body}: {}", response.body);
    response.body
}

/// The reports of two servers on all questions, which must be equal byte for byte.
pub(super) fn compared(server: &Running, other: &Running, headers: &[&str]) {
    for question in QUESTIONS {
        let (one, other) = (answered(server, question, headers), answered(other, question, headers));
        assert_eq!(one, other, "{question:?}");
        assert!(!one.contains("workers"), "{one}");
    }
}

/// A report without its last caution, and that caution.
pub(super) fn without_last_caution(report: &str) -> (Value, String) {
    let mut report: Value = serde_json::from_str(report).unwrap();
    let caution = report["cautions"].as_array_mut().unwrap().pop().unwrap();
    (report, caution.as_str().unwrap().to_owned())
}

#[test]
fn a_server_with_workers_answers_as_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    start(&data, &[]).stop();
    let mut cluster = TestCluster::of(folder, 2);
    for further in [&[][..], &["--set", "limits.calls=150"]] {
        let plain = Running::start(&data, &[&["--set", "store.keep_for=off"], further].concat());
        let expected = QUESTIONS.map(|question| answered(&plain, question, &[]));
        plain.stop();
        let set = settings(&cluster);
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let server = Running::start(&data, &[&["--set", "store.keep_for=off"], further, &set].concat());
        assert_eq!(QUESTIONS.map(|question| answered(&server, question, &[])), expected, "{further:?}");
    }
    let set = settings(&cluster);
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let server = Running::start(&data, &[&["--set", "store.keep_for=off"], &set[..]].concat());
    let expected = answered(&server, QUESTIONS[0], &[]);
    assert_eq!(server.send_trace(TRACE, &[]).status, 200);
    assert_eq!(answered(&server, QUESTIONS[0], &[]), expected, "what no segment has is in no answer");
    cluster.kill(0);
    assert_eq!(answered(&server, QUESTIONS[0], &[]), expected, "the other one reads all");
    cluster.kill(1);
    let (report, caution) = without_last_caution(&answered(&server, QUESTIONS[0], &[]));
    assert_eq!(report, serde_json::from_str::<Value>(&expected).unwrap());
    assert!(caution.starts_with(READ_BY_ITSELF), "{caution}");
    let status = server.get("/api/v1/status").body;
    for text in [&caution, &status] {
        assert!(!text.contains(&cluster.workers[1].address), "readers need not know machines: {text}");
    }
    assert!(status.contains("workers_failed"), "{status}");
    server.signal(Signal::TERM);
    let log = server.wait().1;
    for part in ["units did not arrive", &cluster.workers[1].address] {
        assert!(log.contains(part), "{log}");
    }
}

#[test]
fn workers_read_what_several_servers_have_stored() {
    let (folder, data) = (tempfile::tempdir().unwrap(), [(); 4].map(|()| tempfile::tempdir().unwrap()));
    let all = folder.path().join("data");
    fs::create_dir(&all).unwrap();
    let shared = SharedStore::new(format!("file://{}", text(&all)), Vec::new());
    let (a, b) = (receiver(&shared, &data[0], "a"), receiver(&shared, &data[1], "b"));
    for (server, number) in [(&a, 0), (&b, 1)] {
        import(server, number);
        flush(server);
    }
    let cluster = TestCluster::of(folder, 2);
    let set = settings(&cluster);
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let query = ["--set", "store.role=query"];
    let plain = shared.start(data[2].path(), &query);
    let server = shared.start(data[3].path(), &[&query[..], &set].concat());
    compared(&server, &plain, &[]);
    // One that comes later, whose name is before the others'.
    let early = tempfile::tempdir().unwrap();
    let early = receiver(&shared, &early, "Early");
    import(&early, 2);
    flush(&early);
    for one in [&plain, &server] {
        wait_until("the third is seen", || has_spans(one, 600));
    }
    compared(&server, &plain, &[]);
    let whole = answered(&server, QUESTIONS[0], &[]);
    assert!(whole.contains("Stored by 3 servers"), "{whole}");
    let read = of_store(&all, &["diagnose", "--baseline", "none", "--output", "json"]).stdout;
    assert_eq!(serde_json::from_str::<Value>(&read).unwrap(), serde_json::from_str::<Value>(&whole).unwrap());
}

/// Of tenants that only one of two servers has, the other has no folder.
#[test]
fn workers_read_tenants_that_one_server_alone_has() {
    let (folder, data) = (tempfile::tempdir().unwrap(), [(); 4].map(|()| tempfile::tempdir().unwrap()));
    let all = folder.path().join("data");
    fs::create_dir(&all).unwrap();
    let shared = SharedStore::new(format!("file://{}", text(&all)), Vec::new());
    let tenants = ["--set", "tenants.enabled=true"];
    let start =
        |data: &tempfile::TempDir, further: &[&str]| shared.start(data.path(), &[&tenants, further].concat());
    let headers = ["X-Scope-OrgID: shop"];
    let writers =
        ["a", "b"].map(|name| format!("store.writer={name}")).map(|name| ["--set".to_owned(), name]);
    let [a, b] = [0, 1].map(|number| start(&data[number], &writers[number].each_ref().map(String::as_str)));
    let other = ["X-Scope-OrgID: other"];
    for (server, header) in [(&a, other), (&b, headers)] {
        let imported = super::super::stored::part(0);
        assert_eq!(server.request("http", "POST", "/api/v1/import", &header, &imported).status, 200);
        assert_eq!(server.request("http", "POST", "/api/v1/flush", &header, "").status, 204);
    }
    // Stopped, so that neither makes a folder for what it finds of the other.
    let cluster = TestCluster::of(folder, 2);
    let set = settings(&cluster);
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let query = ["--set", "store.role=query"];
    let plain = start(&data[2], &query);
    let server = start(&data[3], &[&query[..], &set].concat());
    for header in [other, headers] {
        compared(&server, &plain, &header);
    }
}
