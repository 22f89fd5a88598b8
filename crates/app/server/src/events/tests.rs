//! The file of events after kills, truncation, and damage.

use crate::line_log::{LineLog, LogRecord};
use laggard_model::Timestamp;
use laggard_report::{SystemEvent, SystemEventKind};

type Log = LineLog<SystemEvent>;

fn event(second: i64) -> SystemEvent {
    let time = Timestamp::from_unix_ns(second * 1_000_000_000);
    SystemEvent {
        version: Some(format!("1.{second}")),
        text: "a \"text\"\nof two lines".to_owned(),
        ..SystemEvent::declared(SystemEventKind::Deployment, "cart".to_owned(), time)
    }
}

fn seconds(log: &Log) -> Vec<i64> {
    log.records().iter().map(|event| event.at().unix_ns() / 1_000_000_000).collect()
}

#[test]
fn appended_events_are_read_again_by_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::open(folder.path()).unwrap();
    log.append(&[event(5), event(2)]).unwrap();
    log.append(&[event(3)]).unwrap();
    assert_eq!(seconds(&log), [2, 3, 5]);
    let again = Log::open(folder.path()).unwrap();
    assert_eq!((again.records(), again.damaged()), (log.records(), 0));
    assert_eq!(again.records()[0], event(2));
}

#[test]
fn a_truncated_file_yields_the_events_before_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.log");
    Log::open(folder.path()).unwrap().append(&[event(1), event(2), event(3)]).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let ends: Vec<usize> = (1..=3)
        .map(|events| SystemEvent::HEAD.len() + events * (whole.len() - SystemEvent::HEAD.len()) / 3)
        .collect();
    for length in 0..=whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let mut log = Log::open(folder.path()).unwrap();
        let complete = ends.iter().filter(|end| **end <= length).count();
        assert_eq!(log.records().len(), complete, "{length}");
        let is_torn = length > SystemEvent::HEAD.len() && length != ends[complete.max(1) - 1];
        assert_eq!(log.damaged(), u64::from(is_torn), "{length}");
        log.append(&[event(9)]).unwrap();
        let again = Log::open(folder.path()).unwrap();
        assert_eq!((again.records().len(), again.damaged()), (complete + 1, 0), "{length}");
    }
}

#[test]
fn a_damaged_line_loses_one_event() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.log");
    Log::open(folder.path()).unwrap().append(&[event(1), event(2), event(3)]).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for index in SystemEvent::HEAD.len()..whole.len() {
        let mut bytes = whole.clone();
        bytes[index] ^= 0x11;
        std::fs::write(&path, bytes).unwrap();
        let log = Log::open(folder.path()).unwrap();
        // The end of a line that is damaged joins two of them.
        assert!((1..=2).contains(&log.records().len()) && log.damaged() >= 1, "{index}");
        assert!(folder.path().join("events.log.damaged").exists());
    }
}

#[test]
fn a_file_of_another_version_is_renamed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("events.log"), "laggard-events 2\n???\n").unwrap();
    let mut log = Log::open(folder.path()).unwrap();
    assert_eq!(log.records(), []);
    log.append(&[event(1)]).unwrap();
    assert_eq!(Log::open(folder.path()).unwrap().records().len(), 1);
    assert!(folder.path().join("events.log.unreadable").exists());
}

/// As version 1 wrote it: files of this version stay readable.
#[test]
fn stored_version_1_is_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("events.log"), include_str!("stored_version_1.log")).unwrap();
    let log = Log::open(folder.path()).unwrap();
    assert_eq!((log.records().len(), log.damaged()), (2, 0));
    assert_eq!(log.records()[0].version.as_deref(), Some("1.4.3"));
    assert_eq!((log.records()[1].replicas, log.records()[1].zone.as_deref()), (Some(12), Some("eu-1")));
}

#[test]
fn the_oldest_events_are_deleted_beyond_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::open(folder.path()).unwrap();
    let events: Vec<SystemEvent> = (0..SystemEvent::RECORDS_MAX as i64 + 10).map(event).collect();
    log.append(&events).unwrap();
    log.retain(|_| true).unwrap();
    assert_eq!((log.records().len(), seconds(&log)[0]), (SystemEvent::RECORDS_MAX, 10));
    log.retain(|event| event.at().unix_ns() > 15_000_000_000_000).unwrap();
    let remaining = log.records().len();
    assert_eq!(Log::open(folder.path()).unwrap().records().len(), remaining);
    log.append(&[event(30_000)]).unwrap();
    assert_eq!(Log::open(folder.path()).unwrap().records().len(), remaining + 1);
}

#[test]
fn a_line_that_a_server_just_writes_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.log");
    assert_eq!(Log::read(b"").unwrap().records(), [], "there is none yet");
    Log::open(folder.path()).unwrap().append(&[event(1), event(2), event(3)]).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let line = (whole.len() - SystemEvent::HEAD.len()) / 3;
    for length in 0..=whole.len() {
        let log = Log::read(&whole[..length]).unwrap();
        let ended = length.saturating_sub(SystemEvent::HEAD.len()) / line;
        // The rest of a line may just be written.
        assert_eq!((log.records().len(), log.damaged()), (ended, 0), "{length}");
    }
    let mut damaged = whole.clone();
    damaged[SystemEvent::HEAD.len() + line + 20] ^= 1;
    let mut log = Log::read(&damaged).unwrap();
    assert_eq!((seconds(&log), log.damaged()), (vec![1, 3], 1));
    assert!(log.append(&[event(4)]).is_err(), "it can only be read");
    assert!(Log::read(b"laggard-events 9\n").is_err());
}
