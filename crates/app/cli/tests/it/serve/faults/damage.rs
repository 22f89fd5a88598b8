//! Damaged files: the log, segments, the manifest.

use super::super::Running;
use super::is_reported;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Files below a folder of the default tenant's store, sorted by name.
fn files(folder: &Path, below: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.join("tenants/default").join(below)];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { pending.push(path) } else { found.push(path) }
        }
    }
    found.sort_unstable_by_key(|path| path.file_name().map(ToOwned::to_owned));
    found
}

fn flip_bit(path: &Path, offset: usize) {
    let mut bytes = fs::read(path).unwrap();
    let offset = offset % bytes.len();
    bytes[offset] ^= 0x20;
    fs::write(path, bytes).unwrap();
}

fn truncate(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

/// A data folder of a stopped server with two traces, each in its own segment.
fn folder_with_two_segments() -> TempDir {
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

/// Damages a file.
type Damage = fn(&Path);

#[test]
fn a_damaged_segment_is_reported_and_the_rest_stays_queryable() {
    let damages: [(&str, Damage); 3] = [
        ("segments/requests", |path| flip_bit(path, 40)),
        ("segments/calls", truncate),
        ("segments/structures", |path| fs::remove_file(path).unwrap()),
    ];
    for (below, damage) in damages {
        let folder = folder_with_two_segments();
        damage(&files(folder.path(), below)[0]);
        let server = Running::start(folder.path(), &[]);
        let report = server.diagnosis();
        assert_eq!(report["input"]["losses"]["corrupt_segment"]["count"], 1, "{below}: {}", report["input"]);
        assert_eq!(report["input"]["spans"], 1, "{below}");
        let (ready, problems) = server.readiness();
        assert!(ready && is_reported(&problems, "corrupt_segment"), "{below}: {problems:?}");
        assert!(!server.has(1) && server.has(2), "{below}");
        assert!(!files(folder.path(), "segments/quarantine").is_empty(), "{below}");
        server.signal(rustix::process::Signal::TERM);
        let (status, log) = server.wait();
        assert!(status == 0 && log.contains("segment set aside"), "{log}");
        // The loss is reported whenever the window includes the segment.
        let again = Running::start(folder.path(), &[]);
        assert_eq!(again.diagnosis()["input"]["losses"]["corrupt_segment"]["count"], 1, "{below}");
        assert!(is_reported(&again.readiness().1, "corrupt_segment"), "{below}");
        again.stop();
    }
}

#[test]
fn a_trace_lookup_reports_damaged_spans() {
    let folder = folder_with_two_segments();
    truncate(&files(folder.path(), "segments/spans")[0]);
    let server = Running::start(folder.path(), &[]);
    assert!(!server.has(1) && server.has(2));
    assert!(is_reported(&server.readiness().1, "corrupt_segment"));
    server.stop();
}

#[test]
fn a_damaged_manifest_loses_no_data() {
    let folder = folder_with_two_segments();
    let manifests = files(folder.path(), "segments/manifest");
    let newest = manifests.iter().rfind(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    flip_bit(newest, 100);
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
fn a_torn_and_damaged_log_is_reported_and_the_rest_is_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &["--set", "store.idle=1m"]);
    assert!((1..=4).all(|number| server.send_number(number).status == 200));
    drop(server);
    let log = files(folder.path(), "log").pop().unwrap();
    let bytes = fs::read(&log).unwrap();
    // A partial record at the end, as after a power loss.
    fs::write(&log, [bytes.as_slice(), &bytes[bytes.len() - 30..]].concat()).unwrap();
    let server = Running::start(folder.path(), &["--set", "store.idle=1m"]);
    let (ready, problems) = server.readiness();
    assert!(ready && is_reported(&problems, "torn_log"), "{problems:?}");
    drop(server);
    // A damaged byte in the first record.
    flip_bit(&log, 40);
    let server = Running::start(folder.path(), &[]);
    let (ready, problems) = server.readiness();
    assert!(ready && is_reported(&problems, "corrupt_log"), "{problems:?}");
    assert_eq!(server.post("/api/v1/flush").status, 204);
    assert_eq!([1, 2, 3, 4].map(|number| server.has(number)), [false, true, true, true]);
    server.signal(rustix::process::Signal::TERM);
    let (status, log) = server.wait();
    assert!(status == 0 && log.contains("corrupt_log"), "{log}");
}
