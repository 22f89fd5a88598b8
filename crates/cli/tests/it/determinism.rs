//! The same input gives the same bytes, whatever the threads and the order of files.

use crate::outcome::laggard;
use crate::workshop::{RANDOM_DEVICE, Recipe, SLOW_HOST, incident};
use std::path::PathBuf;

fn diagnosed(files: &[PathBuf], threads: &str) -> String {
    let mut arguments = vec!["diagnose", "--output", "json", "--threads", threads];
    arguments.extend(files.iter().map(|file| file.to_str().unwrap()));
    laggard(&arguments).text()
}

/// Diagnoses the files of an incident in several ways.
fn check(recipe: Recipe, further: &[&str]) {
    let files = incident(recipe, further).files();
    let once = diagnosed(&files, "1");
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
    check(SLOW_HOST, &["--files", "5"]);
}

#[test]
fn incomplete_and_repeated_spans_over_several_files() {
    check(RANDOM_DEVICE, &["--files", "7", "--drop", "0.002", "--duplicate", "0.01"]);
}

#[test]
fn a_call_log_of_a_hundred_files() {
    check(RANDOM_DEVICE, &["--format", "call-log", "--drop", "0.001", "--duplicate", "0.001"]);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let one = incident(RANDOM_DEVICE, &["--files", "7"]);
    let again = folder.path().join("again");
    let flags = ["simulate", "--scenario", "random-device", "--files", "7", "-o", again.to_str().unwrap()];
    laggard(&[&flags, RANDOM_DEVICE.flags].concat()).text();
    for file in one.files() {
        let name = file.file_name().unwrap();
        let bytes = std::fs::read(again.join("traces").join(name)).unwrap();
        assert!(bytes == std::fs::read(&file).unwrap(), "{name:?}");
    }
}
