//! Runs the program and checks the outcome.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Exit status and output of a run.
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// Standard output; panics unless the run succeeded.
    #[track_caller]
    pub(crate) fn text(self) -> String {
        assert_eq!(self.status, 0, "{}", self.stderr);
        assert_eq!(self.stderr, "", "a successful run prints no error");
        self.stdout
    }

    /// Standard output as JSON; panics unless the run succeeded.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// Checks that the run failed with this status, that standard error contains these words, and that standard output is empty.
    #[track_caller]
    pub(crate) fn fails(&self, status: i32, words: &[&str]) {
        assert_eq!(self.status, status, "{}\n{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "", "errors belong on standard error");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in: {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }
}

/// The program with arguments and no standard input.
pub(crate) fn command<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_laggard"));
    command.args(arguments).stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// Runs the program.
pub(crate) fn laggard<S: AsRef<OsStr>>(arguments: &[S]) -> Outcome {
    finish(&mut command(arguments))
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Outcome {
    let output = command.output().unwrap();
    Outcome {
        status: output.status.code().expect("no signal ended the program"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the program with these bytes on standard input.
pub(crate) fn laggard_with_stdin(arguments: &[&str], input: &[u8]) -> Outcome {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // The program may close the pipe early.
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    Outcome {
        status: output.status.code().expect("no signal ends the program"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// `laggard diagnose PATH --output json` with further arguments.
pub(crate) fn diagnose(path: &Path, further: &[&str]) -> Outcome {
    let mut arguments = vec!["diagnose", path.to_str().unwrap(), "--output", "json"];
    arguments.extend(further);
    laggard(&arguments)
}

/// A count in `input`.
#[track_caller]
pub(crate) fn input_count(report: &Value, name: &str) -> u64 {
    report["input"][name].as_u64().unwrap_or_else(|| panic!("input.{name} is not a count"))
}

/// How often a loss occurred; 0 when it is not listed.
pub(crate) fn loss(report: &Value, name: &str) -> u64 {
    report["input"]["losses"][name]["count"].as_u64().unwrap_or(0)
}

/// Names of the losses listed.
pub(crate) fn losses(report: &Value) -> Vec<&str> {
    report["input"]["losses"].as_object().unwrap().keys().map(String::as_str).collect()
}
