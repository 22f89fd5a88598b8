//! The same input gives the same bytes for any number of threads and any order of files.

use crate::outcome::laggard;
use crate::workshop::{FEW, incident};
use std::path::PathBuf;

fn diagnosed(files: &[PathBuf], threads: &str) -> String {
    let mut arguments = vec!["diagnose", "--output", "json", "--threads", threads];
    arguments.extend(files.iter().map(|file| file.to_str().unwrap()));
    laggard(&arguments).text()
}

/// Diagnoses the files of an incident in several ways.
fn check(further: &[&str]) {
    let files = incident(FEW, further).files();
    let once = diagnosed(&files, "1");
    assert!(once.contains(r#""rank": 1"#), "{further:?}: there is something to order");
    assert_eq!(diagnosed(&files, "1"), once, "{further:?}: again");
    assert_eq!(diagnosed(&files, "2"), once, "{further:?}: two threads");
    assert_eq!(diagnosed(&files, "5"), once, "{further:?}: five threads");
    let reversed: Vec<PathBuf> = files.iter().rev().cloned().collect();
    assert_eq!(diagnosed(&reversed, "2"), once, "{further:?}: files in reverse");
    let halves = files.split_at(files.len() / 2);
    assert_eq!(diagnosed(&[halves.1, halves.0].concat(), "1"), once, "{further:?}: second half first");
}

#[test]
fn spans_over_several_files() {
    check(&["--files", "5"]);
}

#[test]
fn incomplete_and_repeated_spans_over_several_files() {
    check(&["--files", "7", "--drop", "0.002", "--duplicate", "0.01"]);
}

#[test]
fn a_call_log_of_a_hundred_files() {
    check(&["--format", "call-log", "--drop", "0.001", "--duplicate", "0.001"]);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let one = incident(FEW, &["--files", "7"]);
    let again = folder.path().join("again");
    let flags = ["simulate", "--scenario", "random-device", "--files", "7", "-o", again.to_str().unwrap()];
    laggard(&[&flags, FEW.flags].concat()).text();
    for file in one.files() {
        let name = file.file_name().unwrap();
        let bytes = std::fs::read(again.join("traces").join(name)).unwrap();
        assert!(bytes == std::fs::read(&file).unwrap(), "{name:?}");
    }
}
