//! The sentence, case by case.

use crate::fixtures;
use laggard_report::{Scope, headline};

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
fn what_is_not_known_is_left_out() {
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
    report.categories[3].analysed = false;
    assert_eq!(
        headline(&report),
        "Nothing stands out: 23,732 requests in 3 categories look alike; 1 category had too few to judge."
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
fn names_cannot_leave_their_quotes() {
    let sentence = headline(&fixtures::hostile());
    assert_eq!(sentence.matches('`').count(), 4, "{sentence}");
    assert!(!sentence.chars().any(char::is_control), "{sentence}");
    assert!(sentence.chars().count() < 500, "{sentence}");
}
