//! The text output fits the width and has no control characters.

use crate::{fixtures, rendered};
use laggard_report::{ColorChoice, Output, Report, TextStyle};
use unicode_width::UnicodeWidthChar;

/// Checks one layout of a report; returns the reason it fails.
pub(crate) fn check(report: &Report, width: u16) -> Result<(), String> {
    let plain = rendered(Output::Text, report, &TextStyle { color: ColorChoice::Off, width });
    let limit = usize::from(width.clamp(60, 100));
    for line in plain.lines() {
        let columns: usize = line.chars().map(|c| c.width().unwrap_or(0)).sum();
        if columns > limit {
            return Err(format!("{columns} columns of {limit}: {line:?}"));
        }
        if let Some(c) = line.chars().find(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(c)) {
            return Err(format!("{c:?} in {line:?}"));
        }
    }
    let color = rendered(Output::Text, report, &TextStyle { color: ColorChoice::On, width });
    if without_sgr(&color)? != plain {
        return Err("color changes the text".to_owned());
    }
    Ok(())
}

/// The text without SGR sequences; an error when any other escape is in it.
fn without_sgr(text: &str) -> Result<String, String> {
    let mut pieces = text.split('\u{1b}');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (parameters, rest) = piece
            .strip_prefix('[')
            .and_then(|piece| piece.split_once('m'))
            .ok_or_else(|| format!("a sequence that is not SGR: {:?}", &piece[..piece.len().min(20)]))?;
        if !["0", "1", "2", "1;31", "1;32", "1;33"].contains(&parameters) {
            return Err(format!("SGR {parameters:?}"));
        }
        plain.push_str(rest);
    }
    Ok(plain)
}

#[test]
fn every_fixture_fits_every_width() {
    for fixture in fixtures::all() {
        for width in [0, 59, 60, 61, 72, 79, 80, 99, 100, 101, u16::MAX] {
            check(&fixture.report, width)
                .unwrap_or_else(|reason| panic!("{} at {width}: {reason}", fixture.name));
        }
    }
}

#[test]
fn the_largest_numbers_fit() {
    let mut report = fixtures::three_replicas();
    let lead = &mut report.suspects[0];
    (lead.effect_ns, lead.requests_hit, lead.rank) = (u64::MAX, u64::MAX, u32::MAX);
    lead.factor = 1e300;
    let input = &mut report.input;
    (input.requests, input.bytes, input.spans, input.files) = (u64::MAX, u64::MAX, u64::MAX, u64::MAX);
    report.categories[1].requests = u64::MAX;
    report.replicas[0].calls = u64::MAX;
    for width in [60, 80, 100] {
        check(&report, width).unwrap();
    }
}

#[test]
fn the_checker_finds_foreign_sequences() {
    assert!(without_sgr("a\u{1b}[2Jb").is_err());
    assert!(without_sgr("a\u{1b}]0;t\u{7}").is_err());
    assert_eq!(without_sgr("a\u{1b}[1mb\u{1b}[0m").unwrap(), "ab");
}

#[test]
fn the_answer_comes_first_and_long_lists_count_omissions() {
    let text = rendered(Output::Text, &fixtures::thousand(), &crate::PLAIN);
    assert!(text.starts_with("[!] Suspects found\n"));
    assert!(text.contains("... and 990 more suspects"), "{text}");
    assert!(text.contains("... and 70 more replicas"));
    assert!(text.lines().count() < 200, "{} lines", text.lines().count());
}
