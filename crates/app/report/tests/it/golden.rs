//! Whole outputs against files. `LAGGARD_BLESS=1 cargo test -p laggard-report` rewrites them; read the
//! difference before you commit it.

use crate::{PLAIN, fixtures, rendered};
use laggard_report::{ColorChoice, Output, TextStyle};
use std::{env, fs, path::PathBuf};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

pub(crate) fn compare(name: &str, actual: &str) {
    let path = file(name);
    if env::var_os("LAGGARD_BLESS").is_some() {
        fs::write(&path, actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let differing = expected.lines().zip(actual.lines()).position(|(a, b)| a != b);
    assert!(
        expected == actual,
        "{name} differs, first in line {:?}; LAGGARD_BLESS=1 rewrites it.\nexpected: {:?}\nactual:   {:?}",
        differing.map(|line| line + 1),
        differing.and_then(|line| expected.lines().nth(line)),
        differing.and_then(|line| actual.lines().nth(line)),
    );
}

/// The page without the style sheet and the script, which are separate files.
pub(crate) fn without_assets(html: &str) -> String {
    html.replace(include_str!("../../assets/colors.css"), "")
        .replace(include_str!("../../assets/report.css"), "")
        .replace(include_str!("../../assets/report.js"), "")
}

#[test]
fn golden_text() {
    for fixture in fixtures::all() {
        compare(&format!("{}.txt", fixture.name), &rendered(Output::Text, &fixture.report, &PLAIN));
    }
}

#[test]
fn golden_narrow_and_colored_text() {
    let report = fixtures::three_replicas();
    let narrow = TextStyle { color: ColorChoice::Off, width: 60 };
    compare("three-replicas-60.txt", &rendered(Output::Text, &report, &narrow));
    let color = TextStyle { color: ColorChoice::On, width: 100 };
    compare("three-replicas-color.txt", &rendered(Output::Text, &report, &color));
}

#[test]
fn golden_markdown() {
    for fixture in fixtures::all() {
        compare(&format!("{}.md", fixture.name), &rendered(Output::Markdown, &fixture.report, &PLAIN));
    }
}

/// One page, and the reports that the stub server of the web tests returns; other tests check properties of all pages.
#[test]
fn golden_json_and_html() {
    for fixture in fixtures::all() {
        if ["hostile", "against-baseline", "insufficient", "slow-periods"].contains(&fixture.name) {
            compare(&format!("{}.json", fixture.name), &rendered(Output::Json, &fixture.report, &PLAIN));
            let document = rendered(Output::Document, &fixture.report, &PLAIN);
            compare(&format!("{}.document.json", fixture.name), &document);
        }
        if fixture.name == "slow-periods" {
            compare("slow-periods.html", &without_assets(&rendered(Output::Html, &fixture.report, &PLAIN)));
        }
    }
}
