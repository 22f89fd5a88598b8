//! The right answer in every format, and every field of the schema.

use crate::outcome::{diagnose, input_count, losses};
use crate::workshop::{
    Answer, BURSTS, FEW, QUIET, RANDOM_DEVICE, Recipe, SLOW_HOST, SMALL, THREAD_POOL, incident,
};
use serde_json::Value;

const FORMATS: [&str; 6] = ["span-csv", "otlp-json", "otlp-proto", "jaeger", "zipkin", "call-log"];
const ENDINGS: [(&str, &str); 3] = [("plain", ""), ("gzip", ".gz"), ("zstd", ".zst")];

/// Diagnoses an incident in a format; checks the answer and the counts against the truth.
fn check(recipe: Recipe, format: &str) -> Value {
    let incident = incident(recipe, &["--format", format]);
    let report = diagnose(&incident.traces(), &[]).json();
    assert_eq!(Answer::from_report(&report), Answer::expected(&incident), "{recipe:?} as {format}");
    let truth = incident.truth();
    assert_eq!(report["input"]["spans"], truth["spans"]);
    assert_eq!(report["input"]["traces"], truth["requests"]);
    assert_eq!(report["input"]["requests"], truth["requests"]);
    assert_eq!(report["input"]["formats"][0]["name"], format);
    assert_eq!(losses(&report), ["clock_skew"], "clocks are off, nothing else is wrong");
    report
}

#[test]
fn the_faulty_replicas_are_named() {
    check(RANDOM_DEVICE, "span-csv");
}

#[test]
fn every_format_yields_the_same_numbers() {
    let reports = FORMATS.map(|format| {
        let report = diagnose(&incident(FEW, &["--format", format]).traces(), &[]).json();
        assert_eq!(
            (&report["verdict"], losses(&report)),
            (&"suspects".into(), vec!["clock_skew"]),
            "{format}"
        );
        report
    });
    for report in &reports[1..] {
        assert_eq!(Answer::from_report(report), Answer::from_report(&reports[0]));
        for field in ["categories", "suspects", "replicas"] {
            let (one, other) = (&reports[0][field], &report[field]);
            assert_eq!(one.as_array().unwrap().len(), other.as_array().unwrap().len(), "{field}");
        }
        // The call log, Jaeger and Zipkin carry microseconds, the others nanoseconds; the usual call takes 134 µs.
        for name in ["share", "factor", "effect_ns"] {
            let [one, other] = [&reports[0], report].map(|r| r["suspects"][0][name].as_f64().unwrap());
            assert!((one - other).abs() <= one / 134.0, "{name}: {one} and {other}");
        }
    }
}

#[test]
fn no_format_blames_a_replica_for_a_fault_on_all_of_them() {
    for format in FORMATS {
        check(THREAD_POOL, format);
    }
}

#[test]
fn every_format_reports_a_quiet_system_as_healthy() {
    for format in FORMATS {
        let report = check(QUIET, format);
        assert_eq!(report["verdict"], "healthy");
        assert_eq!(report["suspects"].as_array().unwrap().len(), 0);
    }
}

#[test]
fn every_compression_gives_the_same_report() {
    for format in FORMATS {
        let reports = ENDINGS.map(|(kind, ending)| {
            let incident = incident(SMALL, &["--format", format, "--compression", kind]);
            let name = incident.files()[0].file_name().unwrap().to_str().unwrap().to_owned();
            let is_packed = name.ends_with(".gz") || name.ends_with(".zst");
            assert!(name.ends_with(ending) && is_packed != ending.is_empty(), "{name}");
            let mut report = diagnose(&incident.traces(), &[]).json();
            assert!(input_count(&report, "bytes") > 0);
            report["input"]["bytes"] = Value::Null;
            report
        });
        assert_eq!(reports[0], reports[1], "{format}: plain and gzip");
        assert_eq!(reports[0], reports[2], "{format}: plain and zstd");
    }
}

#[test]
fn bursts_are_found_on_three_hosts_of_sixty() {
    let report = check(BURSTS, "otlp-proto");
    assert_eq!(report["suspects"][0]["replicas"].as_array().unwrap().len(), 3);
    assert_eq!(report["suspects"][0]["replicas_seen"], 60, "counted over all requests");
}

#[test]
fn only_the_slow_host_is_named() {
    let incident = incident(SLOW_HOST, &[]);
    let report = diagnose(&incident.traces(), &[]).json();
    let (actual, expected) = (Answer::from_report(&report), Answer::expected(&incident));
    assert_eq!((&actual.verdict, &actual.replicas), (&expected.verdict, &expected.replicas));
    assert!(actual.operations.is_subset(&expected.operations), "{actual:?}");
    let replicas = report["replicas"].as_array().unwrap();
    assert_eq!(replicas.len(), 1);
    assert!(expected.replicas.contains(replicas[0]["replica"].as_str().unwrap()));
}

#[test]
fn a_call_log_of_one_file_per_host_is_read() {
    let incident = incident(RANDOM_DEVICE, &["--format", "call-log"]);
    assert_eq!(incident.files().len(), 100);
    let report = diagnose(&incident.traces(), &[]).json();
    assert_eq!(input_count(&report, "files"), 100);
    assert_eq!(input_count(&report, "replicas"), 100);
    assert_eq!(
        input_count(&report, "call_records"),
        incident.truth()["records"]["written"].as_u64().unwrap()
    );
}

/// The JSON type of a field.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Count,
    Number,
    Share,
    Truth,
    Texts,
}

use Kind::{Count, Number, Share, Text, Texts, Truth};

fn holds(kind: Kind, value: &Value) -> bool {
    match kind {
        Text => value.as_str().is_some_and(|text| !text.is_empty()),
        Count => value.is_u64(),
        Number => value.is_number(),
        Share => value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)),
        Truth => value.is_boolean(),
        Texts => value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_string)),
    }
}

const CATEGORY: &[(&str, Kind)] = &[
    ("id", Text),
    ("service", Text),
    ("operation", Text),
    ("requests", Count),
    ("cv", Number),
    ("anomalous", Truth),
    ("latency_p50_ns", Count),
    ("latency_p99_ns", Count),
];
const SUSPECT: &[(&str, Kind)] = &[
    ("rank", Count),
    ("service", Text),
    ("operation", Text),
    ("scope", Text),
    ("replicas", Texts),
    ("score", Number),
    ("effect_ns", Count),
    ("factor", Number),
    ("share", Share),
    ("categories", Texts),
    ("trace_ids", Texts),
];
const REPLICA: &[(&str, Kind)] = &[
    ("rank", Count),
    ("replica", Text),
    ("service", Text),
    ("score", Number),
    ("effect_ns", Count),
    ("p_value", Share),
    ("operations", Texts),
];

#[test]
fn the_json_has_every_field_of_schema_version_2() {
    let incident = incident(SLOW_HOST, &[]);
    let report = diagnose(&incident.traces(), &[]).json();
    assert_eq!(report["schema_version"], 2);
    assert!(holds(Text, &report["verdict"]) && holds(Text, &report["headline"]));
    assert!(report["input"]["losses"].is_object());
    for (list, fields) in [("categories", CATEGORY), ("suspects", SUSPECT), ("replicas", REPLICA)] {
        let rows = report[list].as_array().unwrap();
        assert!(!rows.is_empty(), "{list}");
        for (row, &(name, kind)) in rows.iter().flat_map(|row| fields.iter().map(move |field| (row, field))) {
            assert!(holds(kind, &row[name]), "{list}[].{name} is {}, not {kind:?}", row[name]);
        }
    }
    for list in ["suspects", "replicas"] {
        let ranks = report[list].as_array().unwrap().iter().map(|row| row["rank"].as_u64().unwrap());
        assert!(ranks.eq(1..=report[list].as_array().unwrap().len() as u64), "{list} are ranked 1, 2, 3, …");
    }
    let shares = report["suspects"].as_array().unwrap().iter().map(|row| row["share"].as_f64().unwrap());
    let sum: f64 = shares.sum();
    assert!(sum > 0.0 && sum <= 1.0, "{sum}");
    let known: Vec<&Value> = report["categories"].as_array().unwrap().iter().map(|c| &c["id"]).collect();
    for suspect in report["suspects"].as_array().unwrap() {
        assert!(suspect["categories"].as_array().unwrap().iter().all(|id| known.contains(&id)));
    }
}
