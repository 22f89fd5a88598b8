//! Outputs of comparisons: golden text, size limits, accessibility, and schema.

use crate::html::check_page;
use crate::{PLAIN, golden};
use laggard_model::{Loss, Losses};
use laggard_report::*;

const HOSTILE: &str = "a\u{1b}[31m<script>`|*\"'\u{202e}";

fn written(output: Output, comparison: &Comparison, style: &TextStyle) -> String {
    let mut bytes = Vec::new();
    render(output, comparison, style, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn part(change_ns: f64, error: f64, p_value: f64) -> LatencyPart {
    LatencyPart { change_ns, low_ns: change_ns - error, high_ns: change_ns + error, p_value }
}

fn set(label: &str, requests: u64) -> ComparedSet {
    let mut losses = Losses::default();
    losses.add_many(Loss::OrphanSpan, 3, || "trace 7".to_owned());
    ComparedSet {
        label: label.to_owned(),
        window: None,
        input: Input {
            requests,
            spans: requests * 9,
            operations: 4,
            replicas: 2,
            losses,
            ..Input::default()
        },
    }
}

fn shift(shift: f64) -> MeasuredShift {
    MeasuredShift {
        median_before: 2e6,
        median_after: 2e6 + shift,
        shift,
        low: Some(shift - 1e4),
        high: Some(shift + 1e4),
        ratio: Some(1.0 + shift / 2e6),
        effect: 0.7,
        p_value: 3e-9,
        compared_within: "category",
        significant: true,
    }
}

fn operation(name: &str, change: Change) -> OperationChange {
    let figures = OperationFigures {
        requests: 100,
        calls: 230,
        self_per_call_ns: 2e6,
        self_per_request_ns: 4.6e6,
        calls_per_request: 2.3,
    };
    let moved = !matches!(change, Change::New | Change::Vanished);
    OperationChange {
        service: "shop".to_owned(),
        operation: name.to_owned(),
        kind: "server".to_owned(),
        change,
        before: if change == Change::New { OperationFigures::default() } else { figures },
        after: if change == Change::Vanished { OperationFigures::default() } else { figures },
        change_per_request_ns: 4.1e5,
        time: moved.then(|| shift(2e5)),
        calls: moved.then(|| shift(1.5)),
        replicas_compared: 0,
        replicas: Vec::new(),
        attributes: Vec::new(),
    }
}

fn path(parent: Option<u32>, name: &str, self_ns: [f64; 2], tree_ns: [f64; 2], change: Change) -> PathChange {
    let figures = |index: usize| PathFigures {
        requests: 100,
        calls: if tree_ns[index] > 0.0 { 100 } else { 0 },
        self_ns: self_ns[index],
        tree_ns: tree_ns[index],
        self_p50_ns: self_ns[index] as u64,
    };
    PathChange {
        parent,
        service: "shop".to_owned(),
        operation: name.to_owned(),
        kind: String::new(),
        before: figures(0),
        after: figures(1),
        share: Some(0.5),
        p_value: Some(0.02),
        change,
    }
}

/// Slower, with a name that tries to break out of every output.
fn slower() -> Comparison {
    let latency = LatencyChange {
        before_ns: 5.2e7,
        after_ns: 5.7e7,
        total: part(5e6, 1e6, 1e-9),
        same_requests: part(4e6, 1e6, 1e-7),
        mix: part(-1e5, 4e5, 0.4),
        new_shapes: part(1.1e6, 2e5, 1e-4),
        vanished_shapes: part(0.0, 0.0, 1.0),
    };
    let entry = |name: &str, latency| EntryChange {
        service: "shop".to_owned(),
        operation: name.to_owned(),
        requests_before: 50,
        requests_after: 60,
        latency,
        change: Change::None,
    };
    let mut comparison = Comparison {
        schema_version: COMPARISON_SCHEMA_VERSION,
        kind: "comparison",
        verdict: ComparisonVerdict::Slower,
        headline: String::new(),
        before: set("old/", 100),
        after: set(HOSTILE, 120),
        latency: Some(latency),
        entries: vec![entry("buy", Some(latency)), entry(HOSTILE, None)],
        operations: vec![
            operation("read", Change::Slower),
            operation(HOSTILE, Change::New),
            operation("list", Change::MoreCalls),
            operation("gone", Change::Vanished),
            operation("write", Change::Faster),
            operation("same", Change::None),
        ],
        shapes: vec![ShapeChange {
            id: "0123456789ab".to_owned(),
            service: "shop".to_owned(),
            operation: "buy".to_owned(),
            fate: ShapeFate::New,
            requests_before: 0,
            requests_after: 20,
            latency_before_ns: None,
            latency_after_ns: Some(6e7),
            p_value: 1e-5,
            significant: true,
            nearest: Some("ba9876543210".to_owned()),
            similarity: Some(0.8),
            differences: vec![
                ShapeDifference {
                    path: vec!["shop buy".to_owned(), HOSTILE.to_owned()],
                    calls_before: 0.0,
                    calls_after: 1.0,
                },
                ShapeDifference {
                    path: vec!["shop buy".to_owned(), "db query".to_owned()],
                    calls_before: 3.0,
                    calls_after: 11.0,
                },
            ],
            trace_ids: vec![HOSTILE.to_owned()],
        }],
        shapes_seen: 3,
        paths: vec![
            path(None, "buy", [1e6, 1e6], [3e6, 5e6], Change::None),
            path(Some(0), "read", [2e6, 3e6], [2e6, 3e6], Change::Slower),
            path(Some(0), HOSTILE, [0.0, 1e6], [0.0, 1e6], Change::New),
        ],
        ruled_out: vec![
            "No difference beyond chance and the usual variation in 1 of 6 operations.".to_owned(),
        ],
        cautions: vec![format!("The set `{}` is odd.", HOSTILE.replace('`', ""))],
        settings: vec![Setting { name: "level".to_owned(), value: "0.01".to_owned() }],
    };
    comparison.headline = comparison_headline(&comparison);
    comparison
}

fn empty(verdict: ComparisonVerdict) -> Comparison {
    let mut comparison = Comparison {
        verdict,
        before: set("", 0),
        latency: None,
        entries: vec![],
        operations: vec![],
        shapes: vec![],
        paths: vec![],
        ruled_out: vec![],
        cautions: vec![],
        settings: vec![],
        ..slower()
    };
    comparison.headline = comparison_headline(&comparison);
    comparison
}

/// A comparison that is large in every respect.
fn thousands() -> Comparison {
    let one = slower();
    let mut comparison = slower();
    comparison.entries = vec![one.entries[0].clone(); 700];
    comparison.operations = vec![one.operations[0].clone(); 3_000];
    comparison.shapes = vec![one.shapes[0].clone(); 700];
    comparison.cautions = vec![one.cautions[0].clone(); 700];
    comparison.ruled_out = vec![one.ruled_out[0].clone(); 700];
    comparison.paths = (0..9_000_u32)
        .map(|index| path(index.checked_sub(1), "deep", [1.0, 1.0], [9_000.0, 9_000.0], Change::None))
        .collect();
    comparison
}

fn all() -> [Comparison; 4] {
    [slower(), empty(ComparisonVerdict::InsufficientData), empty(ComparisonVerdict::Unchanged), thousands()]
}

#[test]
fn expected_text_and_markdown() {
    golden::compare("comparison.txt", &written(Output::Text, &slower(), &PLAIN));
    golden::compare("comparison.md", &written(Output::Markdown, &slower(), &PLAIN));
}

#[test]
fn pages_are_well_formed_accessible_and_bounded_in_size() {
    for comparison in all() {
        let html = written(Output::Html, &comparison, &PLAIN);
        check_page(&html, 1).unwrap_or_else(|reason| panic!("{}: {reason}", comparison.headline));
        assert!(html.len() < 4_000_000, "{} bytes", html.len());
    }
}

#[test]
fn lines_fit_the_width_and_contain_no_control_characters() {
    for comparison in all() {
        for width in [20, 60, 80, 100, 300] {
            let style = TextStyle { color: ColorChoice::Off, width };
            let text = written(Output::Text, &comparison, &style);
            let limit = usize::from(width.clamp(60, 100));
            for line in text.lines() {
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(columns <= limit, "{columns} columns of {limit}: {line:?}");
                assert!(!line.contains(['\u{1b}', '\u{202e}']), "{line:?}");
            }
        }
        let markdown = written(Output::Markdown, &comparison, &PLAIN);
        assert!(markdown.lines().count() <= 40, "{} lines", markdown.lines().count());
        assert!(!markdown.contains(['\u{1b}', '\u{202e}']) && !markdown.contains("\n<script>"));
    }
}

#[test]
fn the_headline_names_the_parts_that_matter() {
    let headline = slower().headline;
    assert!(
        headline.starts_with("Requests take 57.0 ms on average instead of 52.0 ms (+9.6 %)"),
        "{headline}"
    );
    assert!(headline.contains("the same requests take +4.00 ms, new and vanished call trees add +1.10 ms"));
    assert!(headline.contains("`shop read`, slower (1.10×)"), "{headline}");
    assert!(!headline.contains("mix"), "a fortieth of the change is left out: {headline}");
    let none = empty(ComparisonVerdict::InsufficientData).headline;
    assert_eq!(none, "Too little data to say: 0 complete requests before, 120 complete requests after.");
}

#[test]
fn comparisons_fit_their_schema() {
    for comparison in all() {
        let value = serde_json::to_value(&comparison).unwrap();
        crate::schemas::check(&value, &schema::<Comparison>("compare"));
    }
}
