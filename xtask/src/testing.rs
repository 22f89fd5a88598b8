//! Runs the tests, of everything or of some areas, and lists what did not run.

use crate::cargo::{cargo, last_lines, output};
use crate::repository::{Judgment, Repository};
use crate::say;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The area of the tests of the whole program, which link everything; no other area includes them.
const PROGRAM: &str = "program";

/// The package of [`PROGRAM`].
const PROGRAM_PACKAGE: &str = "laggard";

/// By cargo's own runner: tests of the whole program share the incidents they make within a process, which runners
/// with a process a test would make again for each. With the feature that is off by default, so that buckets are tested.
const ALL: [&str; 4] = ["test", "--workspace", "--no-fail-fast", "--features=laggard/s3"];

/// The build of the crates `cluster` and `sql` with their engine, which nothing else builds, and of the program with
/// them: the same for both areas, so that the engine is compiled once.
const ENGINES: [&str; 8] = [
    "test",
    "--no-fail-fast",
    "--package=laggard-cluster",
    "--package=laggard-sql",
    "--package=laggard",
    "--features=laggard/cluster,laggard/sql,laggard/s3,laggard/gcs,laggard/azure",
    "--lib",
    "--test=it",
];

/// The areas tested with that build, and the arguments of their tests.
const ENGINE_AREAS: [(&str, &[&str]); 2] = [
    (
        "cluster",
        &[
            "attempts::",
            "engine::",
            "chunks::",
            "serve::cluster::",
            "serve::configuration::workers_",
            "serve::stored::",
            "--test-threads",
            "2",
        ],
    ),
    ("sql", &["serve::sql::", "bounds::", "names::", "output::", "tables::", "workers::job::"]),
];

/// A part of a test run that did not happen, as the test kit records it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Skipped {
    /// Debian packages, `data`, or `machine`.
    missing: String,
    reason: String,
    test: String,
}

/// Runs all tests, or those of some areas, and prints what was skipped; true when all that ran passed.
///
/// # Errors
/// When an area is not known, or cargo cannot be started.
pub(crate) fn run(areas: &[&str]) -> io::Result<bool> {
    let arguments = match areas {
        [] => ALL.map(str::to_owned).to_vec(),
        areas => match engine_tests(areas) {
            Some(arguments) => arguments,
            None => select(&packages()?, areas).map_err(io::Error::other)?,
        },
    };
    let record = record_path();
    let _ = std::fs::remove_file(&record);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = cargo(&arguments);
    let mut child = command.env("LAGGARD_SKIPPED", &record).stdout(Stdio::piped()).spawn()?;
    let mut passed = 0;
    if let Some(lines) = child.stdout.take() {
        for line in BufReader::new(lines).lines() {
            let line = line?;
            passed += passed_count(&line);
            say(&line);
        }
    }
    let all_passed = child.wait()?.success();
    let skipped = read_record(&record);
    remedies(&skipped).iter().for_each(|line| say(line));
    say(&closing_line(passed, all_passed, &skipped));
    Ok(all_passed)
}

/// The arguments of cargo when every area is one of [`ENGINE_AREAS`].
fn engine_tests(areas: &[&str]) -> Option<Vec<String>> {
    let filters = areas.iter().map(|area| ENGINE_AREAS.iter().find(|(name, _)| name == area));
    let filters: Vec<&str> =
        filters.collect::<Option<Vec<_>>>()?.into_iter().flat_map(|(_, filters)| *filters).copied().collect();
    Some(ENGINES.iter().chain(&["--"]).chain(&filters).map(|&argument| argument.to_owned()).collect())
}

/// The step of `cargo xtask check`.
pub(crate) fn check(_: &Repository) -> Judgment {
    let record = record_path();
    let _ = std::fs::remove_file(&record);
    let ran = cargo(&ALL).env("LAGGARD_SKIPPED", &record).output();
    let ran = ran.map_err(|error| vec![format!("cargo test: {error}")])?;
    let text = String::from_utf8_lossy(&[&ran.stderr[..], &ran.stdout[..]].concat()).into_owned();
    let passed = text.lines().map(passed_count).sum();
    let skipped = read_record(&record);
    if ran.status.success() { Ok(closing_line(passed, true, &skipped)) } else { Err(failures(&text)) }
}

fn record_path() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"));
    let _ = std::fs::create_dir_all(&target);
    target.canonicalize().unwrap_or(target).join("skipped-tests")
}

/// Every package with its area, by the folder of its manifest.
fn packages() -> io::Result<BTreeMap<String, String>> {
    let text = output(&["metadata", "--format-version", "1", "--no-deps", "--offline"])?;
    let metadata: Value = serde_json::from_str(&text)?;
    let mut packages = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let folders: Vec<&str> = package["manifest_path"].as_str().unwrap_or_default().rsplit('/').collect();
        let area = match (name, folders.get(2)) {
            (PROGRAM_PACKAGE, _) => PROGRAM,
            ("laggard-ui", _) => "web",
            ("xtask", _) | (_, None) => "xtask",
            (_, Some(area)) => area,
        };
        packages.insert(name.to_owned(), area.to_owned());
    }
    Ok(packages)
}

/// The arguments that test the packages of some areas.
fn select(packages: &BTreeMap<String, String>, areas: &[&str]) -> Result<Vec<String>, String> {
    let known: BTreeSet<&str> = packages.values().map(String::as_str).collect();
    if let Some(area) = areas.iter().find(|area| !known.contains(**area)) {
        let known: Vec<&str> = known.into_iter().collect();
        return Err(format!(
            "there is no area {area:?}; there is {}, and {} without others",
            known.join(", "),
            ENGINE_AREAS.map(|(name, _)| name).join(" and ")
        ));
    }
    let mut arguments = vec!["test".to_owned(), "--no-fail-fast".to_owned()];
    for (package, _) in packages.iter().filter(|(_, area)| areas.contains(&area.as_str())) {
        arguments.extend(["-p".to_owned(), package.clone()]);
    }
    Ok(arguments)
}

fn read_record(path: &Path) -> Vec<Skipped> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let rows = text.lines().filter_map(|line| {
        let mut fields = line.splitn(3, '\t').map(str::to_owned);
        let (test, missing, reason) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Skipped { missing, reason, test })
    });
    let rows: BTreeSet<Skipped> = rows.collect();
    rows.into_iter().collect()
}

/// The skipped tests, the reasons, and how to install the missing packages.
fn remedies(skipped: &[Skipped]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut by_reason: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for part in skipped {
        *by_reason.entry((&part.missing, &part.reason)).or_default() += 1;
    }
    if !by_reason.is_empty() {
        lines.push(String::new());
        lines.push("Skipped:".to_owned());
    }
    lines.extend(by_reason.iter().map(|((_, reason), tests)| format!("  {tests:>3} tests  {reason}")));
    let missing: BTreeSet<&str> = skipped.iter().flat_map(|part| part.missing.split(' ')).collect();
    let packages: Vec<&str> =
        missing.iter().copied().filter(|name| !["data", "machine"].contains(name)).collect();
    if !packages.is_empty() {
        lines.push(format!("To run them: apt-get install -y --no-install-recommends {}", packages.join(" ")));
    }
    if missing.contains("data") {
        lines.push(
            "Measured data is read from ../shared/data, or from the folder in LAGGARD_DATA.".to_owned(),
        );
    }
    lines
}

fn closing_line(passed: u64, all_passed: bool, skipped: &[Skipped]) -> String {
    let tests: BTreeSet<&str> = skipped.iter().map(|part| part.test.as_str()).collect();
    let failed = if all_passed { "" } else { "; some FAILED" };
    // A skipped test returns early, which cargo counts as passed.
    let ran = passed.saturating_sub(tests.len() as u64);
    format!("{ran} tests passed, {} skipped{failed}", tests.len())
}

/// How many tests passed, from the last line of a binary: `test result: ok. 12 passed; …`.
fn passed_count(line: &str) -> u64 {
    let counts = line.strip_prefix("test result: ").and_then(|result| result.split_once(". "));
    counts.and_then(|(_, counts)| counts.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Summary of a failed run: which tests, where, why; or the compiler's errors.
fn failures(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let panicked = line.contains("panicked at");
        if panicked || line.ends_with("... FAILED") || line.starts_with("test result: FAILED") {
            out.push((*line).to_owned());
        }
        out.extend(lines.get(index + 1).filter(|_| panicked).map(|reason| (*reason).to_owned()));
    }
    if out.is_empty() { last_lines(text) } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_tests_are_counted() {
        assert_eq!(passed_count("test result: ok. 12 passed; 0 failed"), 12);
        assert_eq!(passed_count("test result: FAILED. 3 passed; 1 failed"), 3);
        assert_eq!(passed_count("running 3 tests"), 0);
    }

    #[test]
    fn failed_tests_are_listed_with_their_reason() {
        let text = "test a ... ok\ntest b ... FAILED\n\nthread 'b' panicked at src/b.rs:1:1:\nleft is not right\nmore\ntest result: FAILED. 1 passed; 1 failed\n";
        let expected = [
            "test b ... FAILED",
            "thread 'b' panicked at src/b.rs:1:1:",
            "left is not right",
            "test result: FAILED. 1 passed; 1 failed",
        ];
        assert_eq!(failures(text), expected);
        assert_eq!(failures("error: no such crate\n"), ["error: no such crate"]);
    }

    #[test]
    fn areas_are_folders() {
        let rows = [("laggard-model", "base"), ("laggard-engine", "traces"), ("laggard", PROGRAM)];
        let packages = rows.map(|(name, area)| (name.to_owned(), area.to_owned())).into_iter().collect();
        let arguments = select(&packages, &["base", "traces"]).unwrap();
        assert_eq!(arguments[2..], ["-p", "laggard-engine", "-p", "laggard-model"]);
        assert!(select(&packages, &["trace"]).unwrap_err().contains("base, program, traces"));
    }

    #[test]
    fn skipped_tests_are_listed_and_counted() {
        let part = |test: &str, missing: &str, reason: &str| Skipped {
            missing: missing.to_owned(),
            reason: reason.to_owned(),
            test: test.to_owned(),
        };
        let skipped = [
            part("a", "data", "no measured data"),
            part("b", "nodejs npm", "there is no node"),
            part("c", "nodejs npm", "there is no node"),
        ];
        let lines = remedies(&skipped);
        assert!(lines.contains(&"    2 tests  there is no node".to_owned()), "{lines:?}");
        assert!(lines.iter().any(|line| line.ends_with("nodejs npm")), "{lines:?}");
        assert_eq!(closing_line(10, true, &skipped), "7 tests passed, 3 skipped");
        assert_eq!(closing_line(10, true, &[]), "10 tests passed, 0 skipped");
    }
}
