//! Rules that cargo checks.

use crate::repository::{Judgment, Repository};
use std::io;
use std::process::{Command, Stdio};

/// Lines of a failed command's output that are shown.
const LINES_SHOWN: usize = 60;

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).stdin(Stdio::null());
    // The width of help must not depend on the terminal.
    command.env_remove("COLUMNS").env_remove("LINES");
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    command
}

/// What a cargo command prints.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn output(arguments: &[&str]) -> io::Result<String> {
    let output = cargo(arguments).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("cargo {} failed:\n{said}", arguments.join(" "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn judge(arguments: &[&str], environment: &[(&str, &str)]) -> Judgment {
    let ran = cargo(arguments).envs(environment.iter().copied()).output();
    let output = ran.map_err(|error| vec![format!("cargo {}: {error}", arguments.join(" "))])?;
    let said = [&output.stderr[..], &output.stdout[..]].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if output.status.success() { Ok(said) } else { Err(last_lines(&said)) }
}

fn last_lines(said: &str) -> Vec<String> {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].iter().map(|line| (*line).to_owned()).collect()
}

pub(crate) fn format(_: &Repository) -> Judgment {
    judge(&["fmt", "--all", "--check", "--", "-l"], &[]).map(|_| "formatted".to_owned())
}

pub(crate) fn lints(_: &Repository) -> Judgment {
    let strict = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    judge(&strict, &[]).map(|_| "no warnings".to_owned())
}

pub(crate) fn docs(_: &Repository) -> Judgment {
    let build = ["doc", "--no-deps", "--workspace", "--quiet"];
    judge(&build, &[("RUSTDOCFLAGS", "-D warnings")]).map(|_| "API pages without warnings".to_owned())
}

/// What runs every test. By cargo's own runner: tests of the whole program share the incidents they make
/// within a process, which runners with a process a test would make again for each.
const TESTS: [&str; 3] = ["test", "--workspace", "--no-fail-fast"];

pub(crate) fn tests(_: &Repository) -> Judgment {
    let ran = cargo(&TESTS).output().map_err(|error| vec![format!("cargo test: {error}")])?;
    let said = [&ran.stderr[..], &ran.stdout[..]].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if ran.status.success() { Ok(passed(&said)) } else { Err(failures(&said)) }
}

/// What a person needs of a failed run: which tests, where, why; or the compiler's words.
fn failures(said: &str) -> Vec<String> {
    let lines: Vec<&str> = said.lines().collect();
    let tells = |line: &str| {
        line.ends_with("... FAILED")
            || line.contains("panicked at")
            || line.starts_with("test result: FAILED")
    };
    let at = |at: usize| {
        let why = if lines[at].contains("panicked at") { lines.get(at + 1) } else { None };
        [Some(&lines[at]), why].into_iter().flatten().map(|line| (*line).to_owned()).collect::<Vec<_>>()
    };
    let found: Vec<String> = (0..lines.len()).filter(|&line| tells(lines[line])).flat_map(at).collect();
    if found.is_empty() { last_lines(said) } else { found }
}

/// How many tests passed, from the line of each binary: `test result: ok. 12 passed; …`.
fn passed(said: &str) -> String {
    let results = said.lines().filter_map(|line| line.split_once("test result: ok. "));
    let counts = results.filter_map(|(_, counts)| counts.split_whitespace().next()?.parse::<u64>().ok());
    format!("{} tests passed", counts.sum::<u64>())
}

/// Runs every test and lets cargo speak.
///
/// # Errors
/// When cargo cannot be started.
pub(crate) fn test_all() -> io::Result<bool> {
    Ok(cargo(&TESTS).status()?.success())
}

/// Builds the evaluation, optimized, and runs it in the caller's folder, so that paths mean what they say.
///
/// # Errors
/// When cargo cannot be started.
pub(crate) fn evaluate(options: &[&str]) -> io::Result<bool> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "run",
        "--quiet",
        "--release",
        "--manifest-path",
        manifest,
        "-p",
        "laggard-evaluate",
        "--",
    ]);
    Ok(command.args(options).status()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_over_binaries() {
        let said =
            "test result: ok. 12 passed; 0 failed\nrunning 3 tests\ntest result: ok. 3 passed; 0 failed\n";
        assert_eq!(passed(said), "15 tests passed");
    }

    #[test]
    fn failed_tests_are_told_with_their_reason() {
        let said = "test a ... ok\ntest b ... FAILED\n\nthread 'b' panicked at src/b.rs:1:1:\nleft is not right\nmore\ntest result: FAILED. 1 passed; 1 failed\n";
        let told = [
            "test b ... FAILED",
            "thread 'b' panicked at src/b.rs:1:1:",
            "left is not right",
            "test result: FAILED. 1 passed; 1 failed",
        ];
        assert_eq!(failures(said), told);
        assert_eq!(failures("error: no such crate\n"), ["error: no such crate"]);
    }

    #[test]
    fn a_failing_command_fails_the_step() {
        assert!(judge(&["no-such-command-of-cargo"], &[]).is_err());
        assert!(output(&["no-such-command-of-cargo"]).is_err());
    }
}
