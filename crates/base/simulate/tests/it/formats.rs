//! Every format contains exactly the spans of the requests.

use crate::readers;
use crate::support::{Folder, Span, small, spans, write};
use laggard_simulate::{Compression, Error, OutputFormat, Scenario, Settings, generate};
use std::io::Read;

fn read(format: OutputFormat, bytes: &[u8]) -> Vec<Span> {
    let text = || std::str::from_utf8(bytes).unwrap();
    match format {
        OutputFormat::SpanCsv => readers::span_csv(text()),
        OutputFormat::OtlpJson => readers::otlp_json(text()),
        OutputFormat::OtlpProto => readers::otlp_proto(bytes),
        OutputFormat::Jaeger => readers::jaeger(text()),
        OutputFormat::Zipkin => readers::zipkin(text()),
        OutputFormat::CallLog => unreachable!("has a test of its own"),
    }
}

fn span_formats() -> impl Iterator<Item = OutputFormat> {
    OutputFormat::ALL.into_iter().filter(|format| *format != OutputFormat::CallLog)
}

fn read_all(folder: &Folder, format: OutputFormat) -> Vec<Span> {
    let files = folder.files("traces");
    let mut spans: Vec<Span> = files.iter().flat_map(|(_, bytes)| read(format, bytes)).collect();
    spans.sort();
    spans
}

#[test]
fn every_format_contains_the_spans_of_the_requests() {
    for scenario in [Scenario::ThreadPool, Scenario::CodeBugNewOperation, Scenario::LoadImbalance] {
        let settings = small(scenario, 3);
        let expected = spans(&settings);
        for format in span_formats() {
            let (folder, summary) = write(&settings, format);
            assert!(read_all(&folder, format) == expected, "{} {}", scenario.name(), format.name());
            assert_eq!(summary.truth.spans, expected.len() as u64);
            assert_eq!(summary.truth.records.written, expected.len() as u64);
            let bytes: usize = folder.files("traces").iter().map(|(_, bytes)| bytes.len()).sum();
            assert_eq!(summary.bytes, bytes as u64);
        }
    }
}

#[test]
fn spans_may_be_spread_over_files() {
    let settings = Settings { files: 3, ..small(Scenario::Quiet, 3) };
    let expected = spans(&settings);
    for format in span_formats() {
        let (folder, summary) = write(&settings, format);
        assert_eq!((summary.files, folder.files("traces").len()), (3, 3));
        assert!(folder.files("traces").iter().all(|(_, bytes)| read(format, bytes).len() > 1_000));
        assert!(read_all(&folder, format) == expected, "{}", format.name());
    }
}

#[test]
fn a_single_request_is_enough_for_every_format() {
    let settings = Settings { requests_per_service: 1, window_s: 1, files: 100, ..small(Scenario::Quiet, 3) };
    let expected = spans(&settings);
    for format in span_formats() {
        let (folder, _) = write(&settings, format);
        assert!(read_all(&folder, format) == expected, "{}", format.name());
    }
}

#[test]
fn compression_changes_nothing_but_the_size() {
    let settings = small(Scenario::Quiet, 3);
    let (plain, _) = write(&settings, OutputFormat::SpanCsv);
    let plain = plain.files("traces").remove(0).1;
    for (compression, name) in [(Compression::Gzip, "spans.csv.gz"), (Compression::Zstd, "spans.csv.zst")] {
        let folder = Folder::new();
        generate(&settings, OutputFormat::SpanCsv, folder.path(), compression).unwrap();
        let (found, bytes) = folder.files("traces").remove(0);
        assert_eq!(found, name);
        assert!(bytes.len() < plain.len() / 2);
        let mut inflated = Vec::new();
        match compression {
            Compression::Gzip => flate2::read::GzDecoder::new(&*bytes).read_to_end(&mut inflated).unwrap(),
            _ => zstd::Decoder::new(&*bytes).unwrap().read_to_end(&mut inflated).unwrap(),
        };
        assert!(inflated == plain);
    }
}

#[test]
fn spans_of_a_trace_are_scattered_except_in_jaeger_files() {
    let settings = small(Scenario::Quiet, 3);
    for (format, torn) in [(OutputFormat::SpanCsv, true), (OutputFormat::Jaeger, false)] {
        let (folder, _) = write(&settings, format);
        let spans = read(format, &folder.files("traces")[0].1);
        let runs = spans.chunk_by(|a, b| a.trace == b.trace).count();
        assert_eq!(runs > 5 * 180, torn, "{runs} runs of 180 traces");
    }
}

#[test]
fn traces_of_two_runs_do_not_mix() {
    let (folder, _) = write(&small(Scenario::Quiet, 3), OutputFormat::SpanCsv);
    let again = generate(&small(Scenario::Quiet, 4), OutputFormat::Zipkin, folder.path(), Compression::Plain);
    assert!(matches!(again, Err(Error::NotEmpty(_))));
    assert_eq!(folder.files("traces").len(), 1);
}

#[test]
fn invalid_settings_write_nothing() {
    let folder = Folder::new();
    let settings = Settings { duplicate_records: -0.1, ..small(Scenario::Quiet, 3) };
    let result = generate(&settings, OutputFormat::SpanCsv, folder.path(), Compression::Plain);
    assert!(matches!(result, Err(Error::Setting { name: "duplicate_records", .. })));
    assert!(!folder.path().join("traces").exists());
}
