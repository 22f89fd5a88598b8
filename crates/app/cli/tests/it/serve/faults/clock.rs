//! Clock jumps and spans with wrong times.

use super::super::Running;
use super::is_reported;
use laggard_testkit::{Missing, skip};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Path of the library that fakes the clock of a program (Debian's package `libfaketime`).
const LIBRARIES: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
];

fn skipped() {
    skip(Missing::Packages("libfaketime"), "there is no libfaketime");
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_nanos()).unwrap()
}

#[test]
fn a_clock_jump_is_reported_and_deletes_nothing() {
    let Some(library) = LIBRARIES.into_iter().find(|library| Path::new(library).is_file()) else {
        return skipped();
    };
    let folder = tempfile::tempdir().unwrap();
    let offset = folder.path().join("offset");
    std::fs::write(&offset, "+0").unwrap();
    let variables = [
        ("LD_PRELOAD", library),
        ("FAKETIME_TIMESTAMP_FILE", offset.to_str().unwrap()),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let settings = ["--set", "store.keep_for=1d", "--set", "store.upkeep=20ms", "--set", "store.idle=200ms"];
    let server = Running::start_with(&folder.path().join("data"), &settings, &variables);
    assert_eq!(server.send_at(1, now_ns()).status, 200);
    assert_eq!(server.post("/api/v1/flush").status, 204);
    std::fs::write(&offset, "+400d").unwrap();
    server.wait_for_readiness(|ready, problems| ready && is_reported(problems, "clock_jumped"));
    // Spans of senders on the same machine are in the future as well; retention runs meanwhile.
    assert_eq!(server.send_at(2, now_ns() + 400 * 86_400_000_000_000).status, 200);
    assert_eq!(server.post("/api/v1/flush").status, 204);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(server.has(1) && server.has(2));
    // After the clock is corrected, traces become idle and are stored as usual.
    std::fs::write(&offset, "+0").unwrap();
    assert_eq!(server.send_at(3, now_ns()).status, 200);
    server.wait_for_readiness(|_, _| server.has(3));
    assert!(server.has(1) && server.has(2));
    server.signal(rustix::process::Signal::TERM);
    let (status, log) = server.wait();
    assert!(status == 0 && log.contains("clock_jumped"), "{log}");
}

/// Spans of 1970 and 2262 among others: all queries return.
#[test]
fn extreme_span_times_are_stored_and_queried() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        Running::start(folder.path(), &["--set", "store.keep_for=off", "--set", "store.upkeep=20ms"]);
    let times = [1, now_ns(), i64::MAX - 10_000_000, now_ns() + 1, 1_000_000_007];
    for (number, time) in (1..).zip(times) {
        assert_eq!(server.send_at(number, time).status, 200);
        assert_eq!(server.post("/api/v1/flush").status, 204);
    }
    assert!((1..=5).all(|number| server.has(number)));
    assert_eq!(server.diagnosis()["input"]["spans"], 5);
    let everything = format!("since=0&until={}", i64::MAX);
    for path in ["overview", "services", "categories", "operations", "search"] {
        let response = server.get(&format!("/api/v1/{path}?{everything}"));
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        let response = server.get(&format!("/api/v1/{path}"));
        assert_eq!(response.status, 200, "{path}: {}", response.body);
    }
    assert_eq!(server.readiness(), (true, Vec::new()));
    server.stop();
}
