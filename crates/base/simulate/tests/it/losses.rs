//! Lost, repeated and late records.

use crate::readers;
use crate::support::{small, spans, write};
use laggard_simulate::{OutputFormat, Scenario, Settings};
use std::collections::BTreeSet;

#[test]
fn lost_records_are_missing_and_repeated_ones_appear_twice() {
    let settings = Settings { drop_records: 0.05, duplicate_records: 0.02, ..small(Scenario::Quiet, 6) };
    let all = spans(&settings);
    let (folder, summary) = write(&settings, OutputFormat::SpanCsv);
    let mut found = readers::span_csv(std::str::from_utf8(&folder.files("traces")[0].1).unwrap());
    let records = summary.truth.records;
    assert_eq!(found.len() as u64, records.written);
    assert_eq!(all.len() as u64, records.written + records.dropped - records.duplicated);
    found.sort();
    let distinct: BTreeSet<_> = found.iter().cloned().collect();
    assert_eq!(found.len() - distinct.len(), records.duplicated as usize);
    assert!(distinct.iter().all(|span| all.binary_search(span).is_ok()));
    let share = records.dropped as f64 / all.len() as f64;
    assert!((share - 0.05).abs() < 0.008, "{share}");
}

#[test]
fn every_record_may_be_lost() {
    for format in OutputFormat::ALL {
        let settings = Settings { drop_records: 1.0, ..small(Scenario::Quiet, 6) };
        let (folder, summary) = write(&settings, format);
        assert_eq!(summary.truth.records.written, 0);
        let newlines = |bytes: &Vec<u8>| bytes.iter().filter(|byte| **byte == b'\n').count();
        assert!(folder.files("traces").iter().all(|(_, bytes)| newlines(bytes) <= 2));
    }
}

#[test]
fn call_log_lines_are_lost_one_by_one() {
    let settings = Settings { drop_records: 0.05, duplicate_records: 0.02, ..small(Scenario::Quiet, 6) };
    let (folder, summary) = write(&settings, OutputFormat::CallLog);
    let lines = |bytes: &Vec<u8>| bytes.iter().filter(|byte| **byte == b'\n').count() as u64 - 1;
    let written: u64 = folder.files("traces").iter().map(|(_, bytes)| lines(bytes)).sum();
    let records = summary.truth.records;
    assert_eq!(written, records.written);
    assert_eq!(2 * summary.truth.spans, records.written + records.dropped - records.duplicated);
    assert!(records.dropped > 0 && records.duplicated > 0);
}

#[test]
fn a_late_host_comes_last_and_complete() {
    let settings = Settings { late_host: true, ..small(Scenario::Quiet, 6) };
    let (folder, summary) = write(&settings, OutputFormat::SpanCsv);
    let mut found = readers::span_csv(std::str::from_utf8(&folder.files("traces")[0].1).unwrap());
    let late = summary.truth.late_host.unwrap();
    let first_late = found.iter().position(|span| span.replica == late).unwrap();
    assert!(found[first_late..].iter().all(|span| span.replica == late));
    found.sort();
    assert!(found == spans(&settings));
}
