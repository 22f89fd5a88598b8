//! Outputs of changes reports: golden text, size limits, accessibility, and schema.

use crate::fixtures::changes::{
    anomaly, code_change, drift, hostile, insufficient, joint, shift, steady, thousands, three_servers,
    with_headline, workload,
};
use crate::html::check_page;
use crate::{PLAIN, golden};
use laggard_report::*;

const HOSTILE: &str = "a\u{1b}[31m<script>`|*\"'\u{202e}";

fn written(output: Output, report: &ChangeReport, style: &TextStyle) -> String {
    let mut bytes = Vec::new();
    render(output, report, style, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn all() -> Vec<ChangeReport> {
    vec![
        code_change(90),
        steady(30),
        workload(30),
        anomaly(30),
        drift(30),
        insufficient(),
        three_servers(60),
        hostile(HOSTILE),
        thousands(),
    ]
}

#[test]
fn expected_text_and_markdown() {
    let narrow = TextStyle { color: ColorChoice::Off, width: 60 };
    let color = TextStyle { color: ColorChoice::On, width: 100 };
    for (name, report) in [
        ("changes", code_change(90)),
        ("changes-three-servers", three_servers(60)),
        ("changes-insufficient", insufficient()),
        ("changes-anomaly", anomaly(30)),
        ("changes-drift", drift(90)),
    ] {
        golden::compare(&format!("{name}.txt"), &written(Output::Text, &report, &PLAIN));
        golden::compare(&format!("{name}.md"), &written(Output::Markdown, &report, &PLAIN));
    }
    let page = golden::without_assets(&written(Output::Html, &code_change(90), &PLAIN));
    golden::compare("changes.html", &page);
    golden::compare("changes-60.txt", &written(Output::Text, &code_change(90), &narrow));
    golden::compare("changes-color.txt", &written(Output::Text, &code_change(90), &color));
}

#[test]
fn pages_are_well_formed_accessible_and_bounded_in_size() {
    for report in all() {
        let html = written(Output::Html, &report, &PLAIN);
        check_page(&html, 1).unwrap_or_else(|reason| panic!("{}: {reason}", report.headline));
        assert!(html.len() < 4_000_000, "{} bytes", html.len());
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
fn headlines_answer_in_few_sentences() {
    assert_eq!(
        code_change(90).headline,
        "Since 2026-01-13 01:45 (±90 s) `Home` costs 5.00 ms more CPU per call (7.60 ms → 12.6 ms) on `app-1`, 12 s after \
         deployment `v2.4`. That takes 0.16 cores at the load since then; the CPU can serve 20 % fewer requests, as if \
         there were 85 more clients. Before that, at 2026-01-12 21:30 (±90 s), `Home` went from 2.60 ms to 7.60 ms per \
         call on `app-1`. From 2026-01-12 05:00 to 08:00 another process used 16 % of the CPU \
         (peak 30 %, 1,706 CPU seconds) on `app-1`. All other changes follow the traffic."
    );
    assert_eq!(
        steady(30).headline,
        "Nothing changed: traffic explains the CPU utilization of `app-1`, within 1.9 % over 1,790 windows."
    );
    assert!(
        workload(30)
            .headline
            .starts_with("Only the workload changed: the mix of transactions moved at 2026-01-12 13:10")
    );
    assert!(anomaly(30).headline.starts_with("Since 2026-01-12 05:00 another process used 16 % of the CPU"));
    assert!(
        three_servers(60).headline.contains("on all 3 servers of tier `front`, 12 s after deployment `v2.4`")
    );
    assert!(insufficient().headline.starts_with("Too little data to say. `app-1` has 12 windows"));
}

#[test]
fn another_process_is_named_only_where_more_cpu_was_used() {
    let mut report = anomaly(30);
    let region = report.events[0].region.as_mut().unwrap();
    (region.unexplained_mean, region.unexplained_cpu_s) = (-0.002, -20.0);
    let report = with_headline(report);
    let headline = &report.headline;
    let varies = "CPU utilization varied in a way that transactions do not explain on `app-1`.";
    assert!(headline.starts_with("Since 2026-01-12 05:00 ") && headline.contains(varies), "{headline}");
    assert!(!written(Output::Markdown, &report, &PLAIN).contains("another process used"));
}

#[test]
fn rollbacks_and_unexplained_changes_have_their_own_sentences() {
    let mut report = code_change(30);
    report.events = vec![
        joint(ChangeEventKind::ApplicationChange, 1_290, &[""]),
        joint(ChangeEventKind::Rollback, 1_545, &[""]),
    ];
    let headline = with_headline(report.clone()).headline;
    assert!(
        headline.starts_with(
            "Since 2026-01-13 01:45 (±90 s) transactions cost what they did before the last change."
        ),
        "{headline}"
    );
    assert!(headline.contains("no single transaction explains it"), "{headline}");
    report.events.truncate(1);
    report.events[0].transactions = vec![shift("a", 1.0, 2.0), shift("b", 1.0, 1.5), shift("c", 1.0, 1.2)];
    let headline = with_headline(report).headline;
    assert!(
        headline.contains(
            "`a` costs 1.00 s more CPU per call (1.00 s → 2.00 s), and 2 other transactions changed."
        ),
        "{headline}"
    );
}

/// A model with an error of a third of the CPU explains nothing, so no verdict of "steady" is given.
#[test]
fn a_large_error_is_no_explanation() {
    for mut report in [steady(30), workload(30)] {
        report.servers[0].models[0].error = 0.368;
        report.servers[0].verdict = ChangeVerdict::CpuNotExplained;
        report.verdict = ChangeVerdict::CpuNotExplained;
        let report = with_headline(report);
        let headline = &report.headline;
        assert!(
            headline.contains(
                "transactions do not explain the CPU utilization of `app-1`: the model misses it by 36.8 %"
            ),
            "{headline}"
        );
        assert!(
            !headline.contains("Nothing changed") && !headline.contains("cost what they did"),
            "{headline}"
        );
        let text = written(Output::Text, &report, &PLAIN);
        assert!(text.contains("CPU not explained") && !text.starts_with("[ok]"), "{text}");
    }
}
