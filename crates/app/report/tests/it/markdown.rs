//! Markdown has at most forty lines, and names stay in their cells.

use crate::{PLAIN, fixtures, rendered};
use laggard_report::{Output, Report};

/// Checks a report's Markdown; returns the reason it fails.
pub(crate) fn check(report: &Report) -> Result<(), String> {
    let text = rendered(Output::Markdown, report, &PLAIN);
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() > 40 {
        return Err(format!("{} lines", lines.len()));
    }
    let mut table = None;
    for line in lines {
        if line.chars().any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)) {
            return Err(format!("a control character in {line:?}"));
        }
        if !line.starts_with('|') {
            table = None;
            continue;
        }
        let cells = bars(line);
        if *table.get_or_insert(cells) != cells {
            return Err(format!("{cells} bars where the head of the table has {table:?}: {line}"));
        }
    }
    Ok(())
}

/// Positions of bars that separate cells, which are those without a backslash before them.
fn bars(line: &str) -> usize {
    let bytes = line.as_bytes();
    (0..bytes.len())
        .filter(|&index| bytes[index] == b'|' && (index == 0 || bytes[index - 1] != b'\\'))
        .count()
}

#[test]
fn every_fixture_fits_in_forty_lines() {
    for fixture in fixtures::all() {
        check(&fixture.report).unwrap_or_else(|reason| panic!("{}: {reason}", fixture.name));
    }
}

#[test]
fn tables_state_how_many_rows_they_show() {
    let text = rendered(Output::Markdown, &fixtures::thousand(), &PLAIN);
    assert!(text.contains("Suspects (5 of 1,000)"), "{text}");
    assert!(text.contains("Replicas that stand out (5 of 80)"), "{text}");
}

#[test]
fn markup_of_the_input_is_inert() {
    let text = rendered(Output::Markdown, &fixtures::hostile(), &PLAIN);
    for line in text.lines() {
        let outside = unescaped_only(&outside_code(line));
        assert!(!outside.contains("<script") && !outside.contains("**"), "{outside}");
        assert!(!line.starts_with("# "), "{line}");
    }
    assert!(text.contains("\\<script\\>alert(6)\\</script\\>"), "{text}");
}

/// A line without escaped characters.
fn unescaped_only(line: &str) -> String {
    let mut chars = line.chars();
    let mut remaining = String::new();
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        } else {
            remaining.push(c);
        }
    }
    remaining
}

/// A line without its code spans (runs of backticks closed by runs of the same length).
fn outside_code(line: &str) -> String {
    let mut outside = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        if rest[..start].ends_with('\\') {
            outside.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
            continue;
        }
        outside.push_str(&rest[..start]);
        let fence = rest[start..].len() - rest[start..].trim_start_matches('`').len();
        let inner = &rest[start + fence..];
        let end = closing(inner, fence).unwrap_or_else(|| panic!("an open code span in {line:?}"));
        rest = &inner[end + fence..];
    }
    outside + rest
}

/// Where a run of exactly `fence` backticks starts.
fn closing(text: &str, fence: usize) -> Option<usize> {
    let mut position = 0;
    while let Some(found) = text[position..].find('`') {
        let run = text[position + found..].len() - text[position + found..].trim_start_matches('`').len();
        if run == fence {
            return Some(position + found);
        }
        position += found + run;
    }
    None
}

/// A report with all sections: long lists are shortened to fit.
#[test]
fn a_report_with_all_sections_fits_in_forty_lines() {
    let mut report = fixtures::thousand();
    report.baseline = fixtures::against_baseline().baseline;
    report.incidents = (0..20).flat_map(|_| fixtures::slow_periods().incidents).collect();
    report.missing = vec!["nothing".to_owned(); 9];
    check(&report).unwrap();
    let text = rendered(Output::Markdown, &report, &PLAIN);
    assert!(text.lines().count() > 30, "{text}");
    assert!(text.contains("Suspects (") && text.contains(" of 1,000)"), "{text}");
    assert!(text.contains("Slow periods (") && text.contains(" of 80)"), "{text}");
}
