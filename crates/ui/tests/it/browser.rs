//! The pages in a real browser: `web/e2e` in headless Chromium, against a server of recorded answers.
//!
//! Needs Node, npm and Chromium; without one of them it says so and passes, unless `LAGGARD_PAGES=require`. It takes
//! about a minute and a half.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// Where Chromium may be, beside `CHROMIUM`.
const CHROMIUM: &[&str] = &["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

#[test]
fn pages_work_in_a_browser() {
    match lacking() {
        None => {}
        Some(reason) if env::var("LAGGARD_PAGES").is_ok_and(|choice| choice == "require") => {
            panic!("{reason}")
        }
        Some(reason) => return println!("skipped: {reason}"),
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let pages = folder.join("pages");
    write_pages(&pages);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/e2e");
    install(&tests);
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=spec", "main.test.mjs"]).current_dir(&tests);
    node.env("LAGGARD_BUILT_PAGES", &pages).env("LAGGARD_SHOTS", folder.join("web-shots"));
    let ended = node.stdin(Stdio::null()).status().expect("node was found before");
    assert!(ended.success(), "{ended}; screenshots are in {}", folder.join("web-shots").display());
}

/// What is needed and not there.
fn lacking() -> Option<String> {
    if !laggard_ui::is_built() {
        return Some("the binary was built without its pages".to_owned());
    }
    let tool = ["node", "npm"].into_iter().find(|tool| !answers(tool));
    if let Some(tool) = tool {
        return Some(format!("there is no {tool}"));
    }
    let told = env::var_os("CHROMIUM").map(PathBuf::from);
    let found = told.into_iter().chain(CHROMIUM.iter().map(PathBuf::from)).any(|place| place.is_file());
    (!found).then(|| "there is no Chromium; install it or set CHROMIUM to its path".to_owned())
}

pub(crate) fn answers(tool: &str) -> bool {
    let mut command = Command::new(tool);
    let quiet = command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|ended| ended.success())
}

/// The files as the binary holds them.
fn write_pages(folder: &Path) {
    // What an earlier build left must not be found by tests of this one.
    let _ = fs::remove_dir_all(folder);
    for asset in laggard_ui::assets() {
        let path = folder.join(asset.path);
        fs::create_dir_all(path.parent().expect("files of the pages lie in a folder")).unwrap();
        fs::write(path, asset.identity).unwrap();
    }
}

/// Installs what the tests use, once for every state of their lock file.
pub(crate) fn install(tests: &Path) {
    let wanted = fs::read(tests.join("package-lock.json")).unwrap();
    let mark = tests.join("node_modules/.installed-from");
    let is_there = tests.join("node_modules/.package-lock.json").is_file();
    if is_there && fs::read(&mark).is_ok_and(|installed| installed == wanted) {
        return;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(tests).stdin(Stdio::null());
    let ended = npm.status().expect("npm was found before");
    assert!(ended.success(), "npm ci in {}: {ended}", tests.display());
    fs::write(mark, wanted).unwrap();
}
