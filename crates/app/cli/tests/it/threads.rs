//! One large file gives the same report whether one thread reads it or several, in every format.

use crate::outcome::laggard;
use crate::workshop::{FEW, Recipe, incident};
use std::path::Path;

/// Large enough for dozens of blocks.
const LARGE: Recipe =
    Recipe { scenario: "bursts", flags: &["--seed", "5", "--requests", "150", "--categories", "3"] };

fn diagnosed(file: &Path, threads: &str, further: &[&str]) -> String {
    let file = file.to_str().unwrap();
    let arguments = ["diagnose", file, "--output", "json", "--method", "clouddiag", "--threads", threads];
    laggard(&[&arguments, further].concat()).text()
}

fn check(file: &Path, further: &[&str]) {
    let once = diagnosed(file, "1", further);
    for threads in ["2", "7"] {
        assert!(
            diagnosed(file, threads, further) == once,
            "{} {further:?}: {threads} threads",
            file.display()
        );
    }
}

#[test]
fn every_format_plain_and_compressed() {
    for format in ["span-csv", "otlp-json", "otlp-proto", "jaeger", "zipkin"] {
        let plain = incident(LARGE, &["--format", format]);
        let bytes = std::fs::metadata(plain.file()).unwrap().len();
        assert!(bytes > 3 << 20, "{format}: {bytes} bytes");
        check(&plain.file(), &[]);
    }
    check(&incident(LARGE, &["--format", "span-csv", "--compression", "gzip"]).file(), &[]);
    check(&incident(LARGE, &["--format", "zipkin", "--compression", "zstd"]).file(), &[]);
}

#[test]
fn a_window_and_a_limit_of_memory() {
    let file = incident(LARGE, &["--format", "span-csv"]).file();
    check(&file, &["--memory", "1MiB"]);
    check(&file, &["--memory", "1MiB", "--beyond-memory", "thin"]);
    check(&file, &["--since", "2026-01-12T09:20:00Z", "--until", "2026-01-12T09:40:00Z"]);
}

/// Losses have the lines of the file, and there are as many.
#[test]
fn damaged_lines() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(incident(LARGE, &["--format", "span-csv"]).file()).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    for number in (500..lines.len()).step_by(5_003) {
        lines[number] = ["oops", "a,\"b\"c\"\",d", "a,\"b\nc\",d", ""][number % 4];
    }
    let file = folder.path().join("damaged.csv");
    std::fs::write(&file, lines.join("\r\n") + "\r\n").unwrap();
    check(&file, &[]);
    let report = diagnosed(&file, "2", &[]);
    assert!(report.contains("damaged.csv: line 501"), "the first is the example");
}

/// Several files, of which one is much larger than the others.
#[test]
fn a_large_file_among_small_ones() {
    let folder = tempfile::tempdir().unwrap();
    let large = incident(LARGE, &["--format", "span-csv"]).file();
    std::fs::copy(large, folder.path().join("b.csv")).unwrap();
    for (number, file) in incident(FEW, &["--files", "3"]).files().iter().enumerate() {
        let name = ["a.json", "c.json", "d.json"][number % 3];
        std::fs::copy(file, folder.path().join(name)).unwrap();
    }
    check(folder.path(), &[]);
}
