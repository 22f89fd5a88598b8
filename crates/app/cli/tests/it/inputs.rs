//! The same traces through every kind of input.

use crate::outcome::{command, diagnose, finish, input_count, laggard, laggard_with_stdin};
use crate::workshop::{Answer, RANDOM_DEVICE, SMALL, incident};
use serde_json::Value;
use std::process::Stdio;

/// A report without fields that depend on how the input was named.
fn bare(mut report: Value) -> Value {
    report["input"]["files"] = Value::Null;
    report
}

#[test]
fn a_folder_file_pattern_and_pipe_give_the_same_report() {
    let incident = incident(SMALL, &[]);
    let (traces, file) = (incident.traces(), incident.file());
    let by_folder = diagnose(&traces, &[]).text();
    assert_eq!(diagnose(&file, &[]).text(), by_folder, "file");
    assert_eq!(diagnose(&traces.join("*.csv"), &[]).text(), by_folder, "pattern");
    assert_eq!(diagnose(&traces.join("../**/spans*"), &[]).text(), by_folder, "pattern across folders");
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(laggard_with_stdin(&["diagnose", "--output", "json"], &bytes).text(), by_folder, "pipe");
    assert_eq!(laggard_with_stdin(&["diagnose", "-", "--output", "json"], &bytes).text(), by_folder, "-");
    let redirected = Stdio::from(std::fs::File::open(&file).unwrap());
    let redirected = finish(command(&["diagnose", "--output", "json"]).stdin(redirected));
    assert_eq!(redirected.text(), by_folder, "<");
}

#[test]
fn a_compressed_pipe_is_decompressed() {
    let packed = incident(SMALL, &["--compression", "zstd"]).file();
    let bytes = std::fs::read(&packed).unwrap();
    let by_pipe = laggard_with_stdin(&["diagnose", "--output", "json"], &bytes).text();
    assert_eq!(by_pipe, diagnose(&packed, &[]).text());
}

#[test]
fn a_file_named_twice_is_read_once() {
    let file = incident(SMALL, &[]).file();
    let file = file.to_str().unwrap();
    let once = laggard(&["diagnose", "--output", "json", file]).text();
    assert_eq!(laggard(&["diagnose", "--output", "json", file, file]).text(), once);
}

#[test]
fn traces_spread_over_files_are_joined() {
    let spread = incident(RANDOM_DEVICE, &["--files", "7"]);
    assert_eq!(spread.files().len(), 7);
    let one = diagnose(&incident(RANDOM_DEVICE, &[]).traces(), &[]).json();
    let seven = diagnose(&spread.traces(), &[]).json();
    assert_eq!(input_count(&seven, "files"), 7);
    assert_eq!(Answer::from_report(&seven), Answer::expected(&spread));
    for field in ["verdict", "headline", "categories", "suspects", "replicas"] {
        assert_eq!(bare(one.clone())[field], bare(seven.clone())[field], "{field}");
    }
    assert_eq!(one["input"]["requests"], seven["input"]["requests"]);
}

#[test]
fn a_format_can_be_forced() {
    let incident = incident(SMALL, &["--format", "zipkin"]);
    let recognized = diagnose(&incident.traces(), &[]).text();
    assert_eq!(diagnose(&incident.traces(), &["--format", "zipkin"]).text(), recognized);
    // A folder may contain unrecognized files if at least one is recognized.
    let wrong = diagnose(&incident.traces(), &["--format", "span-csv"]);
    wrong.fails(3, &["span-csv", "trace_id"]);
    let wrong = diagnose(&incident.traces(), &["--format", "jaeger"]);
    assert_eq!(wrong.status, 4);
    assert!(wrong.stdout.contains("looks like zipkin, and was read as jaeger"), "{}", wrong.stdout);
}

#[test]
fn a_foreign_table_is_read_with_mapped_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spans.csv");
    let mut table = "TraceID;Span;Up;App;Pod;Call;Begin;Took\n".to_owned();
    for request in 0..40 {
        let start = 1_768_208_400_000_000_u64 + request * 1_000_000;
        let took = 10 + request % 3;
        table.push_str(&format!("t{request};a{request};;shop;pod-{};buy;{start};{took}\n", request % 4));
    }
    std::fs::write(&path, table).unwrap();
    let columns = [
        "trace_id=TraceID",
        "span_id=Span",
        "parent_span_id=Up",
        "service=App",
        "replica=Pod",
        "operation=Call",
        "start_us=Begin",
        "duration_ms=Took",
    ];
    let flags: Vec<&str> = columns.iter().flat_map(|column| ["--column", column]).collect();
    let report = diagnose(&path, &flags).json();
    assert_eq!(report["verdict"], "healthy");
    assert_eq!((input_count(&report, "spans"), input_count(&report, "replicas")), (40, 4));
    assert_eq!(report["categories"][0]["operation"], "buy");
    assert_eq!(report["categories"][0]["latency_p50_ns"], 11_000_000);
    assert_eq!(report["window"]["since"], "2026-01-12T09:00:00.000Z");
}

#[test]
fn unrecognized_files_in_a_folder_are_skipped_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let small = incident(SMALL, &[]);
    std::fs::copy(small.file(), folder.path().join("b.csv")).unwrap();
    std::fs::write(folder.path().join("a-notes.txt"), "buy milk\n").unwrap();
    std::fs::write(folder.path().join("c-empty.json"), "").unwrap();
    std::fs::write(folder.path().join(".hidden"), "secret\n").unwrap();
    let report = diagnose(folder.path(), &[]).json();
    assert_eq!(Answer::from_report(&report), Answer::expected(&small));
    assert_eq!(input_count(&report, "files"), 1);
    let cautions = report["cautions"].to_string();
    assert!(cautions.contains("2 files were skipped") && cautions.contains("a-notes.txt"), "{cautions}");
}

#[test]
fn a_byte_order_mark_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["span-csv", "otlp-json", "jaeger", "zipkin"] {
        let plain = incident(SMALL, &["--format", format]).file();
        let marked = folder.path().join(plain.file_name().unwrap());
        std::fs::write(&marked, [b"\xEF\xBB\xBF", std::fs::read(&plain).unwrap().as_slice()].concat())
            .unwrap();
        let [plain, marked] = [plain, marked].map(|path| diagnose(&path, &[]).json());
        assert_eq!(plain["suspects"], marked["suspects"], "{format}");
        assert_eq!(plain["input"]["losses"], marked["input"]["losses"], "{format}");
    }
}
