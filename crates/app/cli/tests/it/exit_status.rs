//! Exit statuses, and error messages that name the invalid value, the allowed values, and a fix.

use crate::outcome::{diagnose, laggard, laggard_with_stdin};
use crate::workshop::{QUIET, RANDOM_DEVICE, SMALL, incident};
use std::path::Path;

/// A file of a temporary folder.
fn write(folder: &Path, name: &str, content: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn suspects_set_the_exit_status_only_with_exit_code() {
    let traces = incident(RANDOM_DEVICE, &[]).traces();
    assert_eq!(diagnose(&traces, &[]).status, 0);
    let with_exit_code = diagnose(&traces, &["--exit-code"]);
    assert_eq!((with_exit_code.status, with_exit_code.stderr.as_str()), (1, ""));
    assert!(
        with_exit_code.stdout.contains("\"verdict\": \"suspects\""),
        "the report is printed all the same"
    );
}

#[test]
fn a_possibly_usual_slow_tail_succeeds_with_and_without_exit_code() {
    let traces = incident(SMALL, &[]).traces();
    let tail = diagnose(&traces, &["--exit-code"]);
    assert_eq!((tail.status, tail.stderr.as_str()), (0, ""));
    assert!(tail.stdout.contains("\"verdict\": \"tail\""), "{}", tail.stdout);
}

#[test]
fn a_healthy_verdict_succeeds_with_and_without_exit_code() {
    let traces = incident(QUIET, &[]).traces();
    assert_eq!(diagnose(&traces, &[]).status, 0);
    assert_eq!(diagnose(&traces, &["--exit-code"]).status, 0);
}

#[test]
fn impossible_requests_are_usage_errors() {
    let traces = incident(SMALL, &[]).traces();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--no-such-flag"], &["--no-such-flag", "--help"]),
        (&["--method", "magic"], &["magic", "clouddiag"]),
        (&["--format", "xml"], &["xml", "otlp-json", "call-log"]),
        (&["--output", "pdf"], &["pdf", "markdown", "html"]),
        (&["--color", "sometimes"], &["sometimes", "always", "never"]),
        (&["--since", "2026-01-12T10:00:00Z", "--until", "2026-01-12T09:00:00Z"], &["--since", "--until"]),
        (&["--since", "yesterday"], &["yesterday", "2026-01-12T09:10:00Z", "Unix", "-15m"]),
        (&["--threads", "0"], &["0"]),
        (&["--memory", "12"], &["12", "1MiB"]),
        (&["--memory", "lots"], &["lots", "4GiB"]),
        (&["--column", "trace_id"], &["trace_id", "="]),
        (&["--column", "color=Blue"], &["color", "trace_id"]),
        (&["--set", "cosine-max=1.5"], &["cosine-max", "1.5"]),
        (&["--set", "cosine-max=NaN"], &["cosine-max"]),
        (&["--set", "replica-level=2"], &["replica-level"]),
        (&["--top", "0"], &["top", "from 1"]),
        (&["--set", "requests-min=0"], &["requests-min"]),
        (&["--set", "cv-min=-1"], &["cv-min", "-1", "at least 0"]),
        (&["--set", "growth=1"], &["growth"]),
        (&["--top=-1"], &["top", "-1"]),
    ];
    for (flags, words) in cases {
        let arguments = [&["diagnose", traces.to_str().unwrap()], *flags].concat();
        laggard(&arguments).fails(2, words);
    }
}

#[test]
fn impossible_incidents_are_usage_errors() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let cases: &[(&[&str], &[&str])] = &[
        (&["--scenario", "meteorite"], &["meteorite", "random-device", "slow-host"]),
        (&["--format", "xml"], &["xml", "otlp-json", "call-log"]),
        (&["--compression", "bzip2"], &["bzip2", "plain", "zstd"]),
        (&["--drop", "1.5"], &["1.5", "0 to 1"]),
        (&["--requests", "0"], &["0", "1 to 1 000 000"]),
        (&["--files", "0"], &["0", "1 to 100"]),
        (&["--window", "0"], &["0", "1 second to 7 days"]),
        (&["--day", "moon"], &["moon", "forty-services"]),
        (&["--day", "shop", "--fault", "rain"], &["rain", "early-return"]),
        (&["--day", "small", "--fault", "replica"], &["replica", "this system"]),
        (&["--day", "shop", "--format", "call-log"], &["call-log", "spans"]),
        (&["--day", "shop", "--requests", "9"], &["--requests", "--day"]),
        (&["--fault", "edge"], &["--day"]),
        (&["--end", "now"], &["--day"]),
        (&["--day", "small", "--end", "soon"], &["soon", "-15m"]),
    ];
    for (flags, words) in cases {
        let arguments = [&["simulate", "-o", target.to_str().unwrap()], *flags].concat();
        laggard(&arguments).fails(2, words);
    }
    assert!(!target.exists(), "nothing is written for a request that cannot be met");
}

#[test]
fn missing_and_unknown_subcommands_are_usage_errors() {
    laggard::<&str>(&[]).fails(2, &["laggard demo", "laggard diagnose", "laggard serve", "--help"]);
    laggard(&["diagnoze"]).fails(2, &["diagnoze", "diagnose"]);
}

#[test]
fn unreadable_inputs_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = write(folder.path(), "notes.txt", b"buy milk\nand bread\n");
    let empty = write(folder.path(), "empty.json", b"");
    let binary = write(folder.path(), "core", &[0x7F, b'E', b'L', b'F', 2, 1, 1, 0]);
    let other_json = write(folder.path(), "package.json", br#"{"name": "left-pad", "version": "1.3.0"}"#);
    std::fs::create_dir(folder.path().join("nothing")).unwrap();
    let nothing = folder.path().join("nothing").to_str().unwrap().to_owned();
    let missing = folder.path().join("traces.json").to_str().unwrap().to_owned();
    let pattern = folder.path().join("*.csv").to_str().unwrap().to_owned();
    let cases: &[(&str, &[&str])] = &[
        (&missing, &["traces.json", "no such file"]),
        (&pattern, &["*.csv", "no file matches"]),
        (&nothing, &["nothing", "the folder has no files"]),
        (&text, &["notes.txt", "buy milk", "--format"]),
        (&empty, &["empty.json", "empty"]),
        (&binary, &["core", "a program"]),
        (&other_json, &["package.json", "left-pad", "otlp-json"]),
        (folder.path().to_str().unwrap(), &["notes.txt", "buy milk"]),
    ];
    for (path, words) in cases {
        laggard(&["diagnose", path]).fails(3, words);
    }
    laggard_with_stdin(&["diagnose"], b"buy milk\n").fails(3, &["standard input", "buy milk"]);
    laggard_with_stdin(&["diagnose", "-"], b"").fails(3, &["standard input", "empty"]);
}

#[test]
fn one_missing_file_among_good_ones_fails_the_run() {
    let good = incident(SMALL, &[]).file();
    laggard(&["diagnose", good.to_str().unwrap(), "no-such-file"]).fails(3, &["no-such-file"]);
}

#[test]
fn unwritable_reports_are_failures() {
    let traces = incident(SMALL, &[]).traces();
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("no/such/folder/report.html");
    diagnose(&traces, &["-o", inside.to_str().unwrap()]).fails(3, &["cannot write", "report.html"]);
    diagnose(&traces, &["-o", folder.path().to_str().unwrap()]).fails(3, &["cannot write"]);
}

#[test]
fn simulate_does_not_overwrite_an_incident() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("traces")).unwrap();
    write(&folder.path().join("traces"), "mine.csv", b"precious");
    laggard(&["simulate", "-o", folder.path().to_str().unwrap()]).fails(3, &["traces"]);
    assert_eq!(std::fs::read(folder.path().join("traces/mine.csv")).unwrap(), b"precious");
    assert!(!folder.path().join("truth.json").exists());
}

const HEADER: &str = "trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns\n";

#[test]
fn too_little_data_has_its_own_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let header = write(folder.path(), "header.csv", HEADER.as_bytes());
    let one = format!("{HEADER}t1,s1,,shop,pod-1,buy,1768208400000000000,5000000\n");
    let one = write(folder.path(), "one.csv", one.as_bytes());
    let otlp = write(folder.path(), "empty.json", br#"{"resourceSpans":[]}"#);
    for (path, traces) in [(&header, 0), (&one, 1), (&otlp, 0)] {
        let run = diagnose(Path::new(path), &[]);
        assert_eq!((run.status, run.stderr.as_str()), (4, ""), "{path}");
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["verdict"], "insufficient-data");
        assert_eq!(report["input"]["traces"], traces, "{path}");
        assert!(!report["headline"].as_str().unwrap().is_empty());
        for form in ["text", "markdown", "html"] {
            let run = laggard(&["diagnose", path, "--output", form]);
            assert_eq!((run.status, run.stdout.is_empty()), (4, false), "{path} as {form}");
        }
    }
}
