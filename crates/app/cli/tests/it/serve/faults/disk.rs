//! Disks that are full or read-only. They are made with `mount`, so that these tests need root; else they say that they
//! are skipped.

use super::super::Running;
use super::is_reported;
use crate::outcome::laggard;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Something mounted; unmounted when it is let go of.
struct Mount {
    at: PathBuf,
}

fn mount(arguments: &[&str]) -> bool {
    let mut mount = Command::new("mount");
    mount.args(arguments).stderr(Stdio::null()).status().is_ok_and(|ended| ended.success())
}

impl Mount {
    /// A file system of so many bytes in memory.
    fn tmpfs(at: &Path, bytes: u64) -> Option<Mount> {
        let size = format!("size={bytes}");
        let done = mount(&["-t", "tmpfs", "-o", &size, "laggard-test", at.to_str().unwrap()]);
        done.then(|| Mount { at: at.to_owned() })
    }

    /// A folder over itself, to be read only.
    fn read_only(at: &Path) -> Option<Mount> {
        let path = at.to_str().unwrap();
        if !mount(&["--bind", path, path]) {
            return None;
        }
        let over = Mount { at: at.to_owned() };
        mount(&["-o", "remount,bind,ro", path]).then_some(over)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // A server that still runs holds it; then it goes with the server.
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
    }
}

fn skipped() {
    laggard_testkit::skip(laggard_testkit::Missing::Machine, "nothing can be mounted here; it takes root");
}

/// Takes all the room there is.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    for length in [1 << 16, 1 << 10, 1] {
        let piece = vec![1; length];
        while file.write_all(&piece).is_ok() {}
    }
}

/// Sends traces from this number on until one is refused; the number of that one.
fn send_until_refused(server: &Running, first: u32) -> u32 {
    for number in first..first + 10_000 {
        let answered = server.send_number(number);
        if answered.status == 503 {
            assert!(answered.head.contains("retry-after:"), "{}", answered.head);
            return number;
        }
        assert_eq!(answered.status, 200, "{}", answered.body);
    }
    panic!("a full disk takes everything");
}

#[test]
fn a_full_disk_is_reported_and_recovers_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_disk) = Mount::tmpfs(folder.path(), 8 << 20) else { return skipped() };
    let (data, filler) = (folder.path().join("data"), folder.path().join("filler"));
    let server = Running::start(&data, &["--set", "store.idle=200ms"]);
    server.store_number(1);
    fill(&filler);
    let refused = send_until_refused(&server, 2);
    server.becomes(|ready, problems| !ready && is_reported(problems, "disk_full"));
    // What is stored is answered.
    assert!(server.has(1));
    assert_eq!(server.diagnosis()["input"]["spans"], 1);
    assert!(server.get("/api/v1/status").body.contains("disk_full"));
    // Somebody makes room.
    std::fs::remove_file(&filler).unwrap();
    server.becomes(|ready, problems| ready && problems.is_empty());
    server.store_number(refused);
    assert!((1..=refused).all(|number| server.has(number)));
    server.signal(rustix::process::Signal::TERM);
    let (status, log) = server.ended();
    assert_eq!(status, 0, "{log}");
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("disk_full")).collect();
    assert!(lines.len() == 2 && lines[1].contains("over"), "{log}");
}

#[test]
fn a_server_starts_and_answers_on_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_disk) = Mount::tmpfs(folder.path(), 8 << 20) else { return skipped() };
    let (data, filler) = (folder.path().join("data"), folder.path().join("filler"));
    let server = Running::start(&data, &[]);
    server.store_number(1);
    assert_eq!(server.send_number(2).status, 200);
    fill(&filler);
    drop(server);
    let again = Running::start(&data, &["--set", "store.idle=200ms"]);
    assert!(again.has(1) && !again.has(2));
    // What the log has cannot be written into segments.
    again.becomes(|ready, problems| !ready && is_reported(problems, "segments_unwritable"));
    let refused = send_until_refused(&again, 3);
    std::fs::remove_file(&filler).unwrap();
    again.becomes(|ready, problems| ready && problems.is_empty());
    assert_eq!(again.post("/api/v1/flush").status, 204);
    assert!((1..refused).all(|number| again.has(number)));
    again.stop();
}

#[test]
fn a_folder_that_becomes_read_only_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Running::start(&data, &["--set", "store.idle=200ms"]);
    server.store_number(1);
    let Some(read_only) = Mount::read_only(&data) else { return skipped() };
    send_until_refused(&server, 2);
    server.becomes(|ready, problems| !ready && is_reported(problems, "log_unwritable"));
    assert!(server.has(1));
    drop(read_only);
    server.becomes(|ready, problems| ready && problems.is_empty());
    server.store_number(2);
    assert!(server.has(2));
    server.stop();
}

#[test]
fn a_server_does_not_start_on_a_folder_it_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let Some(_read_only) = Mount::read_only(&data) else { return skipped() };
    let path = data.to_str().unwrap();
    let refused = laggard(&["serve", "--data", path, "--http", "127.0.0.1:0"]);
    refused.fails(3, &["data: ", path, "Read-only file system"]);
}
