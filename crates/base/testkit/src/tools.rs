//! Programs beside Rust that some tests need: Node, npm, Chromium, and what npm and pip install.

use crate::{Missing, skip};
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where Chromium may be, beside `CHROMIUM`.
const CHROMIUM: &[&str] = &["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// Whether a program is installed: whether it prints its version.
pub fn is_installed(tool: &str) -> bool {
    let mut command = Command::new(tool);
    let quiet = command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|ended| ended.success())
}

/// Missing requirements of tests in a browser, in words; `None` when all of it is there.
pub fn browser_lacks() -> Option<String> {
    if let Some(tool) = ["node", "npm"].into_iter().find(|tool| !is_installed(tool)) {
        return Some(format!("there is no {tool}"));
    }
    let configured = env::var_os("CHROMIUM").map(PathBuf::from);
    let is_installed =
        configured.into_iter().chain(CHROMIUM.iter().map(PathBuf::from)).any(|path| path.is_file());
    (!is_installed).then(|| "there is no Chromium; install it or set CHROMIUM to its path".to_owned())
}

/// Installs what the `package-lock.json` of a folder names, once for every state of it. Test programs that do so at
/// the same time wait for each other.
///
/// # Panics
/// When npm fails.
pub fn npm_install(folder: &Path) {
    let lock_file = folder.join("package-lock.json");
    let alone = File::open(&lock_file).expect("the folder has a package-lock.json");
    alone.lock().expect("files can be locked");
    let expected = fs::read(&lock_file).expect("it was just opened");
    let mark = folder.join("node_modules/.installed-from");
    let is_there = folder.join("node_modules/.package-lock.json").is_file();
    if is_there && fs::read(&mark).is_ok_and(|installed| installed == expected) {
        return;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder).stdin(Stdio::null());
    let ended = npm.status().expect("npm is there");
    assert!(ended.success(), "npm ci in {}: {ended}", folder.display());
    fs::write(mark, expected).expect("npm made the folder");
}

/// The interpreter of a virtual environment in a folder with the packages of a requirements file, which names all of them; installed
/// once for every content of that file. `None`, and the test is skipped, where Python has no virtual environments.
///
/// # Panics
/// When the packages cannot be installed.
pub fn python_with(folder: &Path, requirements: &Path) -> Option<PathBuf> {
    let mut check = Command::new("python3");
    check.args(["-c", "import venv, ensurepip"]).stdin(Stdio::null());
    if !check.output().is_ok_and(|output| output.status.success()) {
        skip(Missing::Packages("python3 python3-venv"), "python3 has no virtual environments here");
        return None;
    }
    let python = folder.join("bin/python");
    let mark = folder.join(".installed-from");
    let expected = fs::read(requirements).expect("the requirements are in the repository");
    if fs::read(&mark).is_ok_and(|installed| installed == expected) {
        return Some(python);
    }
    let run = |command: &mut Command| {
        let output = command.stdin(Stdio::null()).output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?} (can the registry of packages be reached?): {text}");
    };
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder));
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"];
    run(Command::new(&python).args(pip).arg(requirements));
    fs::write(mark, expected).expect("the folder was just made");
    Some(python)
}
