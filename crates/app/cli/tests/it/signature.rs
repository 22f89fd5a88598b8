//! `laggard signature` end to end.

use crate::outcome::{Outcome, laggard, laggard_with_stdin};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A wide table of two types: response times in which service times of these ms are under the queueing of the
/// utilization.
fn table(windows: u32, home_ms: f64, cart_ms: f64) -> String {
    let mut text = "time_s,utilization,count:Home,count:Cart,response_ms:Home,response_ms:Cart\n".to_owned();
    for row in 0..windows {
        let used = 0.2 + 0.05 * f64::from(row % 8);
        let noise = 1.0 + 0.004 * (f64::from(row * 7 % 11) - 5.0);
        let time = |ms: f64| ms * noise / (1.0 - used);
        let _ = writeln!(
            text,
            "{},{used},{},{},{},{}",
            1_700_000_000 / 60 * 60 + 60 * row,
            50 + row % 5,
            20 + row % 3,
            time(home_ms),
            time(cart_ms)
        );
    }
    text
}

struct Workshop {
    folder: TempDir,
}

impl Workshop {
    fn new() -> Workshop {
        Workshop { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a table and its signature.
    fn signature(&self, name: &str, table: &str) -> PathBuf {
        let (csv, json) = (self.path(&format!("{name}.csv")), self.path(&format!("{name}.json")));
        std::fs::write(&csv, table).unwrap();
        let run = laggard(&[Path::new("signature"), &csv, Path::new("-o"), &json]);
        assert!([0, 4].contains(&run.status), "{}", run.stderr);
        json
    }
}

fn diff(old: &Path, new: &Path, flags: &[&str]) -> Outcome {
    let mut arguments = vec!["signature", "diff", old.to_str().unwrap(), new.to_str().unwrap()];
    arguments.extend(flags);
    laggard(&arguments)
}

#[test]
fn a_slower_transaction_fails_the_gate() {
    let workshop = Workshop::new();
    let (old, new) =
        (workshop.signature("old", &table(60, 4.0, 9.0)), workshop.signature("new", &table(60, 5.0, 9.0)));
    let (junit, sarif) = (workshop.path("junit.xml"), workshop.path("laggard.sarif"));
    let flags = [
        "--exit-code",
        "--output",
        "json",
        "--junit",
        junit.to_str().unwrap(),
        "--sarif",
        sarif.to_str().unwrap(),
    ];
    let run = diff(&old, &new, &flags);
    assert_eq!((run.status, run.stderr.as_str()), (1, ""));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["verdict"], "slower");
    let first = &report["transactions"][0];
    assert_eq!((first["transaction"].as_str(), first["outcome"].as_str()), (Some("Home"), Some("slower")));
    let difference = first["difference_s"].as_f64().unwrap();
    assert!((difference - 0.001).abs() < 1e-4, "{difference}");
    assert!(std::fs::read_to_string(junit).unwrap().contains("failures=\"1\""));
    assert!(std::fs::read_to_string(sarif).unwrap().contains("\"transaction-slower\""));
    assert_eq!(diff(&old, &new, &[]).status, 0);
    // In the reverse direction it is faster, which fails only on request.
    assert_eq!(diff(&new, &old, &["--exit-code"]).status, 0);
    assert_eq!(diff(&new, &old, &["--exit-code", "--any"]).status, 1);
    assert_eq!(diff(&old, &old, &["--exit-code", "--any"]).status, 0);
}

#[test]
fn too_little_data_does_not_pass_the_gate() {
    let workshop = Workshop::new();
    let (old, few) =
        (workshop.signature("old", &table(60, 4.0, 9.0)), workshop.signature("few", &table(20, 40.0, 90.0)));
    let run = diff(&old, &few, &["--exit-code"]);
    assert_eq!(run.status, 4);
    assert!(run.stdout.contains("20 windows after, 30 are needed"), "{}", run.stdout);
    assert_eq!(diff(&old, &few, &["--exit-code", "--windows-min", "20"]).status, 1);
    let run = laggard(&[Path::new("signature"), &workshop.path("few.csv")]);
    assert_eq!(run.status, 4);
    assert!(run.stdout.contains("Not enough data"), "{}", run.stdout);
}

#[test]
fn signatures_are_reproducible_and_can_be_piped() {
    let workshop = Workshop::new();
    let text = table(60, 4.0, 9.0);
    let (one, two) = (workshop.signature("one", &text), workshop.signature("two", &text));
    let (one_text, two_text) = (std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    assert_eq!(one_text, two_text);
    let piped =
        laggard_with_stdin(&["signature", "-", "--output", "json", "--threads", "1"], text.as_bytes());
    assert_eq!(piped.text().into_bytes(), one_text);
    let run = laggard_with_stdin(&["signature", "diff", one.to_str().unwrap(), "-"], &two_text);
    assert!(run.text().contains("No change"));
}

#[test]
fn invalid_signature_files_are_rejected() {
    let workshop = Workshop::new();
    let old = workshop.signature("old", &table(60, 4.0, 9.0));
    let file = |name: &str, text: &str| {
        let path = workshop.path(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let newer = file("newer.json", r#"{"schema_version":2,"report":"signature","laggard_version":"9.9"}"#);
    diff(&old, &newer, &[]).fails(3, &["schema version is 2", "9.9", "Update Laggard"]);
    diff(&old, &file("a.json", "{}"), &[]).fails(3, &["a.json", "no signature"]);
    diff(&old, &file("b.json", "\0\u{1}"), &[]).fails(3, &["b.json"]);
    diff(&old, &workshop.path("none.json"), &[]).fails(3, &["none.json"]);
    diff(Path::new("-"), Path::new("-"), &[]).fails(2, &["standard input"]);
    diff(&old, &old, &["--change-min", "11"]).fails(2, &["--change-min"]);
    diff(&old, &old, &["--any"]).fails(2, &["--exit-code"]);
    laggard(&["signature", "x.csv", "--metric", "a=speed"]).fails(2, &["speed", "for example"]);
    laggard(&["signature", "x.csv", "--measure", "speed"]).fails(2, &["speed", "for example"]);
}

/// One machine: the same code at three loads, and different code.
#[test]
fn a_higher_load_alone_passes_the_gate() {
    let Some(root) = laggard_testkit::data_folder("cpu-demands") else { return };
    let workshop = Workshop::new();
    let signature = |run: &str| {
        let out = workshop.path(&format!("{run}.json"));
        let from = root.join(run);
        let arguments = ["signature", from.to_str().unwrap(), "--window", "10s", "-o", out.to_str().unwrap()];
        laggard(&arguments).text();
        out
    };
    let runs = ["util20-exp4", "util50-exp4", "util80-exp4"].map(signature);
    for (old, new) in [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)] {
        let run = diff(&runs[old], &runs[new], &["--exit-code", "--any"]);
        assert!([0, 4].contains(&run.status), "{old} {new}: {}", run.stdout);
    }
    // 25 and 125 ms instead of 25 and 25 ms.
    let other = signature("util20-exp3");
    let run = diff(&other, &runs[0], &["--exit-code"]);
    assert_eq!(run.status, 1);
    assert!(run.stdout.contains("WC1 takes +"), "{}", run.stdout);
    assert_eq!(diff(&other, &runs[1], &["--exit-code"]).status, 1);
}
