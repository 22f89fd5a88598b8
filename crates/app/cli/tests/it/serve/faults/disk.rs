//! Full and read-only disks. They are created with `mount`, which needs root; without it these tests are skipped.

use super::super::Running;
use super::is_reported;
use crate::outcome::laggard;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A mounted file system, unmounted when dropped.
struct Mount {
    at: PathBuf,
}

fn mount(arguments: &[&str]) -> bool {
    let mut mount = Command::new("mount");
    mount.args(arguments).stderr(Stdio::null()).status().is_ok_and(|ended| ended.success())
}

impl Mount {
    /// A file system of this size in memory.
    fn tmpfs(folder: &Path, bytes: u64) -> Option<Mount> {
        let size = format!("size={bytes}");
        let done = mount(&["-t", "tmpfs", "-o", &size, "laggard-test", folder.to_str().unwrap()]);
        done.then(|| Mount { at: folder.to_owned() })
    }

    /// A read-only bind mount of a folder over itself.
    fn read_only(folder: &Path) -> Option<Mount> {
        let path = folder.to_str().unwrap();
        if !mount(&["--bind", path, path]) {
            return None;
        }
        let over = Mount { at: folder.to_owned() };
        mount(&["-o", "remount,bind,ro", path]).then_some(over)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazy, since a running server may still use it.
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
    }
}

fn skipped() {
    laggard_testkit::skip(laggard_testkit::Missing::Machine, "mounting needs root");
}

/// Fills the file system.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    for length in [1 << 16, 1 << 10, 1] {
        let chunk = vec![1; length];
        while file.write_all(&chunk).is_ok() {}
    }
}

/// Sends traces from this number on until one is rejected; returns its number.
fn send_until_rejected(server: &Running, first: u32) -> u32 {
    for number in first..first + 10_000 {
        let response = server.send_number(number);
        if response.status == 503 {
            assert!(response.head.contains("retry-after:"), "{}", response.head);
            return number;
        }
        assert_eq!(response.status, 200, "{}", response.body);
    }
    panic!("a full disk accepts everything");
}

#[test]
fn a_full_disk_is_reported_and_recovers_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_disk) = Mount::tmpfs(folder.path(), 8 << 20) else { return skipped() };
    let (data, filler) = (folder.path().join("data"), folder.path().join("filler"));
    let server = Running::start(&data, &["--set", "store.idle=200ms"]);
    server.store_number(1);
    fill(&filler);
    let rejected = send_until_rejected(&server, 2);
    server.wait_for_readiness(|ready, problems| !ready && is_reported(problems, "disk_full"));
    // Stored data can still be queried.
    assert!(server.has(1));
    assert_eq!(server.diagnosis()["input"]["spans"], 1);
    assert!(server.get("/api/v1/status").body.contains("disk_full"));
    // Space is freed.
    std::fs::remove_file(&filler).unwrap();
    server.wait_for_readiness(|ready, problems| ready && problems.is_empty());
    server.store_number(rejected);
    assert!((1..=rejected).all(|number| server.has(number)));
    server.signal(rustix::process::Signal::TERM);
    let (status, log) = server.wait();
    assert_eq!(status, 0, "{log}");
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("disk_full")).collect();
    assert!(lines.len() == 2 && lines[1].contains("over"), "{log}");
}

#[test]
fn a_server_starts_and_serves_queries_on_a_full_disk() {
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
    // Data in the log cannot be written to segments.
    again.wait_for_readiness(|ready, problems| !ready && is_reported(problems, "segments_unwritable"));
    let rejected = send_until_rejected(&again, 3);
    std::fs::remove_file(&filler).unwrap();
    again.wait_for_readiness(|ready, problems| ready && problems.is_empty());
    assert_eq!(again.post("/api/v1/flush").status, 204);
    assert!((1..rejected).all(|number| again.has(number)));
    again.stop();
}

#[test]
fn a_folder_that_becomes_read_only_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Running::start(&data, &["--set", "store.idle=200ms"]);
    server.store_number(1);
    let Some(read_only) = Mount::read_only(&data) else { return skipped() };
    send_until_rejected(&server, 2);
    server.wait_for_readiness(|ready, problems| !ready && is_reported(problems, "log_unwritable"));
    assert!(server.has(1));
    drop(read_only);
    server.wait_for_readiness(|ready, problems| ready && problems.is_empty());
    server.store_number(2);
    assert!(server.has(2));
    server.stop();
}

#[test]
fn a_server_does_not_start_on_a_read_only_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let Some(_read_only) = Mount::read_only(&data) else { return skipped() };
    let path = data.to_str().unwrap();
    let rejected = laggard(&["serve", "--data", path, "--http", "127.0.0.1:0"]);
    rejected.fails(3, &["data: ", path, "Read-only file system"]);
}
