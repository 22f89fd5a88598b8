//! Rules that cargo checks.

use crate::repository::{Judgment, Repository};
use std::io;
use std::process::{Command, Stdio};

/// The manifest of the workspace.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");

/// Lines of a failed command's output that are shown.
const LINES_SHOWN: usize = 60;

pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).stdin(Stdio::null());
    // The width of help must not depend on the terminal.
    command.env_remove("COLUMNS").env_remove("LINES");
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    command
}

/// Standard output of a cargo command.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn output(arguments: &[&str]) -> io::Result<String> {
    let output = cargo(arguments).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("cargo {} failed:\n{text}", arguments.join(" "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn judge(arguments: &[&str], environment: &[(&str, &str)]) -> Judgment {
    let ran = cargo(arguments).envs(environment.iter().copied()).output();
    let output = ran.map_err(|error| vec![format!("cargo {}: {error}", arguments.join(" "))])?;
    let text = [&output.stderr[..], &output.stdout[..]].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if output.status.success() { Ok(text) } else { Err(last_lines(&text)) }
}

pub(crate) fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].iter().map(|line| (*line).to_owned()).collect()
}

pub(crate) fn format(_: &Repository) -> Judgment {
    judge(&["fmt", "--all", "--check", "--", "-l"], &[]).map(|_| "formatted".to_owned())
}

pub(crate) fn lints(_: &Repository) -> Judgment {
    let strict = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    judge(&strict, &[]).map(|_| "no warnings".to_owned())
}

/// The fuzz targets are a workspace of their own, which no other step compiles.
pub(crate) fn fuzz(_: &Repository) -> Judgment {
    let check =
        ["check", "--quiet", "--locked", "--manifest-path", "fuzz/Cargo.toml", "--no-default-features"];
    let shared = ["--target-dir", "target"];
    let shared = if std::env::var_os("CARGO_TARGET_DIR").is_some() { &[] } else { &shared[..] };
    judge(&[&check, shared].concat(), &[]).map(|_| "fuzz targets compile".to_owned())
}

pub(crate) fn docs(_: &Repository) -> Judgment {
    let build = ["doc", "--no-deps", "--workspace", "--quiet"];
    judge(&build, &[("RUSTDOCFLAGS", "-D warnings")]).map(|_| "API pages without warnings".to_owned())
}

/// Builds a program of the lab, optimized, and runs it in the caller's folder, so that paths mean what they say.
///
/// # Errors
/// When cargo cannot be started.
pub(crate) fn run_program(package: &str, options: &[&str]) -> io::Result<bool> {
    let run = ["run", "--quiet", "--release", "--manifest-path", MANIFEST, "-p", package, "--"];
    Ok(Command::new(env!("CARGO")).args(run).args(options).status()?.success())
}

/// Builds Laggard and the campaign, and runs the latter.
///
/// # Errors
/// When cargo cannot be started.
pub(crate) fn campaign(options: &[&str]) -> io::Result<bool> {
    let build = ["build", "--quiet", "--release", "--manifest-path", MANIFEST, "-p", "laggard"];
    let is_built =
        options.contains(&"--laggard") || Command::new(env!("CARGO")).args(build).status()?.success();
    Ok(is_built && run_program("laggard-campaign", options)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_fails_the_step() {
        assert!(judge(&["no-such-command-of-cargo"], &[]).is_err());
        assert!(output(&["no-such-command-of-cargo"]).is_err());
    }
}
