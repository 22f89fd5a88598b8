//! Samples with their expected records, and the contract over all of them.

use laggard_formats::contract::{Event, Transcript, check_splits, check_truncations, transcript};
use laggard_formats::{FORMATS, Format, ReaderOptions, Sniff, find_format};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// One sample file of the table formats.
pub(crate) struct Sample {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    pub format: &'static Format,
}

impl Sample {
    pub(crate) fn options(&self) -> ReaderOptions {
        // Not the folders, which differ from machine to machine: ids may be made from it.
        let source_name = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        ReaderOptions { source_name, ..ReaderOptions::default() }
    }
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

/// The samples in a subfolder, as of a format.
pub(crate) fn samples_in(name: &str, subfolder: &str) -> Vec<Sample> {
    let format = find_format(name).unwrap();
    let paths = fs::read_dir(folder().join(subfolder)).unwrap().map(|entry| entry.unwrap().path());
    let inputs = paths.filter(|path| path.extension().is_none_or(|ending| ending != "expected"));
    inputs.map(|path| Sample { bytes: fs::read(&path).unwrap(), path, format }).collect()
}

/// The samples of every format that is recognized, in folders of the formats' names. Samples of OTLP, which has two
/// formats, are in one folder and have separate tests.
pub(crate) fn recognized_samples() -> Vec<Sample> {
    let formats = FORMATS.iter().filter(|format| format.name != "request-table");
    let formats = formats.filter(|format| !format.name.starts_with("otlp"));
    formats.flat_map(|format| samples_in(format.name, format.name)).collect()
}

/// One line for each event of the reader.
fn render(transcript: &Transcript) -> String {
    let mut text = String::new();
    for event in &transcript.events {
        match event {
            Event::Span(span) => writeln!(
                text,
                "span {} {:?} {} parent {} {}@{} ({}) {:?} {:?} {:?} start {} inclusive {}",
                span.trace_id,
                span.trace_text,
                span.span_id,
                span.parent.map_or("-".to_owned(), |id| id.to_string()),
                span.service,
                span.replica,
                span.replica_source.name(),
                span.operation,
                span.kind,
                span.status,
                span.start.unix_ns(),
                span.inclusive.ns(),
            ),
            Event::Call(call) => writeln!(
                text,
                "call {} {} {} {:?} mid {} {} {:?} {:?} callee {}",
                call.host,
                call.time.unix_ns(),
                call.request,
                call.request_text,
                call.fragment,
                call.service,
                call.operation,
                call.flag,
                call.callee.map_or("-".to_owned(), |id| id.to_string()),
            ),
            Event::Sample(sample) => writeln!(
                text,
                "sample {} {:?} server {:?} tier {:?} transaction {:?} callee {:?} value {}",
                sample.time.unix_ns(),
                sample.measure,
                sample.server,
                sample.tier,
                sample.transaction,
                sample.callee,
                sample.value,
            ),
            Event::Lost(loss, example) => writeln!(text, "lost {}: {example}", loss.name()),
        }
        .unwrap();
    }
    if let Err(error) = &transcript.end {
        writeln!(text, "error: {error}").unwrap();
    }
    text
}

/// Compares what is read with the file beside the sample.
pub(crate) fn check_expected(sample: &Sample) {
    let found = render(&transcript(sample.format, &sample.options(), [&sample.bytes[..]]));
    let expected_path = format!("{}.expected", sample.path.display());
    if std::env::var_os("LAGGARD_WRITE_EXPECTED").is_some() {
        fs::write(&expected_path, &found).unwrap();
    }
    let expected = fs::read_to_string(&expected_path).unwrap();
    assert_eq!(found, expected, "{}", sample.path.display());
}

#[test]
fn every_sample_yields_its_expected_records() {
    for sample in recognized_samples() {
        check_expected(&sample);
    }
}

#[test]
fn every_sample_is_recognized_as_its_format_only() {
    for sample in recognized_samples() {
        for format in FORMATS {
            let expected = if format.name == sample.format.name { Sniff::Yes } else { Sniff::No };
            let answer = format.sniff(&sample.bytes);
            assert_eq!(answer, expected, "{} as {}", sample.path.display(), format.name);
        }
    }
}

#[test]
fn recognition_does_not_depend_on_the_input_size() {
    for sample in recognized_samples() {
        let mut decided = Sniff::NeedMore;
        for end in 0..=sample.bytes.len() {
            let answer = sample.format.sniff(&sample.bytes[..end]);
            assert!(decided == Sniff::NeedMore || answer == decided, "{} at {end}", sample.path.display());
            decided = answer;
        }
        assert_eq!(decided, Sniff::Yes);
    }
}

#[test]
fn every_sample_satisfies_the_contract() {
    for sample in recognized_samples() {
        check_splits(sample.format, &sample.options(), &sample.bytes, &[1, 2, 3]);
        check_truncations(sample.format, &sample.options(), &sample.bytes);
    }
}

/// For formats of lines, the boundaries between records are known: exactly those cuts lose nothing.
#[test]
fn exactly_the_cuts_at_line_ends_lose_nothing() {
    for name in [
        "span-csv/canonical.csv",
        "call-log/two-hosts.csv",
        "call-log/bare.log",
        "sample-csv/wide.csv",
        "access-log/nginx-seconds.log",
    ] {
        let sample = recognized_samples().into_iter().find(|sample| sample.path.ends_with(name)).unwrap();
        let header_end = sample.bytes.iter().position(|&byte| byte == b'\n').unwrap();
        for cut in header_end + 1..sample.bytes.len() {
            let part = transcript(sample.format, &sample.options(), [&sample.bytes[..cut]]);
            let is_boundary = sample.bytes[cut - 1] == b'\n';
            assert_eq!(part.losses().is_empty(), is_boundary, "{name} cut at {cut}");
        }
    }
}

#[test]
fn every_format_has_a_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for format in FORMATS {
        assert!(root.join(format.manual).is_file(), "no page {}", format.manual);
    }
}

/// Metrics in both encodings, complete and in the Collector's frames.
#[test]
fn metrics_satisfy_the_contract() {
    let read = |name: &str| fs::read(folder().join("otlp").join(name)).unwrap();
    let (binary, json) = (read("samples.binpb"), read("samples.json"));
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_be_bytes();
    let frames = [&length(&binary)[..], &binary, &length(&json), &json].concat();
    for (name, bytes) in [("otlp-proto", binary), ("otlp-json", json), ("otlp-proto", frames)] {
        let format = find_format(name).unwrap();
        assert_eq!(format.sniff(&bytes), Sniff::Yes);
        check_splits(format, &ReaderOptions::default(), &bytes, &[1, 2]);
        check_truncations(format, &ReaderOptions::default(), &bytes);
    }
}
