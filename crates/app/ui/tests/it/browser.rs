//! The pages in a real browser: `web/e2e` in headless Chromium, against a server of recorded answers.
//!
//! Needs Node, npm and Chromium; without one of them the test is skipped, unless `LAGGARD_PAGES=require`. It takes
//! about four minutes on two cores.

use laggard_testkit::{Missing, browser_lacks, npm_install, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

#[test]
fn pages_work_in_a_browser() {
    match lacking() {
        None => {}
        Some(reason) if env::var("LAGGARD_PAGES").is_ok_and(|choice| choice == "require") => {
            panic!("{reason}")
        }
        Some(reason) => return skip(Missing::Packages("nodejs npm chromium"), &reason),
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let pages = folder.join("pages");
    write_pages(&pages);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../web/e2e");
    npm_install(&tests);
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=spec", "main.test.mjs"]).current_dir(&tests);
    node.env("LAGGARD_BUILT_PAGES", &pages).env("LAGGARD_SHOTS", folder.join("web-shots"));
    let ended = node.stdin(Stdio::null()).status().expect("node was found before");
    assert!(
        ended.success(),
        "{ended}; screenshots of failures are in {}",
        folder.join("web-shots").display()
    );
}

/// Tools that are needed and not installed.
fn lacking() -> Option<String> {
    if !laggard_ui::is_built() {
        return Some("the binary was built without its pages".to_owned());
    }
    browser_lacks()
}

/// The files as embedded in the binary.
fn write_pages(folder: &Path) {
    // Files of an earlier build must not be used.
    let _ = fs::remove_dir_all(folder);
    for asset in laggard_ui::assets() {
        let path = folder.join(asset.path);
        fs::create_dir_all(path.parent().expect("files of the pages lie in a folder")).unwrap();
        fs::write(path, asset.identity).unwrap();
    }
}
