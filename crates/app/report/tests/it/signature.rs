//! Outputs of signatures and their differences: golden text, accessibility, JUnit, SARIF, and schemas.

use crate::html::check_page;
use crate::{PLAIN, golden};
use laggard_model::Timestamp;
use laggard_report::*;
use serde_json::Value;

const HOSTILE: &str = "a\u{1b}[31m<script>`|*\"'&]]>\u{202e}\u{fffe}";

/// 2026-01-12 from 08:00 to 10:00 UTC.
const TIME: Window = Window {
    since: Timestamp::from_unix_ns(1_768_204_800_000_000_000),
    until: Timestamp::from_unix_ns(1_768_212_000_000_000_000),
};

fn transaction(name: &str, service_time_s: Option<f64>) -> TransactionSignature {
    TransactionSignature {
        transaction: name.to_owned(),
        count: 12_000.0,
        share: 0.25,
        service_time_s,
        standard_error_s: service_time_s.map(|time| time / 100.0),
        distribution_s: service_time_s.map_or_else(Vec::new, |time| {
            (0..=20).map(|step| time * (0.8 + 0.02 * f64::from(step))).collect()
        }),
        windows: if service_time_s.is_some() { 120 } else { 0 },
        work_share_s: None,
        work_share_error_s: None,
        demand_s: Some(0.003),
        demand_standard_error_s: None,
    }
}

fn signature(names: &[&str]) -> Signature {
    let transactions =
        names.iter().zip(1..).map(|(name, number)| transaction(name, Some(f64::from(number) / 250.0)));
    let server = ServerSignature {
        server: "app-1".to_owned(),
        tier: "front".to_owned(),
        cores: 4.0,
        cores_known: true,
        windows: 120,
        utilization_mean: Some(0.42),
        constant_percent: Some(1.5),
        model_error: Some(0.03),
        transactions: transactions.collect(),
    };
    let mut signature = Signature {
        schema_version: SIGNATURE_SCHEMA_VERSION,
        report: "signature".to_owned(),
        laggard_version: "0.1.0".to_owned(),
        label: "v2.4".to_owned(),
        verdict: SignatureVerdict::Usable,
        time: Some(TIME),
        window_s: 60.0,
        count_min: 5.0,
        utilization_max: 0.95,
        servers: vec![server],
        cautions: vec!["2 of 120 windows of `app-1` are at 95 % CPU and above and do not count.".to_owned()],
        ..Signature::default()
    };
    signature.input = SampleSummary {
        files: 2,
        samples: 4_800,
        windows: 120,
        window_s: 60.0,
        window: Some(TIME),
        servers: vec![SampledServer { server: "app-1".to_owned(), ..SampledServer::default() }],
        transactions: names
            .iter()
            .map(|name| NamedCount { name: (*name).to_owned(), count: 12_000 })
            .collect(),
        formats: vec![NamedCount { name: "sample-csv".to_owned(), count: 2 }],
        ..SampleSummary::default()
    };
    signature.headline = signature_headline(&signature);
    signature
}

fn changed(name: &str, outcome: TransactionOutcome, before_s: f64, after_s: f64) -> TransactionDiff {
    TransactionDiff {
        server: "app-1".to_owned(),
        tier: "front".to_owned(),
        transaction: name.to_owned(),
        outcome,
        reason: None,
        quantity: Some(ComparedQuantity::WorkShare),
        before_s: Some(before_s),
        after_s: Some(after_s),
        difference_s: Some(after_s - before_s),
        standard_error_s: Some(0.000_1),
        detectable_s: Some(0.000_4),
        windows_before: 120,
        windows_after: 118,
        share_before: Some(0.3),
        share_after: Some(0.28),
    }
}

fn diff(transactions: Vec<TransactionDiff>, verdict: DiffVerdict) -> SignatureDiff {
    let side = |file: &str, label: &str| DiffSide {
        file: file.to_owned(),
        label: label.to_owned(),
        laggard_version: "0.1.0".to_owned(),
        time: Some(TIME),
        window_s: 60.0,
    };
    let mut diff = SignatureDiff {
        schema_version: SIGNATURE_DIFF_SCHEMA_VERSION,
        report: "signature-diff",
        laggard_version: "0.1.0".to_owned(),
        verdict,
        old: side("main.json", "v2.3"),
        new: side("build 7/new.json", "v2.4"),
        test: DiffTest { change_min: 0.1, standard_errors_min: 3.0, windows_min: 30, correction_share: 0.5 },
        counts: DiffCounts::of(&transactions),
        transactions,
        cautions: vec!["The mix of transactions at `app-1` moved by 25 %.".to_owned()],
        ..SignatureDiff::default()
    };
    diff.headline = diff_headline(&diff);
    diff
}

fn slower() -> SignatureDiff {
    let unjudged = TransactionDiff {
        reason: Some("12 windows after, 30 are needed".to_owned()),
        ..changed("Search", TransactionOutcome::Inconclusive, 0.02, 0.05)
    };
    let removed = TransactionDiff {
        quantity: None,
        after_s: None,
        difference_s: None,
        standard_error_s: None,
        ..changed("Gone", TransactionOutcome::Removed, 0.01, 0.0)
    };
    let all = vec![
        changed("Home", TransactionOutcome::Slower, 0.004, 0.009),
        TransactionDiff {
            quantity: Some(ComparedQuantity::WorkDifference),
            ..changed("Buy <now>", TransactionOutcome::Slower, 0.1, 0.12)
        },
        TransactionDiff {
            quantity: Some(ComparedQuantity::Time),
            ..changed("Cart", TransactionOutcome::Faster, 0.02, 0.01)
        },
        removed,
        unjudged,
        changed("Orders", TransactionOutcome::Same, 0.03, 0.0301),
    ];
    diff(all, DiffVerdict::Slower)
}

fn hostile() -> SignatureDiff {
    let mut difference = changed(HOSTILE, TransactionOutcome::Slower, 0.0, f64::MAX);
    difference.server = HOSTILE.to_owned();
    difference.reason = Some(HOSTILE.to_owned());
    let mut diff = diff(vec![difference; 100], DiffVerdict::Slower);
    diff.new.file = HOSTILE.to_owned();
    diff.old.label = HOSTILE.to_owned();
    diff.cautions = vec![HOSTILE.to_owned(); 50];
    diff
}

fn insufficient() -> SignatureDiff {
    let mut diff = diff(vec![], DiffVerdict::InsufficientData);
    diff.missing = vec!["The signatures have no transaction in common.".to_owned()];
    diff.headline = diff_headline(&diff);
    diff
}

fn written(output: DiffOutput, diff: &SignatureDiff) -> String {
    let mut bytes = Vec::new();
    render_difference(output, diff, &PLAIN, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn written_signature(output: Output, signature: &Signature) -> String {
    let mut bytes = Vec::new();
    render(output, signature, &PLAIN, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn expected_outputs() {
    let one = signature(&["Cart", "Home"]);
    golden::compare("signature.txt", &written_signature(Output::Text, &one));
    golden::compare("signature.md", &written_signature(Output::Markdown, &one));
    golden::compare("signature.json", &written_signature(Output::Json, &one));
    let diff = slower();
    for (name, output) in [
        ("signature-diff.txt", DiffOutput::Report(Output::Text)),
        ("signature-diff.md", DiffOutput::Report(Output::Markdown)),
        ("signature-diff.junit.xml", DiffOutput::Junit),
        ("signature-diff.sarif", DiffOutput::Sarif),
    ] {
        golden::compare(name, &written(output, &diff));
    }
    golden::compare(
        "signature-diff-insufficient.txt",
        &written(DiffOutput::Report(Output::Text), &insufficient()),
    );
}

#[test]
fn headlines() {
    assert_eq!(
        slower().headline,
        "`Home` takes +5.00 ms of CPU (+125 %) on `app-1`, and 1 more transaction got slower. 1 transaction could not be \
         compared."
    );
    let same = diff(vec![changed("Home", TransactionOutcome::Same, 1.0, 1.0)], DiffVerdict::Same);
    let rest = same.headline.strip_prefix("No transaction got slower or faster, of 1 transaction compared. ");
    assert!(rest.is_some_and(|rest| rest.ends_with("% would have been seen in each.")), "{}", same.headline);
    // 25 % of 4 ms are a difference that would have been seen, and 10 % of the one that got faster.
    let faster = vec![
        TransactionDiff {
            detectable_s: Some(0.002),
            ..changed("Cart", TransactionOutcome::Faster, 0.02, 0.01)
        },
        TransactionDiff {
            detectable_s: Some(0.001),
            ..changed("Home", TransactionOutcome::Same, 0.004, 0.004)
        },
    ];
    assert_eq!(
        diff(faster, DiffVerdict::Faster).headline,
        "No transaction got slower. `Cart` takes \u{2212}10.0 ms of CPU (\u{2212}50 %) on `app-1`. A difference of 25 % would have \
         been seen in each."
    );
    assert!(insufficient().headline.starts_with("Too little data to say. The signatures"));
    assert_eq!(
        signature(&["Cart", "Home"]).headline,
        "2 service times at 1 server. `Home` takes longest: 8.00 ms without queueing."
    );
}

#[test]
fn pages_are_well_formed_and_accessible() {
    for diff in [slower(), hostile(), insufficient()] {
        check_page(&written(DiffOutput::Report(Output::Html), &diff), 1).unwrap();
    }
    for signature in [signature(&["Cart", "Home"]), signature(&[HOSTILE; 100]), signature(&[])] {
        check_page(&written_signature(Output::Html, &signature), 1).unwrap();
    }
}

#[test]
fn control_characters_are_absent_and_lines_are_bounded() {
    for form in DiffOutput::all() {
        let text = written(form, &hostile());
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{form:?}");
    }
    for output in Output::ALL {
        let text = written_signature(output, &signature(&[HOSTILE; 100]));
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{output:?}");
    }
    for text in [
        written(DiffOutput::Report(Output::Markdown), &hostile()),
        written_signature(Output::Markdown, &signature(&[HOSTILE; 100])),
    ] {
        assert!(text.lines().count() <= 40, "{} lines", text.lines().count());
    }
}

/// Every transaction is a test case; inconclusive ones are skipped, and only slower ones fail.
#[test]
fn junit_has_a_case_for_each_transaction() {
    let xml = written(DiffOutput::Junit, &slower());
    let count = |what: &str| xml.matches(what).count();
    assert_eq!((count("<testcase "), count("<failure "), count("<skipped ")), (6, 2, 2));
    assert!(xml.contains("tests=\"6\" failures=\"2\" errors=\"0\" skipped=\"2\""));
    assert!(xml.contains("name=\"Buy &lt;now&gt;\""));
    let hostile = written(DiffOutput::Junit, &hostile());
    assert!(!hostile.contains("<script>") && !hostile.contains(['\u{fffe}', '\u{1b}']));
    let nothing = written(DiffOutput::Junit, &insufficient());
    assert!(nothing.contains("tests=\"0\""), "{nothing}");
}

#[test]
fn sarif_has_a_result_for_each_slower_transaction() {
    let log: Value = serde_json::from_str(&written(DiffOutput::Sarif, &slower())).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(
        results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "build%207/new.json"
    );
    assert_eq!(results[0]["ruleId"], log["runs"][0]["tool"]["driver"]["rules"][0]["id"]);
    let none: Value = serde_json::from_str(&written(DiffOutput::Sarif, &insufficient())).unwrap();
    assert_eq!(none["runs"][0]["results"].as_array().unwrap().len(), 0);
}

/// Files of earlier builds are baselines: `stored/` is never rewritten.
#[test]
fn the_file_of_schema_version_1_is_read() {
    let read = read_signature(include_str!("../stored/signature-1.json")).unwrap();
    let mut expected = signature(&["Cart", "Home"]);
    // Earlier builds did not write the distribution.
    expected.servers[0].transactions.iter_mut().for_each(|transaction| transaction.distribution_s.clear());
    assert_eq!(read.servers, expected.servers);
    assert_eq!((read.verdict, read.label.as_str()), (SignatureVerdict::Usable, "v2.4"));
    assert_eq!(read.time, expected.time);
}

#[test]
fn signatures_and_differences_fit_their_schemas() {
    let value = serde_json::to_value(signature(&["Cart", "Home"])).unwrap();
    crate::schemas::check(&value, &schema::<Signature>("signature"));
    for diff in [slower(), insufficient()] {
        crate::schemas::check(
            &serde_json::to_value(&diff).unwrap(),
            &schema::<SignatureDiff>("signature-diff"),
        );
    }
}
