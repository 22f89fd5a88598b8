//! Rules that cargo checks.

use crate::repository::{Judgement, Repository};
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

fn judge(arguments: &[&str], environment: &[(&str, &str)]) -> Judgement {
    let ran = cargo(arguments).envs(environment.iter().copied()).output();
    let output = ran.map_err(|error| vec![format!("cargo {}: {error}", arguments.join(" "))])?;
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if output.status.success() { Ok(said) } else { Err(last_lines(&said)) }
}

fn last_lines(said: &str) -> Vec<String> {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].iter().map(|line| (*line).to_owned()).collect()
}

pub(crate) fn format(_: &Repository) -> Judgement {
    judge(&["fmt", "--all", "--check", "--", "-l"], &[]).map(|_| "formatted".to_owned())
}

pub(crate) fn lints(_: &Repository) -> Judgement {
    let strict = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    judge(&strict, &[]).map(|_| "no warnings".to_owned())
}

pub(crate) fn docs(_: &Repository) -> Judgement {
    let build = ["doc", "--no-deps", "--workspace", "--quiet"];
    judge(&build, &[("RUSTDOCFLAGS", "-D warnings")]).map(|_| "API pages without warnings".to_owned())
}

/// What runs every test. By cargo's own runner: tests of the whole program share the incidents they make
/// within a process, which runners with a process a test would make again for each.
const TESTS: [&str; 3] = ["test", "--workspace", "--no-fail-fast"];

pub(crate) fn tests(_: &Repository) -> Judgement {
    judge(&TESTS, &[]).map(|said| passed(&said))
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
    fn a_failing_command_fails_the_step() {
        assert!(judge(&["no-such-command-of-cargo"], &[]).is_err());
        assert!(output(&["no-such-command-of-cargo"]).is_err());
    }
}
