//! Files that grow, are rotated, and are truncated.

use crate::stand_in::{Host, Manner, collected, collector, fine};

/// Lines that are together longer than the prefix that identifies a file.
fn lines(from: u32, to: u32) -> String {
    (from..to).map(|number| format!("line {number} of a log\n")).collect()
}

#[test]
fn new_lines_are_collected_once() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log")]);
    host.put("/calls.log", lines(0, 40));
    assert_eq!(fine(collector.round().unwrap()).bytes, lines(0, 40).len() as u64);
    host.received();
    assert_eq!(fine(collector.round().unwrap()).bytes, 0);
    assert_eq!(host.received().len(), 1, "nothing is new");
    host.append("/calls.log", &lines(40, 43));
    assert_eq!(fine(collector.round().unwrap()).bytes, lines(40, 43).len() as u64);
    let start = lines(0, 40).len() - 256;
    assert!(host.received()[0].headers["range"].starts_with(&format!("bytes={start}-")));
    assert_eq!(collected(folder.path(), "h.0.log"), lines(0, 43));
}

#[test]
fn incomplete_lines_are_collected_later() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log")]);
    for (added, expected) in
        [("", ""), ("a", ""), ("b\nc", "ab\n"), ("", "ab\n"), ("\n", "ab\nc\n"), ("\n", "ab\nc\n\n")]
    {
        host.append("/calls.log", added);
        fine(collector.round().unwrap());
        let path = folder.path().join("into/h.0.log");
        assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), expected, "{added:?}");
    }
}

#[test]
fn a_new_collector_resumes_where_the_last_one_stopped() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    for step in 0..10 {
        host.append("/calls.log", &lines(step * 7, step * 7 + 7));
        let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log")]);
        assert_eq!(fine(collector.round().unwrap()).bytes, lines(step * 7, step * 7 + 7).len() as u64);
    }
    assert_eq!(collected(folder.path(), "h.0.log"), lines(0, 70));
}

#[test]
fn hosts_without_ranges_are_read_from_the_start() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    host.behaves(Manner::NoRanges);
    let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log")]);
    for step in 0..5 {
        host.append("/calls.log", &lines(step * 9, step * 9 + 9));
        assert_eq!(fine(collector.round().unwrap()).bytes, lines(step * 9, step * 9 + 9).len() as u64);
    }
    assert_eq!(collected(folder.path(), "h.0.log"), lines(0, 45));
    host.put("/calls.log", lines(100, 102));
    assert_eq!(fine(collector.round().unwrap()).rotations, 1);
    assert_eq!(collected(folder.path(), "h.1.log"), lines(100, 102));
}

/// A rotated log may be shorter than the part already read, equally long, or longer.
#[test]
fn rotated_logs_are_recognized_by_their_content() {
    for manner in [Manner::Ranges, Manner::NoRanges] {
        for new in [lines(1000, 1001), lines(40, 60), lines(110, 130), lines(1000, 1080), String::new()] {
            let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
            host.behaves(manner.clone());
            host.without_etags();
            let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log")]);
            host.put("/calls.log", lines(10, 30));
            fine(collector.round().unwrap());
            host.put("/calls.log", &new);
            assert_eq!(fine(collector.round().unwrap()).rotations, 1, "{new}");
            assert_eq!(fine(collector.round().unwrap()).rotations, 0, "{new}");
            assert_eq!(collected(folder.path(), "h.0.log"), lines(10, 30));
            host.append("/calls.log", "more\n");
            assert_eq!(fine(collector.round().unwrap()).rotations, 0, "{new}");
            assert_eq!(collected(folder.path(), "h.1.log"), new + "more\n");
        }
    }
}

#[test]
fn a_changed_url_is_a_new_file() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    host.put("/a.log", "a\n");
    host.put("/b.log", "b\n");
    for path in ["/a.log", "/b.log"] {
        fine(collector(folder.path(), vec![host.source("h", path)]).round().unwrap());
    }
    assert_eq!(collected(folder.path(), "h.0.log") + &collected(folder.path(), "h.1.log"), "a\nb\n");
}

/// Data written after the last saved state, before a kill, is truncated on restart.
#[test]
fn bytes_beyond_the_saved_length_are_truncated() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    host.put("/calls.log", lines(0, 20));
    fine(collector(folder.path(), vec![host.source("h", "/calls.log")]).round().unwrap());
    let path = folder.path().join("into/h.0.log");
    std::fs::write(&path, lines(0, 20) + &lines(20, 22) + "line 2").unwrap();
    host.append("/calls.log", &lines(20, 30));
    fine(collector(folder.path(), vec![host.source("h", "/calls.log")]).round().unwrap());
    assert_eq!(collected(folder.path(), "h.0.log"), lines(0, 30));
}

#[test]
fn a_truncated_local_file_is_reported() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    host.put("/calls.log", "one\ntwo\n");
    let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log")]);
    fine(collector.round().unwrap());
    std::fs::write(folder.path().join("into/h.0.log"), "one\n").unwrap();
    host.append("/calls.log", "three\n");
    let status = crate::stand_in::only(collector.round().unwrap());
    assert!(status.cautions[0].contains("lost 4 bytes"), "{status:?}");
    assert_eq!(collected(folder.path(), "h.0.log"), "one\nthree\n");
}

/// Lines appended to a log after the last round and before its rotation are collected.
#[test]
fn the_end_of_a_rotated_log_is_read_from_its_new_name() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log")]);
    host.put("/calls.log", lines(0, 20));
    fine(collector.round().unwrap());
    host.put("/calls.log.1", lines(0, 60) + "a last line without an end");
    host.put("/calls.log", lines(60, 63));
    let status = fine(collector.round().unwrap());
    assert_eq!((status.rotations, status.remainders_lost), (1, 0));
    assert_eq!(collected(folder.path(), "h.0.log"), lines(0, 60) + "a last line without an end\n");
    assert_eq!(collected(folder.path(), "h.1.log"), lines(60, 63));

    // Rotated twice in between: the current file is not the one that was read.
    host.put("/calls.log.1", lines(70, 90));
    host.put("/calls.log", lines(90, 91));
    let status = fine(collector.round().unwrap());
    assert_eq!((status.rotations, status.remainders_lost), (1, 1));
    assert_eq!(collected(folder.path(), "h.1.log"), lines(60, 63));
    assert_eq!(collected(folder.path(), "h.2.log"), lines(90, 91));
}

/// The new log is not read before the rest of the old one is collected.
#[test]
fn the_end_of_a_rotated_log_may_need_several_rounds() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    host.put("/calls.log", lines(0, 20));
    fine(collector(folder.path(), vec![host.source("h", "/calls.log")]).round().unwrap());
    host.put("/calls.log.1", lines(0, 50));
    host.put("/calls.log", lines(50, 53));
    let mut settings = crate::stand_in::settings(folder.path());
    settings.round_bytes_max = 100;
    let mut rotations = 0;
    for _ in 0..8 {
        let into = laggard_collect::Folder::open(&folder.path().join("into")).unwrap();
        let source = host.source("h", "/calls.log");
        let mut collector = laggard_collect::Collector::new(settings.clone(), vec![source], into).unwrap();
        rotations += fine(collector.round().unwrap()).rotations;
    }
    assert_eq!(rotations, 1);
    assert_eq!(collected(folder.path(), "h.0.log") + &collected(folder.path(), "h.1.log"), lines(0, 53));
}
