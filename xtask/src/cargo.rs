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

/// All tests: by nextest where it is installed, which does not run the examples in documentation.
pub(crate) fn tests(_: &Repository) -> Judgement {
    let has_nextest = output(&["nextest", "--version"]).is_ok();
    if !has_nextest {
        return judge(&["test", "--workspace", "--no-fail-fast"], &[]).map(|said| passed(&said));
    }
    let units = judge(&["nextest", "run", "--workspace", "--no-fail-fast"], &[])?;
    let examples = judge(&["test", "--workspace", "--doc", "--no-fail-fast"], &[])?;
    Ok(passed(&[units, examples].concat()))
}

/// How many tests passed, from the lines of both runners.
fn passed(said: &str) -> String {
    let before = |line: &str, word: &str| -> Option<u64> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|found| found.trim_end_matches([';', ',', ':']) == word)?;
        words.get(at.checked_sub(1)?)?.parse().ok()
    };
    let lines = said.lines().filter(|line| line.contains("test result:") || line.contains("Summary"));
    let count: u64 = lines.filter_map(|line| before(line, "passed")).sum();
    format!("{count} tests passed")
}

/// Runs every test and lets cargo speak; what the tests need besides the toolchain is checked first.
///
/// # Errors
/// When cargo cannot be started.
pub(crate) fn test_all() -> io::Result<bool> {
    Ok(cargo(&["test", "--workspace", "--no-fail-fast"]).status()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_from_both_runners() {
        let libtest =
            "test result: ok. 12 passed; 0 failed; 0 ignored\ntest result: ok. 3 passed; 0 failed\n";
        assert_eq!(passed(libtest), "15 tests passed");
        assert_eq!(passed("     Summary [   1.2s] 41 tests run: 41 passed, 0 skipped\n"), "41 tests passed");
    }

    #[test]
    fn a_failing_command_fails_the_step() {
        assert!(judge(&["no-such-command-of-cargo"], &[]).is_err());
        assert!(output(&["no-such-command-of-cargo"]).is_err());
    }
}
