//! A server that reads the traces of another one.

use super::Running;
use crate::outcome::laggard;
use laggard_testkit::{HttpStandIn, jaeger_response, jaeger_traces};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A Jaeger server with one trace, which starts so long after the present.
fn jaeger(after: Duration) -> HttpStandIn {
    let start_us = (SystemTime::now() + after).duration_since(UNIX_EPOCH).unwrap().as_micros();
    let file = format!(
        r#"{{"data":[{{"traceID":"{id}","spans":[{{"traceID":"{id}","spanID":"00000000000000a1","operationName":"get",
        "startTime":{start_us},"duration":1000,"processID":"p1"}}],"processes":{{"p1":{{"serviceName":"front"}}}}}}]}}"#,
        id = super::TRACE
    );
    laggard_testkit::trace_stand_in(jaeger_traces(&file), jaeger_response)
}

fn configuration(folder: &std::path::Path, url: &str) -> String {
    let path = folder.join("laggard.yaml");
    let text = format!(
        "trace_sources:\n  - name: production\n    kind: jaeger\n    url: {url}\n    every: 1s\n    delay: 500ms\nstore:\n  idle: 1s\n"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn traces_of_another_server_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let jaeger = jaeger(Duration::from_secs(2));
    let configuration = configuration(folder.path(), &jaeger.url());
    let server = Running::start(&folder.path().join("data"), &["--config", &configuration]);
    // The test ends with an error of the whole suite's time limit if it never comes.
    while server.get(super::TRACE_PATH).status != 200 {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(!server.get("/readyz").body.contains("trace_source_unread"));
    server.stop();
}

#[test]
fn a_source_that_cannot_be_read_is_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = configuration(folder.path(), "http://127.0.0.1:1");
    let server = Running::start(&folder.path().join("data"), &["--config", &configuration]);
    while !server.get("/readyz").body.contains("trace_source_unread") {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(server.get("/readyz").status, 200);
}

#[test]
fn the_configuration_is_checked_and_printed() {
    let folder = tempfile::tempdir().unwrap();
    let valid = configuration(folder.path(), "http://localhost:16686");
    let printed = laggard(&["serve", "--check-config", "--config", &valid]).text();
    assert!(printed.contains("trace_sources:\n  - name: production\n    kind: jaeger\n"), "{printed}");
    let again = folder.path().join("again.yaml");
    std::fs::write(&again, &printed).unwrap();
    assert_eq!(laggard(&["serve", "--check-config", "--config", again.to_str().unwrap()]).text(), printed);
    let invalid = configuration(folder.path(), "http://me:secret@localhost");
    let rejected = laggard(&["serve", "--check-config", "--config", &invalid]);
    rejected.fails(2, &["trace source \"production\""]);
    assert!(!rejected.stderr.contains("secret"), "{}", rejected.stderr);
}
