//! `laggard store` on folders of real servers.

use super::{Running, TRACE, TRACE_PATH};
use crate::outcome::{Outcome, laggard};
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn store(words: &[&str]) -> Outcome {
    laggard(&[&["store"], words].concat())
}

pub(super) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder with a stored trace in a segment, and another one in the log of a killed server.
fn with_two_traces(folder: &Path) {
    let server = Running::start(folder, &[]);
    assert_eq!(server.send_trace(TRACE, &[]).status, 200);
    assert_eq!(server.post("/api/v1/flush").status, 204);
    assert_eq!(server.send_trace(&TRACE.replace("0af", "1af"), &[]).status, 200);
}

pub(super) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.join("tenants/default/segments")]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if text(&path).ends_with(ending) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// The file of the newest segment: those that compaction replaced may still be there.
fn file_of_spans(folder: &Path) -> PathBuf {
    let all = files(folder, ".parquet");
    all.into_iter().rev().find(|file| text(file).contains("/spans/")).expect("there is a segment")
}

pub(super) fn damage(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(file, bytes).unwrap();
}

fn finds_the_trace(folder: &Path) -> bool {
    let server = Running::start(folder, &[]);
    assert_eq!(server.post("/api/v1/flush").status, 204);
    let status = server.get(TRACE_PATH).status;
    assert_eq!(server.get(&TRACE_PATH.replace("0af", "1af")).status, 200, "it was in the log");
    status == 200
}

#[test]
fn an_intact_store_passes_its_check_and_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    with_two_traces(folder.path());
    let check = store(&["check", text(folder.path())]);
    assert_eq!(check.status, 0, "{}{}", check.stdout, check.stderr);
    assert!(
        check.stdout.starts_with("default: 1 segment with 1 span, 0 samples, and 0 events in "),
        "{}",
        check.stdout
    );
    assert!(check.stdout.ends_with("; 1 span in the log\n"), "{}", check.stdout);
    assert!(finds_the_trace(folder.path()));
    let empty = tempfile::tempdir().unwrap();
    let refused = store(&["check", text(empty.path())]);
    assert!(refused.status == 3 && refused.stderr.contains("no data folder"), "{}", refused.stderr);
}

#[test]
fn damaged_segments_are_found_and_set_aside() {
    for is_missing in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        with_two_traces(folder.path());
        let file = file_of_spans(folder.path());
        if is_missing {
            fs::remove_file(file).unwrap()
        } else {
            damage(&file)
        }
        let check = store(&["check", text(folder.path())]);
        assert_eq!(check.status, 1, "{}", check.stdout);
        assert!(check.stdout.contains("Lost: 1 span\n"), "{}", check.stdout);
        let repair = store(&["repair", text(folder.path())]);
        assert!(repair.status == 0 && repair.stdout.contains("under quarantine/"), "{}", repair.stdout);
        let check = store(&["check", text(folder.path())]);
        assert_eq!(check.status, 0, "{}", check.stdout);
        assert!(check.stdout.contains("1 segment set aside earlier"), "{}", check.stdout);
        assert!(!finds_the_trace(folder.path()));
    }
}

#[test]
fn spans_of_segments_with_damaged_derived_files_are_retained() {
    for by_a_server in [false, true] {
        for kind in ["requests", "calls", "structures"] {
            let folder = tempfile::tempdir().unwrap();
            with_two_traces(folder.path());
            let all = files(folder.path(), ".parquet");
            damage(all.iter().find(|file| text(file).contains(&format!("/{kind}/"))).unwrap());
            let check = store(&["check", text(folder.path())]);
            assert!(check.status == 1 && check.stdout.contains("its spans are intact"), "{}", check.stdout);
            if by_a_server {
                let server = Running::start(folder.path(), &[]);
                // A question reads the requests, and sets the segment aside.
                server.get("/api/v1/categories?since=2026-01-12T08:00:00Z&until=2026-01-12T10:00:00Z");
                assert_eq!(server.get(TRACE_PATH).status, 404, "{kind}");
                server.stop();
            }
            let repair = store(&["repair", text(folder.path())]);
            let words = if by_a_server { "Read again: 1 span." } else { "Kept: 1 span;" };
            assert!(
                repair.status == 0 && repair.stdout.contains(words),
                "{}{}",
                repair.stdout,
                repair.stderr
            );
            assert_eq!(store(&["check", text(folder.path())]).status, 0);
            assert!(finds_the_trace(folder.path()), "{kind}");
            let server = Running::start(folder.path(), &[]);
            let path = "/api/v1/categories?since=2026-01-12T08:00:00Z&until=2026-01-12T10:00:00Z";
            let listed = server.get(path).body;
            assert!(listed.contains(r#""requests":2"#), "requests are assembled again: {listed}");
        }
    }
}

#[test]
fn the_readable_part_of_a_damaged_log_is_retained_and_the_rest_counted() {
    for is_repaired in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let traces: Vec<String> = (1..6).map(|number| format!("{number:032x}")).collect();
        let server = Running::start(folder.path(), &["--set", "store.idle=60s"]);
        traces.iter().for_each(|trace| assert_eq!(server.send_trace(trace, &[]).status, 200));
        drop(server);
        let log = folder.path().join("tenants/default/log");
        let file = fs::read_dir(&log).unwrap().next().unwrap().unwrap().path();
        damage(&file);
        let check = store(&["check", text(folder.path())]);
        assert!(check.status == 1 && check.stdout.contains("Lost: 1 batch\n"), "{}", check.stdout);
        if is_repaired {
            let repair = store(&["repair", text(folder.path())]);
            assert!(repair.stdout.contains("Kept: 4 batches."), "{}{}", repair.stdout, repair.stderr);
            assert!(repair.stdout.contains("counted: 1 batch, "), "{}", repair.stdout);
            assert_eq!(store(&["check", text(folder.path())]).status, 0);
            assert_eq!(store(&["repair", text(folder.path())]).stdout, "default: Nothing was damaged.\n");
        }
        let server = Running::start(folder.path(), &[]);
        assert_eq!(server.post("/api/v1/flush").status, 204);
        let found =
            traces.iter().filter(|trace| server.get(&format!("/api/v1/traces/{trace}")).status == 200);
        assert_eq!(found.count(), 4, "all but the damaged one");
        let all = r#"{"since":"2026-01-12T08:00:00Z","until":"2026-01-12T10:00:00Z"}"#;
        let json = "Content-Type: application/json";
        let report = server.request("http", "POST", "/api/v1/diagnose?wait=true", &[json], all).body;
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let losses = &report["input"]["losses"];
        assert_eq!(losses["corrupt_log"]["count"], 1, "{is_repaired}: {losses}");
    }
}

#[test]
fn a_store_can_be_checked_while_its_server_writes() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--set", "store.upkeep=20ms", "--set", "store.slice=2s", "--set", "store.idle=100ms"];
    let server = Running::start(folder.path(), &settings);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1_u128.. {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                assert_eq!(server.send_trace(&format!("{number:032x}"), &[]).status, 200);
                assert_eq!(server.post("/api/v1/flush").status, 204);
            }
        });
        let checks: Vec<Outcome> = (0..10).map(|_| store(&["check", text(folder.path())])).collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for check in &checks {
            assert_eq!(check.status, 0, "{}{}", check.stdout, check.stderr);
        }
        let noted = |check: &Outcome| check.stdout.contains("A server has it open: what it has stored since");
        assert!(checks.iter().all(noted), "what is not checked is stated");
    });
    server.stop();
    damage(&file_of_spans(folder.path()));
    let check = store(&["check", text(folder.path())]);
    assert!(check.status == 1 && check.stdout.contains("Lost: "), "{}", check.stdout);
    assert!(!check.stdout.contains("A server"), "{}", check.stdout);
}

#[test]
fn a_manifest_that_cannot_be_read_is_written_anew_from_the_segments() {
    let folder = tempfile::tempdir().unwrap();
    with_two_traces(folder.path());
    for file in files(folder.path(), ".json").iter().chain(&files(folder.path(), ".copy")) {
        damage(file);
    }
    let check = store(&["check", text(folder.path())]);
    assert!(check.status == 1 && check.stdout.contains("manifest"), "{}", check.stdout);
    let repair = store(&["repair", text(folder.path())]);
    assert!(repair.stdout.contains("written anew from the files of 1 segment."), "{}", repair.stdout);
    assert_eq!(store(&["check", text(folder.path())]).status, 0);
    assert!(finds_the_trace(folder.path()));
}

fn spans_of_the_trace(server: &Running) -> usize {
    server.get(TRACE_PATH).body.matches("00f067aa0ba902b").count()
}

#[test]
fn a_rebuilt_manifest_keeps_spans_of_a_trace_that_are_in_several_segments() {
    for damaged in ["all", "newest", "missing"] {
        let folder = tempfile::tempdir().unwrap();
        with_two_traces(folder.path());
        let server = Running::start(folder.path(), &[]);
        let late = super::message(TRACE).replace("00f067aa0ba902b7", "00f067aa0ba902b8");
        let json = "Content-Type: application/json";
        assert_eq!(server.request("otlp_http", "POST", "/v1/traces", &[json], &late).status, 200);
        assert_eq!(server.post("/api/v1/flush").status, 204);
        let spans = spans_of_the_trace(&server);
        server.stop();
        assert!(spans > 1, "the late span is in another segment");
        let manifests = folder.path().join("tenants/default/segments/manifest");
        if damaged == "missing" {
            fs::remove_dir_all(manifests).unwrap();
        } else {
            for ending in [".json", ".copy"] {
                let found = files(folder.path(), ending);
                assert!(found.len() > 1, "there is an earlier manifest");
                let first = if damaged == "newest" { found.len() - 1 } else { 0 };
                found[first..].iter().for_each(|file| damage(file));
            }
        }
        assert_eq!(store(&["check", text(folder.path())]).status, 1);
        assert_eq!(store(&["repair", text(folder.path())]).status, 0);
        assert_eq!(store(&["check", text(folder.path())]).status, 0);
        let server = Running::start(folder.path(), &[]);
        assert_eq!(spans_of_the_trace(&server), spans);
        server.stop();
    }
}

#[test]
fn a_damaged_copy_of_the_manifest_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    with_two_traces(folder.path());
    damage(files(folder.path(), ".copy").last().unwrap());
    let check = store(&["check", text(folder.path())]);
    assert!(check.status == 1 && check.stdout.contains("a copy of the manifest"), "{}", check.stdout);
    let repair = store(&["repair", text(folder.path())]);
    assert!(repair.stdout.contains("written anew"), "{}", repair.stdout);
    assert_eq!(store(&["check", text(folder.path())]).status, 0);
    assert!(finds_the_trace(folder.path()));
}

#[test]
fn a_backup_of_a_running_server_is_a_whole_store() {
    let (folder, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let copy = backups.path().join("first");
    let server = Running::start(folder.path(), &[]);
    assert_eq!(server.send_trace(TRACE, &[]).status, 200);
    assert_eq!(server.post("/api/v1/flush").status, 204);
    assert_eq!(server.send_trace(&TRACE.replace("0af", "1af"), &[]).status, 200);
    let backup = store(&["backup", text(folder.path()), text(&copy)]);
    assert_eq!(backup.status, 0, "{}", backup.stderr);
    let again = store(&["backup", text(folder.path()), text(&copy)]);
    assert!(again.status == 3 && again.stderr.contains("is not empty"), "{}", again.stderr);
    let locked = store(&["repair", text(folder.path())]);
    assert!(locked.status == 3 && locked.stderr.contains("another server uses"), "{}", locked.stderr);
    server.stop();
    fs::remove_dir_all(folder.path()).unwrap();
    assert_eq!(store(&["check", text(&copy)]).status, 0);
    assert!(finds_the_trace(&copy));
}
