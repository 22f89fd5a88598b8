//! Small programs that tests record: compiled C, with markers.

use crate::recorder::{LAGGARD, record, stderr_text};
use laggard_testkit::{Missing, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program of one C file; `None` without a C compiler, with a note.
pub(crate) fn compiled(folder: &Path, name: &str, source: &str) -> Option<PathBuf> {
    let (file, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&file, source).unwrap();
    let compiler = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&program).arg(&file).status();
    if !compiler.is_ok_and(|status| status.success()) {
        skip(Missing::Packages("gcc"), "there is no C compiler");
        return None;
    }
    Some(program)
}

/// Whether Python is installed.
pub(crate) fn is_python_installed() -> bool {
    Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A report of Laggard as JSON.
pub(crate) fn report(arguments: &[&str]) -> Value {
    let output = Command::new(LAGGARD).args(arguments).args(["--output", "json"]).output().unwrap();
    // Too little data is an exit status and an answer that says what is missing.
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {}{answer}", output.status, stderr_text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Records a shell command with markers and options; the report of the executions that markers of this name delimit.
pub(crate) fn marked_path(folder: &Path, options: &[&str], name: &str, script: &str) -> Value {
    let trace = folder.join("trace.dat").to_str().unwrap().to_owned();
    let fixed = ["-o", &trace, "--marker"];
    let output = record(&[&fixed[..], options, &["--", "sh", "-c", script]].concat());
    assert!(output.status.success(), "{}", stderr_text(&output));
    report(&["kernel", "path", &trace, "--executions", &format!("marker:{name}")])
}

/// The system call in which the executions waited longest. Waits for a CPU do not count: they are of the machine's other load.
pub(crate) fn main_call(report: &Value) -> Value {
    let waited = |call: &&Value| -> u64 {
        let waits = call["waits"].as_array().unwrap().iter();
        let waits = waits.filter(|wait| !wait["cause"].as_str().unwrap().starts_with("cpu"));
        waits.map(|wait| wait["total_ns"].as_u64().unwrap()).sum()
    };
    let calls = report["calls"].as_array().unwrap().iter().filter(|call| call["is_user_mode"] == false);
    calls.max_by_key(waited).unwrap().clone()
}
