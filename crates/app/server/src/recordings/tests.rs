//! Requests and recordings across restarts, kills, and repeated uploads.

use super::*;
use crate::settings::Size;
use std::fs;

fn time(second: i64) -> Timestamp {
    Timestamp::from_unix_ns((1_768_208_400 + second) * 1_000_000_000)
}

fn settings() -> RecordingSettings {
    RecordingSettings { hosts: vec!["web-*".to_owned()], ..RecordingSettings::default() }
}

fn open(folder: &Path) -> TenantRecordings {
    TenantRecordings::open(folder, &settings()).unwrap()
}

fn poll(recordings: &TenantRecordings, host: &str, now: i64, missed: &[(&str, &str)]) -> PollReply {
    let status = AgentStatus {
        host: host.to_owned(),
        polled_ns: time(now).unix_ns(),
        recording: true,
        note: String::new(),
    };
    let missed = missed.iter().map(|&(id, why)| (id.to_owned(), why.to_owned())).collect();
    recordings.poll(status, missed)
}

fn request(recordings: &TenantRecordings, host: &str, incident: &str, now: i64) -> RecordingRequest {
    poll(recordings, host, now, &[]);
    let window = Window { since: time(now - 10), until: time(now) };
    let reason = RecordingReason { incident: Some(incident.to_owned()), text: "slow".to_owned() };
    recordings.request(&[host.to_owned()], window, &reason, time(now)).unwrap().remove(0)
}

/// A complete upload.
fn uploaded(folder: &Path, content: &str) -> PathBuf {
    let path = folder.join("uploaded");
    fs::write(&path, content).unwrap();
    path
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("recordings")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn hosts_without_a_rule_do_not_record() {
    let folder = tempfile::tempdir().unwrap();
    let recordings = open(folder.path());
    assert_eq!(poll(&recordings, "web-1", 0, &[]).record, Some((32 << 20, 0.03)));
    assert_eq!(poll(&recordings, "db-1", 0, &[]), PollReply { record: None, requests: Vec::new() });
    let none = TenantRecordings::open(folder.path(), &RecordingSettings::default()).unwrap();
    assert_eq!(poll(&none, "web-1", 0, &[]).record, None);
    assert!(!folder.path().join("recordings").exists(), "nothing is written without a request");
}

#[test]
fn a_pending_request_survives_a_restart_and_its_recording_is_stored_once() {
    let folder = tempfile::tempdir().unwrap();
    let made = request(&open(folder.path()), "web-1", "a", 100);
    let recordings = open(folder.path());
    assert_eq!(poll(&recordings, "web-1", 103, &[]).requests, std::slice::from_ref(&made));
    assert_eq!(poll(&recordings, "web-2", 103, &[]).requests, []);
    assert_eq!(request(&recordings, "web-1", "a", 104), made, "for one incident once, also after a restart");

    let upload =
        |content: &str, id: &str| recordings.store(id, &uploaded(folder.path(), content), time(110)).unwrap();
    assert_eq!(upload("x", "0123456789abcdef0123456789abcdef"), UploadResult::Unknown);
    assert_eq!(upload("x", "../index"), UploadResult::Unknown);
    assert_eq!(upload("first", &made.id), UploadResult::Stored);
    assert_eq!(upload("second", &made.id), UploadResult::Known);
    assert_eq!(poll(&recordings, "web-1", 111, &[]).requests, []);
    let recordings = open(folder.path());
    let (path, stored) = recordings.stored(&made.id).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "first");
    assert_eq!(stored.bytes(), 5);
    assert_eq!(
        recordings.store(&made.id, &uploaded(folder.path(), "x"), time(112)).unwrap(),
        UploadResult::Known
    );
    assert_eq!(files(folder.path()), [format!("{}.dat", made.id), "index.json".to_owned()]);
}

#[test]
fn a_kill_between_writing_recording_and_index_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let made = request(&open(folder.path()), "web-1", "a", 100);
    // As after a kill: the file exists, the index does not list it, and another file was never requested.
    let recordings = folder.path().join("recordings");
    fs::write(recordings.join(format!("{}.dat", made.id)), "whole").unwrap();
    fs::write(recordings.join("ffffffffffffffffffffffffffffffff.dat"), "foreign").unwrap();
    let again = open(folder.path());
    assert_eq!(again.stored(&made.id).unwrap().1.bytes(), 5);
    assert_eq!(poll(&again, "web-1", 120, &[]).requests, []);
    assert_eq!(files(folder.path()), [format!("{}.dat", made.id), "index.json".to_owned()]);
    // The opposite case.
    fs::remove_file(recordings.join(format!("{}.dat", made.id))).unwrap();
    let again = open(folder.path());
    assert!(again.stored(&made.id).is_none());
    assert!(matches!(again.list(None, Window::ALL)[0].state, RecordingState::Missed { .. }));
}

#[test]
fn an_index_that_cannot_be_read_is_renamed_with_its_recordings() {
    let folder = tempfile::tempdir().unwrap();
    for content in ["", "{", "[]", "{\"version\":2,\"requests\":[]}"] {
        let recordings = folder.path().join("recordings");
        fs::create_dir_all(&recordings).unwrap();
        fs::write(recordings.join("index.json"), content).unwrap();
        fs::write(recordings.join("a.dat"), "x").unwrap();
        assert_eq!(open(folder.path()).list(None, Window::ALL), [], "{content}");
        assert!(folder.path().join("recordings.unreadable/a.dat").exists() && !recordings.exists());
    }
}

#[test]
fn only_the_agent_of_a_host_ends_its_requests() {
    let folder = tempfile::tempdir().unwrap();
    let recordings = open(folder.path());
    let made = request(&recordings, "web-1", "a", 100);
    poll(&recordings, "web-2", 101, &[(&made.id, "no")]);
    assert_eq!(poll(&recordings, "web-1", 102, &[]).requests.len(), 1);
    poll(&recordings, "web-1", 103, &[(&made.id, "too late")]);
    assert_eq!(poll(&recordings, "web-1", 104, &[]).requests, []);
    let late = recordings.store(&made.id, &uploaded(folder.path(), "x"), time(105)).unwrap();
    assert_eq!(late, UploadResult::Ended);
    let state = recordings.list(None, Window::ALL).remove(0).state;
    assert_eq!(state, RecordingState::Missed { why: "too late".to_owned() });
}

#[test]
fn recordings_are_listed_by_host_and_time_and_the_oldest_make_space() {
    let folder = tempfile::tempdir().unwrap();
    let settings = RecordingSettings { keep_bytes: Size(10), ..settings() };
    let recordings = TenantRecordings::open(folder.path(), &settings).unwrap();
    let mut ids = Vec::new();
    for (number, host) in ["web-1", "web-2", "web-1"].into_iter().enumerate() {
        let now = 100 + 100 * number as i64;
        let made = request(&recordings, host, &number.to_string(), now);
        recordings.store(&made.id, &uploaded(folder.path(), "12345"), time(now)).unwrap();
        ids.push(made.id);
    }
    let list = |host, since, until| {
        let window = Window { since: time(since), until: time(until) };
        let listed = recordings.list(host, window).into_iter();
        listed.map(|request| ids.iter().position(|id| *id == request.id).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(list(None, 0, 1_000), [2, 1, 0], "the latest first");
    assert_eq!(list(Some("web-1"), 0, 1_000), [2, 0]);
    assert_eq!(list(None, 101, 299), [2, 1], "intervals that overlap the window");
    assert!(list(None, 301, 1_000).is_empty());
    let stored: Vec<bool> = ids.iter().map(|id| recordings.stored(id).is_some()).collect();
    assert_eq!(stored, [false, true, true]);
    assert_eq!(files(folder.path()).iter().filter(|name| name.ends_with(".dat")).count(), 2);
}
