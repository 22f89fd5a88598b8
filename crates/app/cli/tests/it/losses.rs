//! Damaged, incomplete, and oversized inputs: the run continues and reports losses.

use crate::outcome::{diagnose, input_count, laggard, loss, losses};
use crate::workshop::{Answer, RANDOM_DEVICE, SMALL, incident};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The text report, which lists losses.
fn text(path: &Path, further: &[&str]) -> String {
    let arguments = [&["diagnose", path.to_str().unwrap()], further].concat();
    laggard(&arguments).text().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_file_ending_inside_a_row_counts_as_truncated() {
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.csv");
    let bytes = std::fs::read(incident(RANDOM_DEVICE, &[]).file()).unwrap();
    let half = &bytes[..bytes.len() / 2];
    let end = half.iter().rposition(|&byte| byte == b'\n').unwrap() + 10;
    std::fs::write(&cut, &bytes[..end]).unwrap();
    let report = diagnose(&cut, &[]).json();
    assert_eq!(loss(&report, "truncated_input"), 1);
    let whole_rows = half.iter().filter(|&&byte| byte == b'\n').count() as u64 - 1;
    assert_eq!(input_count(&report, "spans"), whole_rows);
    assert!(loss(&report, "orphan_span") + loss(&report, "missing_root") > 0, "traces were torn apart");
    assert!(text(&cut, &[]).contains("1 inputs that end inside a record"));
    let example = report["input"]["losses"]["truncated_input"]["example"].as_str().unwrap();
    assert!(example.contains("cut.csv"), "{example}");
}

#[test]
fn damaged_compression_loses_only_what_follows() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, ending) in [("gzip", "gz"), ("zstd", "zst")] {
        let spread = incident(RANDOM_DEVICE, &["--files", "4", "--compression", kind]);
        let copy = folder.path().join(kind);
        std::fs::create_dir(&copy).unwrap();
        for (index, file) in spread.files().iter().enumerate() {
            let bytes = std::fs::read(file).unwrap();
            let end = if index == 1 { bytes.len() / 2 } else { bytes.len() };
            std::fs::write(copy.join(format!("{index}.csv.{ending}")), &bytes[..end]).unwrap();
        }
        let report = diagnose(&copy, &[]).json();
        assert_eq!(loss(&report, "corrupt_compression"), 1, "{kind}");
        let example = report["input"]["losses"]["corrupt_compression"]["example"].as_str().unwrap();
        assert!(example.contains(&format!("1.csv.{ending}")), "{example}");
        let spans = input_count(&report, "spans");
        let all = spread.truth()["spans"].as_u64().unwrap();
        assert!(spans > all * 6 / 10 && spans < all, "{kind}: {spans} of {all}");
        assert!(loss(&report, "partial_request") > 0);
        assert!(text(&copy, &[]).contains("1 damaged compressed streams"));
    }
}

#[test]
fn mangled_lines_are_counted_and_the_rest_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mangled = folder.path().join("mangled.csv");
    let table = std::fs::read_to_string(incident(SMALL, &[]).file()).unwrap();
    let rows = table.lines().count() as u64 - 1;
    let lines = table.lines().enumerate();
    let lines = lines.map(|(index, line)| if index % 10 == 9 { &line[line.len() / 2..] } else { line });
    std::fs::write(&mangled, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let report = diagnose(&mangled, &["--set", "requests-min=2"]);
    assert!([0, 4].contains(&report.status), "{}", report.stderr);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let broken = (rows + 1) / 10;
    let named = loss(&report, "malformed_record") + loss(&report, "invalid_id");
    assert_eq!(named, broken, "{:?}", report["input"]["losses"]);
    assert_eq!(input_count(&report, "spans"), rows - broken);
}

#[test]
fn duplicate_spans_do_not_change_the_answer() {
    let clean = diagnose(&incident(RANDOM_DEVICE, &[]).traces(), &[]).json();
    let twice = incident(RANDOM_DEVICE, &["--duplicate", "0.05"]);
    let report = diagnose(&twice.traces(), &[]).json();
    let truth = twice.truth();
    assert!(truth["records"]["duplicated"].as_u64().unwrap() > 1000);
    assert_eq!(loss(&report, "duplicate_span"), truth["records"]["duplicated"].as_u64().unwrap());
    assert_eq!(report["input"]["spans"], truth["records"]["written"], "spans as read");
    for field in ["verdict", "categories", "suspects", "replicas", "heat_map", "latency"] {
        assert_eq!(report[field], clean[field], "{field}");
    }
    assert!(text(&twice.traces(), &[]).contains("duplicate spans, first one used"));
}

/// A line of a call log that repeats the line before it is dropped and counted; the answer stays the same.
#[test]
fn repeated_lines_of_a_call_log_are_dropped_and_counted() {
    let twice = incident(RANDOM_DEVICE, &["--duplicate", "0.01", "--format", "call-log"]);
    let report = diagnose(&twice.traces(), &[]).json();
    assert_eq!(Answer::from_report(&report), Answer::expected(&twice));
    let duplicated = twice.truth()["records"]["duplicated"].as_u64().unwrap();
    assert_eq!(loss(&report, "duplicate_span"), duplicated);
    assert_eq!(loss(&report, "partial_request"), 0);
}

/// Orphans and rootless traces of a span table, counted independently by their definition.
struct Missing {
    orphans: u64,
    rootless: u64,
    traces: u64,
}

fn missing(table: &str) -> Missing {
    let mut traces: BTreeMap<&str, Vec<[&str; 2]>> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let mut cells = line.split(',');
        let [trace, span, parent] = [(); 3].map(|()| cells.next().unwrap());
        traces.entry(trace).or_default().push([span, parent]);
    }
    let mut found = Missing { orphans: 0, rootless: 0, traces: traces.len() as u64 };
    for spans in traces.values() {
        let ids: BTreeSet<&str> = spans.iter().map(|span| span[0]).collect();
        if spans.iter().any(|span| span[1].is_empty()) {
            let is_orphan = |span: &&[&str; 2]| !span[1].is_empty() && !ids.contains(span[1]);
            found.orphans += spans.iter().filter(is_orphan).count() as u64;
        } else {
            found.rootless += 1;
        }
    }
    found
}

#[test]
fn dropped_spans_make_orphans_and_partial_requests() {
    let dropped = incident(RANDOM_DEVICE, &["--drop", "0.001"]);
    let report = diagnose(&dropped.traces(), &[]).json();
    let table = std::fs::read_to_string(dropped.file()).unwrap();
    assert!(table.starts_with("trace_id,span_id,parent_span_id,"));
    let expected = missing(&table);
    assert!(expected.orphans > 20);
    assert_eq!(loss(&report, "orphan_span"), expected.orphans);
    assert_eq!(loss(&report, "missing_root"), expected.rootless);
    assert_eq!(input_count(&report, "traces"), expected.traces);
    assert_eq!(report["input"]["spans"], dropped.truth()["records"]["written"]);
    assert!(loss(&report, "partial_request") > 0);
    assert_eq!(report["verdict"], "suspects");
    let text = text(&dropped.traces(), &[]);
    assert!(text.contains(&format!("{} spans whose parent is missing, excluded", expected.orphans)));
    assert!(report["cautions"].to_string().contains("requests are incomplete"), "{}", report["cautions"]);
}

#[test]
fn dropped_lines_of_a_call_log_are_reported_as_missing() {
    let dropped = incident(RANDOM_DEVICE, &["--drop", "0.001", "--format", "call-log"]);
    let report = diagnose(&dropped.traces(), &[]).json();
    assert_eq!(report["input"]["call_records"], dropped.truth()["records"]["written"]);
    let lost = dropped.truth()["records"]["dropped"].as_u64().unwrap();
    let noticed = ["missing_return", "stray_return"].map(|name| loss(&report, name));
    assert!(noticed.iter().all(|&count| count > 0), "{:?}", losses(&report));
    assert!(noticed.iter().sum::<u64>() <= 2 * lost, "{noticed:?} of {lost}");
    assert!(loss(&report, "partial_request") > 0);
}

#[test]
fn late_records_do_not_change_the_report() {
    let late = incident(RANDOM_DEVICE, &["--late-host"]);
    assert!(late.truth()["late_host"].is_string());
    let bytes = |path| std::fs::read(path).unwrap();
    assert_ne!(bytes(late.file()), bytes(incident(RANDOM_DEVICE, &[]).file()), "their order differs");
    let [late, punctual] =
        [&late, &incident(RANDOM_DEVICE, &[])].map(|incident| diagnose(&incident.traces(), &[]).text());
    assert_eq!(late, punctual);
}

#[test]
fn a_small_memory_limit_drops_whole_traces_and_reports_it() {
    for (format, files) in [("span-csv", "1"), ("span-csv", "7"), ("call-log", "1")] {
        let incident = incident(RANDOM_DEVICE, &["--format", format, "--files", files]);
        let run = diagnose(&incident.traces(), &["--memory", "1MiB", "--beyond-memory", "thin"]);
        assert!([0, 4].contains(&run.status), "{}", run.stderr);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let spans = input_count(&report, "spans");
        assert!(
            spans > 1000 && spans * 51 <= 1 << 20,
            "{format}: {spans} spans of 51 bytes are within the limit"
        );
        assert!(loss(&report, "memory_limit") > 0);
        assert!(input_count(&report, "requests") >= 8, "{format}");
        for torn in ["orphan_span", "missing_root", "partial_request", "missing_return"] {
            assert_eq!(loss(&report, torn), 0, "{format}: whole traces are let go");
        }
        assert!(report["cautions"].to_string().contains("Only one trace in"), "{}", report["cautions"]);
    }
}
