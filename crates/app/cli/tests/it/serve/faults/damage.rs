//! Files that are not what was written: the log, segments, the manifest.

use super::super::Running;
use super::is_reported;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Files below a folder of the only store, by name.
fn files(folder: &Path, below: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![folder.join("tenants/default").join(below)];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { left.push(path) } else { found.push(path) }
        }
    }
    found.sort_unstable_by_key(|path| path.file_name().map(ToOwned::to_owned));
    found
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    let at = at % bytes.len();
    bytes[at] ^= 0x20;
    fs::write(path, bytes).unwrap();
}

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

/// A folder where a server stored two traces, each in a segment of its own, and ended.
fn with_two_segments() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    server.store_number(1);
    server.store_number(2);
    server.stop();
    assert_eq!(files(folder.path(), "segments/spans").len(), 2);
    let staging = folder.path().join("tenants/default/segments/staging");
    assert!(staging.is_dir(), "files are synced there before they get their names");
    folder
}

/// Does something to a file.
type Harm = fn(&Path);

#[test]
fn a_damaged_segment_is_reported_and_the_rest_is_answered() {
    let harm: [(&str, Harm); 3] = [
        ("segments/requests", |path| flip(path, 40)),
        ("segments/calls", cut),
        ("segments/structures", |path| fs::remove_file(path).unwrap()),
    ];
    for (below, harm) in harm {
        let folder = with_two_segments();
        harm(&files(folder.path(), below)[0]);
        let server = Running::start(folder.path(), &[]);
        let report = server.diagnosis();
        assert_eq!(report["input"]["losses"]["corrupt_segment"]["count"], 1, "{below}: {}", report["input"]);
        assert_eq!(report["input"]["spans"], 1, "{below}");
        let (ready, problems) = server.readiness();
        assert!(ready && is_reported(&problems, "corrupt_segment"), "{below}: {problems:?}");
        assert!(!server.has(1) && server.has(2), "{below}");
        assert!(!files(folder.path(), "segments/quarantine").is_empty(), "{below}");
        server.signal(rustix::process::Signal::TERM);
        let (status, log) = server.ended();
        assert!(status == 0 && log.contains("segment set aside"), "{log}");
        // It is told as long as its time is asked for.
        let again = Running::start(folder.path(), &[]);
        assert_eq!(again.diagnosis()["input"]["losses"]["corrupt_segment"]["count"], 1, "{below}");
        assert!(is_reported(&again.readiness().1, "corrupt_segment"), "{below}");
        again.stop();
    }
}

#[test]
fn damaged_spans_are_found_by_whoever_looks_a_trace_up() {
    let folder = with_two_segments();
    cut(&files(folder.path(), "segments/spans")[0]);
    let server = Running::start(folder.path(), &[]);
    assert!(!server.has(1) && server.has(2));
    assert!(is_reported(&server.readiness().1, "corrupt_segment"));
    server.stop();
}

#[test]
fn a_damaged_manifest_takes_nothing_away() {
    let folder = with_two_segments();
    let manifests = files(folder.path(), "segments/manifest");
    let newest = manifests.iter().rfind(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    flip(newest, 100);
    let server = Running::start(folder.path(), &[]);
    let (ready, problems) = server.readiness();
    assert!(ready && is_reported(&problems, "corrupt_manifest"), "{problems:?}");
    assert!(server.has(1) && server.has(2));
    server.store_number(3);
    server.stop();
    let again = Running::start(folder.path(), &[]);
    assert_eq!(again.readiness(), (true, Vec::new()));
    assert!((1..=3).all(|number| again.has(number)));
    again.stop();
}

#[test]
fn a_torn_and_damaged_log_is_reported_and_the_rest_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &["--set", "store.idle=1m"]);
    assert!((1..=4).all(|number| server.send_number(number).status == 200));
    drop(server);
    let log = files(folder.path(), "log").pop().unwrap();
    let bytes = fs::read(&log).unwrap();
    // Half a record behind the last, as a loss of power leaves it.
    fs::write(&log, [bytes.as_slice(), &bytes[bytes.len() - 30..]].concat()).unwrap();
    let server = Running::start(folder.path(), &["--set", "store.idle=1m"]);
    let (ready, problems) = server.readiness();
    assert!(ready && is_reported(&problems, "torn_log"), "{problems:?}");
    drop(server);
    // A byte of the first record.
    flip(&log, 40);
    let server = Running::start(folder.path(), &[]);
    let (ready, problems) = server.readiness();
    assert!(ready && is_reported(&problems, "corrupt_log"), "{problems:?}");
    assert_eq!(server.post("/api/v1/flush").status, 204);
    assert_eq!([1, 2, 3, 4].map(|number| server.has(number)), [false, true, true, true]);
    server.signal(rustix::process::Signal::TERM);
    let (status, said) = server.ended();
    assert!(status == 0 && said.contains("corrupt_log"), "{said}");
}
