//! Outputs of capacity reports: golden text, size limits, accessibility, and schema.

use crate::fixtures::capacity::{
    exceeded_rate, half_left, hostile, insufficient, limits, more_servers, thousands, with_headline,
};
use crate::html::check_page;
use crate::{PLAIN, golden};
use laggard_report::*;
use serde_json::Value;

const HOSTILE: &str = "a\u{1b}[31m<script>`|*\"'\u{202e}";

fn written(output: Output, report: &CapacityReport, style: &TextStyle) -> String {
    let mut bytes = Vec::new();
    render(output, report, style, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn all() -> Vec<CapacityReport> {
    vec![
        half_left(),
        more_servers(),
        limits(),
        exceeded_rate(),
        insufficient(),
        hostile(HOSTILE),
        thousands(),
    ]
}

#[test]
fn expected_text_and_markdown() {
    let narrow = TextStyle { color: ColorChoice::Off, width: 60 };
    for (name, report) in [
        ("capacity", half_left()),
        ("capacity-what-if", more_servers()),
        ("capacity-limits", limits()),
        ("capacity-rate", exceeded_rate()),
        ("capacity-insufficient", insufficient()),
    ] {
        golden::compare(&format!("{name}.txt"), &written(Output::Text, &report, &PLAIN));
        golden::compare(&format!("{name}.md"), &written(Output::Markdown, &report, &PLAIN));
    }
    golden::compare("capacity-60.txt", &written(Output::Text, &half_left(), &narrow));
    let page = golden::without_assets(&written(Output::Html, &more_servers(), &PLAIN));
    golden::compare("capacity.html", &page);
}

#[test]
fn pages_are_well_formed_accessible_and_bounded_in_size() {
    for report in all() {
        let html = written(Output::Html, &report, &PLAIN);
        check_page(&html, 1).unwrap_or_else(|reason| panic!("{}: {reason}", report.headline));
        assert!(html.len() < 2_000_000, "{} bytes", html.len());
    }
}

#[test]
fn lines_fit_the_width_and_contain_no_control_characters() {
    for report in all() {
        for width in [20, 60, 80, 100, 300] {
            let style = TextStyle { color: ColorChoice::Off, width };
            let limit = usize::from(width.clamp(60, 100));
            for line in written(Output::Text, &report, &style).lines() {
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(columns <= limit, "{columns} columns of {limit}: {line:?}");
                assert!(!line.contains(['\u{1b}', '\u{202e}']), "{line:?}");
            }
        }
        let markdown = written(Output::Markdown, &report, &PLAIN);
        assert!(markdown.lines().count() <= 40, "{} lines", markdown.lines().count());
        assert!(!markdown.contains(['\u{1b}', '\u{202e}']) && !markdown.contains("\n<script>"));
    }
}

#[test]
fn headlines_answer_the_question() {
    assert_eq!(
        half_left().headline,
        "Up to 620 clients (87.9 requests/s) within 500 ms with the least favorable mix of 24 intervals, 660 with the \
         median one; now 310 (44.2 requests/s): half is left. `app` saturates first. The model is off by 4 % at most."
    );
    let what_if = more_servers().headline;
    assert!(
        what_if.contains(
            "With these changes: up to 1,150 clients (159 requests/s), 1,190 with the median mix, 85 % more; then `db` \
             saturates first. 2 times the current load takes 24.0 ms, within the target."
        ),
        "{what_if}"
    );
    let exceeded = exceeded_rate().headline;
    assert!(
        exceeded.starts_with(
            "Up to 40.0 requests/s within 500 ms with the least favorable mix of 24 intervals, 89.9 requests/s with the \
             median one; now 44.2 requests/s: 10 % more than it can take."
        ),
        "{exceeded}"
    );
    assert!(exceeded.ends_with("The model is off by up to 35 %: a rough guess."), "{exceeded}");
    assert!(insufficient().headline.starts_with("Too little data to say. `app` has 4 windows"));
}

/// Tables and curves show the changed system.
#[test]
fn what_if_tables_show_the_changed_system() {
    let text = written(Output::Text, &more_servers(), &PLAIN);
    assert!(text.contains("4 servers of 4 cores") && !text.contains("2 servers of 4 cores"), "{text}");
    assert!(text.contains("by the model, with these changes and the least favorable mix"), "{text}");
    // The curve extends beyond 1,150 clients.
    let load = text.split("Load and response").nth(1).unwrap();
    assert!(load.split("Tiers").next().unwrap().contains("1,1"), "{load}");
}

#[test]
fn a_peak_far_above_the_current_load_is_mentioned() {
    let mut report = half_left();
    report.load = report.load.map(|load| CurrentLoad { clients_peak: Some(558.0), ..load });
    let headline = with_headline(report).headline;
    assert!(headline.contains("half is left; at the peak of 558, 10 % was left."), "{headline}");
}

#[test]
fn a_system_too_slow_for_one_client_is_reported() {
    let mut report = half_left();
    if let Some(answer) = &mut report.answer {
        answer.clients = Some(0);
    }
    assert_eq!(report.used(), Some(f64::INFINITY));
    assert!(with_headline(report).headline.starts_with("Not even one client is served within 500 ms."));
}

#[test]
fn the_json_is_the_report() {
    let data: Value = serde_json::from_str(&written(Output::Json, &more_servers(), &PLAIN)).unwrap();
    assert_eq!(data["report"], "capacity");
    assert_eq!(data["schema_version"], CAPACITY_SCHEMA_VERSION);
    assert_eq!(data["verdict"], "enough");
    assert_eq!(data["answer"]["clients"], 620);
    assert_eq!(data["what_if"]["answer"]["bottleneck"], "db");
    assert_eq!(data["model"]["tiers"][0]["kind"], "cpu");
    assert_eq!(data["observed"].as_array().unwrap().len(), 24);
}

#[test]
fn reports_fit_their_schema() {
    for report in all() {
        let json = serde_json::to_value(&report).unwrap();
        crate::schemas::check(&json, &schema::<CapacityReport>("capacity"));
    }
}
