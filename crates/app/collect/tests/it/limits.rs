//! Limits of lines, rounds, and files.

use crate::stand_in::{Host, Manner, collected, collector, fine, only, settings};
use laggard_collect::{Collector, Folder};

#[test]
fn a_line_that_is_too_long_is_skipped_and_reported() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let long = "x".repeat(300);
    host.put("/calls.log", format!("one\n{long}\ntwo\n{long}"));
    let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log")]);
    let status = fine(collector.round().unwrap());
    assert_eq!(collected(folder.path(), "h.0.log"), "one\ntwo\n");
    host.append("/calls.log", "x\nthree\n");
    let rest = fine(collector.round().unwrap());
    assert_eq!(collected(folder.path(), "h.0.log"), "one\ntwo\nthree\n");
    assert_eq!(status.skipped + rest.skipped, 301 + 302);
}

#[test]
fn a_round_has_a_limit_and_the_next_one_continues() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let text: String = (0..100).map(|number| format!("line {number:05}\n")).collect();
    host.put("/calls.log", &text);
    let mut limited = settings(folder.path());
    limited.round_bytes_max = 100;
    let into = Folder::open(&folder.path().join("into")).unwrap();
    let mut collector = Collector::new(limited, vec![host.source("h", "/calls.log")], into).unwrap();
    let mut rounds = 0;
    while collected_so_far(folder.path()) < text.len() {
        let bytes = fine(collector.round().unwrap()).bytes;
        assert!(bytes > 0 && bytes < 100 + 64, "{bytes}");
        rounds += 1;
    }
    assert_eq!(rounds, 10);
    assert_eq!(collected(folder.path(), "h.0.log"), text);
}

fn collected_so_far(folder: &std::path::Path) -> usize {
    std::fs::read(folder.join("into/h.0.log")).map_or(0, |bytes| bytes.len())
}

#[test]
fn files_without_ranges_have_a_limit() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    host.put("/calls.log", "a line\n".repeat(1000));
    let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log")]);
    fine(collector.round().unwrap());
    host.behaves(Manner::NoRanges);
    host.append("/calls.log", "one\n");
    let reason = only(collector.round().unwrap()).failure.unwrap().to_string();
    assert!(reason.contains("ignores ranges"), "{reason}");
}
