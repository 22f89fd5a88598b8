//! Request tables: samples, what is rejected, and that no input is recognized as one.

use crate::samples::{Sample, check_expected, samples_in};
use laggard_formats::contract::{Event, check_splits, check_truncations, transcript};
use laggard_formats::{ReaderOptions, Sniff, find_format};
use laggard_model::Loss;

fn samples() -> Vec<Sample> {
    samples_in("request-table", "request-table")
}

#[test]
fn samples_yield_their_expected_records_and_satisfy_the_contract() {
    assert_eq!(samples().len(), 2);
    for sample in samples() {
        check_expected(&sample);
        check_splits(sample.format, &sample.options(), &sample.bytes, &[1, 2, 3]);
        check_truncations(sample.format, &sample.options(), &sample.bytes);
    }
}

/// Any table of numbers could be one: the format must be specified.
#[test]
fn no_sample_is_recognized_as_a_request_table() {
    for sample in samples() {
        for format in laggard_formats::FORMATS {
            assert_eq!(format.sniff(&sample.bytes), Sniff::No, "{}", format.name);
        }
    }
}

fn read(text: &str, source: Option<&str>, columns: &[(&str, &str)]) -> laggard_formats::contract::Transcript {
    let columns = columns.iter().map(|&(name, header)| (name.to_owned(), header.to_owned())).collect();
    let options =
        ReaderOptions { columns, source_name: source.map(str::to_owned), ..ReaderOptions::default() };
    transcript(find_format("request-table").unwrap(), &options, [text.as_bytes()])
}

fn traces(text: &str, source: Option<&str>) -> Vec<String> {
    let events = read(text, source, &[]).events;
    let spans = events.into_iter().filter_map(|event| match event {
        Event::Span(span) => span.parent.is_none().then(|| span.trace_id.to_string()),
        _ => None,
    });
    spans.collect()
}

#[test]
fn lines_of_different_files_are_different_requests() {
    let text = "latency,a\n1,1\n1,1\n";
    let (first, second) = (traces(text, Some("one.csv")), traces(text, Some("two.csv")));
    assert_eq!(first.len(), 2);
    assert!(first[0] != first[1] && first[0] != second[0]);
    assert_eq!(first, traces(text, Some("one.csv")));
}

#[test]
fn columns_may_be_excluded_by_mapping() {
    let found = read("all,a,b,note\n5,1,2,x\n", None, &[("duration_ms", "all"), ("attr.note", "note")]);
    let spans: Vec<_> = found.events.iter().filter(|event| matches!(event, Event::Span(_))).collect();
    assert_eq!((spans.len(), found.losses().is_empty()), (3, true));
}

#[test]
fn other_tables_are_rejected() {
    let error = |text: &str| read(text, None, &[]).end.unwrap_err().to_string();
    assert!(error("a,b\n1,2\n").contains("--column duration_ms="));
    assert!(error("latency,anomaly\n1,2\n").contains("no column of an operation"));
}

#[test]
fn an_unterminated_last_line_is_dropped() {
    let found = read("latency,a\n10,2\n10,2", None, &[]);
    assert_eq!((found.events.len(), found.losses().count(Loss::TruncatedInput)), (3, 1));
}
