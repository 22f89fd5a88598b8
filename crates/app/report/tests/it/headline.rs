//! Headlines of each kind of verdict.

use crate::fixtures;
use laggard_report::{Scope, SlowCalls, Verdict, WidespreadSlowdown, headline};

#[test]
fn three_replicas() {
    assert_eq!(
        headline(&fixtures::three_replicas()),
        "`chunk-store` operation `write` is slow on 3 of 100 replicas (node007, node031, node090): slow calls \
         take +48.2 ms (16×), hit 1,234 of 24,000 requests and explain 83 % of the excess latency."
    );
}

#[test]
fn all_replicas_and_a_second_suspect() {
    assert_eq!(
        headline(&fixtures::all_replicas()),
        "`metadata-db` operation `SELECT placement WHERE bucket = ?` is slow on all 4 replicas: slow calls take \
         +9.60 ms (3.42×), hit 1,234 of 24,000 requests and explain 83 % of the excess latency; 1 other operation \
         is suspected."
    );
}

#[test]
fn few_slow_calls_are_a_share_of_the_calls() {
    let mut report = fixtures::all_replicas();
    report.suspects.truncate(1);
    report.suspects[0].shift = None;
    report.suspects[0].slow_calls = Some(SlowCalls { share: 0.051, usual_share: 0.002, p_value: 1e-9 });
    report.baseline = fixtures::against_baseline().baseline;
    assert_eq!(
        headline(&report),
        "`metadata-db` operation `SELECT placement WHERE bucket = ?` is slow on all 4 replicas: 5 % of its calls are \
         slow, 0.2 % in the baseline; slow calls take +9.60 ms (3.42×), hit 1,234 of 24,000 requests and explain 83 % of \
         the excess latency."
    );
}

#[test]
fn unknown_values_are_omitted() {
    let mut report = fixtures::three_replicas();
    report.input.requests = 0;
    let lead = &mut report.suspects[0];
    lead.service.clear();
    (lead.replicas_seen, lead.factor, lead.share) = (0, f64::INFINITY, f64::NAN);
    lead.replicas = (1..=5).map(|n| format!("r{n}")).collect();
    assert_eq!(
        headline(&report),
        "Operation `write` is slow on 5 replicas (r1, r2, r3 and 2 more): slow calls take +48.2 ms and hit 1,234 \
         requests."
    );
    report.suspects[0].scope = Scope::All;
    assert!(headline(&report).contains("is slow on all replicas: "));
    report.suspects[0].replicas_seen = 1;
    assert!(headline(&report).contains("is slow on its only replica: "));
    report.suspects.clear();
    assert_eq!(headline(&report), "Requests are slow, but no operation could be named.");
}

#[test]
fn healthy() {
    let mut report = fixtures::healthy();
    assert_eq!(headline(&report), "Nothing stands out: 23,993 requests in 4 categories look alike.");
    report.categories[3].analyzed = false;
    assert_eq!(
        headline(&report),
        "Nothing stands out: 23,732 requests in 3 categories look alike; 1 category had too few requests to test."
    );
    report.categories.clear();
    assert_eq!(headline(&report), "Nothing stands out among 24,000 requests.");
}

#[test]
fn too_little_data() {
    let mut report = fixtures::insufficient();
    assert_eq!(
        headline(&report),
        "Too little data to say: 12 complete requests in 2 categories; at least 10 per category are needed."
    );
    report.settings.clear();
    report.categories.clear();
    report.input.requests = 0;
    assert_eq!(headline(&report), "Too little data to say: no complete request.");
}

#[test]
fn names_cannot_break_out_of_their_quotes() {
    let sentence = headline(&fixtures::hostile());
    assert_eq!(sentence.matches('`').count(), 8, "{sentence}");
    assert!(!sentence.chars().any(char::is_control), "{sentence}");
    assert!(sentence.chars().count() < 700, "{sentence}");
}

#[test]
fn a_call_slower_than_in_the_baseline() {
    assert_eq!(
        headline(&fixtures::against_baseline()),
        "Between `frontend` and `cartservice` (`GetCart`): calls take 197 ms longer (47×) than in the baseline since \
         06:27:19 UTC (06:26:19–06:27:22), hit 1,234 of 24,000 requests and explain 71 % of the excess latency; \
         `cartservice` is to blame, on all 4 replicas; 2 other operations are suspected."
    );
}

#[test]
fn most_operations_are_slower_at_once() {
    let mut report = fixtures::against_baseline();
    let common = WidespreadSlowdown { slower: 9, compared: 13, factor: 1.6 };
    report.baseline.as_mut().unwrap().widespread_slowdown = Some(common);
    let sentence = headline(&report);
    assert!(
        sentence.starts_with(
            "9 of 13 operations are slower than in the baseline at once (1.60× in the median): suspect what they share, \
             such as a machine, a network, or a database. Between `frontend` and `cartservice`"
        ),
        "{sentence}"
    );
}

#[test]
fn an_operation_never_called_before() {
    let mut report = fixtures::against_baseline();
    report.suspects.drain(..1);
    report.suspects.truncate(1);
    assert_eq!(
        headline(&report),
        "`mail-logic` operation `ScanAttachments` is new: never called in the baseline, calls take 12.4 ms on 3 of 100 \
         replicas (node007, node031, node090) and explain 12 % of the excess latency."
    );
}

#[test]
fn slow_periods() {
    let mut report = fixtures::slow_periods();
    assert_eq!(
        headline(&report),
        "Between `frontend` and `cartservice` (`GetCart`): slow calls take +48.2 ms (16×) in 3 of 4 slow periods, hit 1,234 of 24,000 requests and explain 83 % of the excess latency; \
         `cartservice` is to blame, on 3 of 100 replicas (node007, node031, node090). There were 4 slow periods, the \
         worst between 06:27 and 06:31 UTC."
    );
    report.incidents.drain(..2);
    report.incidents.truncate(1);
    let sentence = headline(&report);
    assert!(sentence.contains(" between 06:27 and 06:31 UTC, hit "), "{sentence}");
    assert!(sentence.ends_with("node090)."), "said once: {sentence}");
    report.incidents[0].time.until = report.window.unwrap().until;
    assert!(headline(&report).contains(" since 06:27:19 UTC (06:26:19–06:27:19), hit "));
    report.incidents[0].onset = None;
    assert!(headline(&report).contains(" since 06:27 UTC, hit "));
    report.incidents[0].suspects.clear();
    assert!(headline(&report).ends_with(" Requests were slow since 06:27 UTC."));
}

#[test]
fn no_operation_stands_out_against_the_baseline() {
    let mut report = fixtures::healthy();
    report.baseline = fixtures::against_baseline().baseline;
    assert_eq!(
        headline(&report),
        "Nothing stands out: 23,993 requests in 4 categories look alike. Requests take 30.9 ms on average, 21.3 ms in \
         the baseline: same requests slower +11.4 ms, different mix of requests −1.80 ms. The difference may \
         be chance."
    );
    if let Some(baseline) = &mut report.baseline {
        baseline.slower_ns = 0.04 * baseline.mean_ns;
    }
    assert!(headline(&report).ends_with("different mix of requests −1.80 ms."), "{}", headline(&report));
}

#[test]
fn a_slowdown_that_suspects_do_not_explain() {
    let mut report = fixtures::against_baseline();
    let explained = headline(&report);
    report.baseline.as_mut().expect("a baseline").unexplained_ns = Some(9.1e6);
    let unexplained = "Most of the excess is unexplained: 9.10 ms of 11.4 ms per request.";
    assert_eq!(headline(&report), format!("{explained} {unexplained}"));
    report.suspects.clear();
    report.verdict = Verdict::InsufficientData;
    assert_eq!(
        headline(&report),
        format!(
            "Requests are slower, and no operation is known to be. {unexplained} Requests take 30.9 ms on average, 21.3 ms \
             in the baseline: same requests slower +11.4 ms, different mix of requests −1.80 ms."
        )
    );
}
