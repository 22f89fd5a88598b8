//! Compressed files, and files that are read completely because the settings say so.

use crate::stand_in::{Host, collector, fine, only, settings};
use laggard_collect::{Collector, Folder};

/// Starts with the magic number of gzip; it is never decompressed.
fn packed(content: u8) -> Vec<u8> {
    [&[0x1f, 0x8b, 8][..], &[content; 500], b"\nmore"].concat()
}

#[test]
fn compressed_files_are_read_completely_when_they_change() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let into = |name: &str| std::fs::read(folder.path().join("into").join(name)).unwrap();
    host.put("/calls.log.1.gz", packed(1));
    for (round, without_etags) in [false, true].into_iter().enumerate() {
        if without_etags {
            host.without_etags();
        }
        let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log.1.gz")]);
        let expected = if round == 0 { packed(1).len() as u64 } else { 0 };
        assert_eq!(fine(collector.round().unwrap()).bytes, expected);
        assert_eq!(fine(collector.round().unwrap()).bytes, 0);
    }
    assert_eq!(into("h.0.gz"), packed(1));
    host.put("/calls.log.1.gz", packed(2));
    let mut collector = collector(folder.path(), vec![host.source("h", "/calls.log.1.gz")]);
    let status = fine(collector.round().unwrap());
    assert_eq!((status.bytes, status.rotations), (packed(2).len() as u64, 1));
    assert_eq!(into("h.0.gz"), packed(1), "what was taken stays");
    assert_eq!(into("h.1.gz"), packed(2));
}

#[test]
fn whole_files_have_a_limit() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let mut whole = settings(folder.path());
    whole.whole = true;
    let into = Folder::open(&folder.path().join("into")).unwrap();
    let mut collector = Collector::new(whole, vec![host.source("h", "/traces.json")], into).unwrap();
    host.put("/traces.json", "[]");
    assert_eq!(fine(collector.round().unwrap()).bytes, 2);
    host.put("/traces.json", vec![b'x'; 4097]);
    let reason = only(collector.round().unwrap()).failure.unwrap().to_string();
    assert!(reason.contains("at most 4096 bytes"), "{reason}");
    assert_eq!(std::fs::read(folder.path().join("into/h.0.json")).unwrap(), b"[]");
}
