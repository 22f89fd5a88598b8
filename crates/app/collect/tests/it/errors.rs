//! Hosts that do not respond, or not as they should.

use crate::stand_in::{Host, Manner, collected, collector, fine, only, settings};
use laggard_collect::{CollectError, Collector, Folder, Source, parse_source};
use std::time::Duration;

fn failure(round: laggard_collect::Round) -> String {
    let status = only(round);
    let failure = status.failure.unwrap_or_else(|| panic!("the round succeeded"));
    assert!(status.retry_in.is_some());
    failure.to_string()
}

#[test]
fn failures_have_a_reason_and_lose_nothing() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    host.put("/calls.log", "one\n");
    let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log")]);
    fine(collector.round().unwrap());
    host.append("/calls.log", "two\n");
    for (manner, words) in [
        (Manner::Hangs, "timeout"),
        (Manner::Status(302, "Location: http://elsewhere/\r\n"), "redirects to http://elsewhere/"),
        (Manner::Status(404, ""), "404"),
        (Manner::Status(500, ""), "500"),
        (Manner::Packs, "compressed"),
        (Manner::WrongRange, "were requested"),
        (Manner::Breaks(2), ""),
    ] {
        host.behaves(manner.clone());
        let reason = failure(collector.round().unwrap());
        assert!(reason.contains(words), "{manner:?}: {reason}");
        assert_eq!(collected(folder.path(), "h.0.log"), "one\n", "{manner:?}");
    }
    host.behaves(Manner::Ranges);
    fine(collector.round().unwrap());
    assert_eq!(collected(folder.path(), "h.0.log"), "one\ntwo\n");
}

/// Lines received before a connection broke or stalled are collected.
#[test]
fn a_broken_connection_yields_complete_lines() {
    for manner in [Manner::Breaks(10), Manner::Stalls(10)] {
        let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
        host.put("/calls.log", "one\ntwo\nthree\n");
        host.behaves(manner);
        let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log")]);
        failure(collector.round().unwrap());
        assert_eq!(collected(folder.path(), "h.0.log"), "one\ntwo\n");
        host.behaves(Manner::Ranges);
        fine(collector.round().unwrap());
        assert_eq!(collected(folder.path(), "h.0.log"), "one\ntwo\nthree\n");
    }
}

#[test]
fn an_unreachable_host_does_not_delay_others() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let unused_address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let hangs = Host::start();
    hangs.behaves(Manner::Hangs);
    host.put("/calls.log", "one\n");
    let sources = vec![
        hangs.source("hangs", "/"),
        parse_source(&format!("gone=http://{unused_address}/")).unwrap(),
        host.source("h", "/calls.log"),
    ];
    let round = collector(folder.path(), sources).round().unwrap();
    let failed: Vec<(&str, bool)> =
        round.sources.iter().map(|status| (status.name.as_str(), status.failure.is_some())).collect();
    assert_eq!(failed, [("hangs", true), ("gone", true), ("h", false)]);
    assert_eq!(collected(folder.path(), "h.0.log"), "one\n");
}

#[test]
fn failed_sources_are_retried_after_longer_pauses() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let mut settings = settings(folder.path());
    settings.pause = Duration::from_millis(10);
    let into = Folder::open(&folder.path().join("into")).unwrap();
    let sources: Vec<Source> = vec![host.source("h", "/none")];
    let mut collector = Collector::new(settings, sources, into).unwrap();
    let mut pauses = Vec::new();
    while pauses.len() < 4 {
        let round = collector.round().unwrap();
        assert_eq!(round.sources.len() + round.waiting, 1);
        for status in round.sources {
            pauses.push(status.retry_in.unwrap().as_millis());
            assert_eq!(status.failures as usize, pauses.len());
        }
    }
    assert_eq!(pauses, [10, 20, 40, 80]);
    host.behaves(Manner::Status(503, "Retry-After: 7\r\n"));
    loop {
        let Some(status) = collector.round().unwrap().sources.pop() else { continue };
        assert_eq!(status.retry_in, Some(Duration::from_secs(7)));
        break;
    }
}

#[test]
fn names_are_unique() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let into = Folder::open(&folder.path().join("into")).unwrap();
    let twice = vec![host.source("h", "/a"), host.source("h", "/b")];
    let error = Collector::new(settings(folder.path()), twice, into).err().unwrap();
    assert!(matches!(&error, CollectError::Settings(reason) if reason.contains("two files")), "{error}");
}
