//! Runs `web/e2e/real.mjs`: the served pages in headless Chromium, with an incident imported through them.
//!
//! Needs Node, npm and Chromium; without one of them the test is skipped, unless `LAGGARD_PAGES=require`.

use super::Running;
use laggard_testkit::{Missing, browser_lacks, npm_install, skip};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn served_pages_work_in_a_browser() {
    let without_pages = || is_without_pages().then(|| "the binary was built without its pages".to_owned());
    if let Some(reason) = browser_lacks().or_else(without_pages) {
        assert!(env::var("LAGGARD_PAGES").as_deref() != Ok("require"), "{reason}");
        return skip(Missing::Packages("nodejs npm chromium"), &reason);
    }
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../web/e2e");
    npm_install(&tests);
    let shots = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("web-shots");
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=spec", "main.test.mjs"]).current_dir(&tests).stdin(Stdio::null());
    node.env("LAGGARD_E2E", "real").env("LAGGARD_BINARY", env!("CARGO_BIN_EXE_laggard"));
    let output = node.env("LAGGARD_SHOTS", &shots).output().expect("node was found before");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}; screenshots of failures are in {}:\n{stdout}",
        output.status,
        shots.display()
    );
    assert!(!stdout.contains("skipped 1"), "{stdout}");
}

/// Whether the server was built without pages.
fn is_without_pages() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    server.get("/").body.contains("without its pages")
}
