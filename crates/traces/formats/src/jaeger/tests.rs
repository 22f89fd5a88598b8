//! Jaeger JSON in its shapes.

use super::*;
use crate::sample_checks::{check_contract, losses, read, short};

const TRACES: &str = include_str!("../../tests/samples/jaeger/traces.json");
const ELASTICSEARCH: &str = include_str!("../../tests/samples/jaeger/elasticsearch.jsonl");

#[track_caller]
fn check(input: &str, spans: &[&str], counts: &[(Loss, u64)]) {
    let found = read(open, input.as_bytes());
    assert_eq!(found.spans.iter().map(short).collect::<Vec<_>>(), spans);
    assert_eq!(losses(&found), counts, "{:?}", found.losses);
}

#[test]
fn traces_of_the_query_api() {
    let start = 1_700_000_000_000_000_000_i64;
    let expected = [
        format!(
            "frontend[f0] GET /hotels server Unset {}+2500000 3f6d8f4b0c1e2a5d/3f6d8f4b0c1e2a5d",
            start + 1000
        ),
        format!(
            "search[10.0.0.2] /geo.Geo/Nearby client Error {}+12500 3f6d8f4b0c1e2a5d/b2<3f6d8f4b0c1e2a5d",
            start + 100_000
        ),
        format!("unknown[] notify consumer Unset {}+0 3f6d8f4b0c1e2a5d/c3<b2", start + 200_000),
        "legacy[] a  Unset 0+5000 A/1".to_owned(),
        "legacy[] b  Unset 1000+0 A/2<1".to_owned(),
    ];
    let counts = [(Loss::MalformedRecord, 1), (Loss::InvalidId, 1), (Loss::NegativeTime, 1)];
    check(TRACES, &expected.each_ref().map(String::as_str), &counts);
}

#[test]
fn spans_of_elasticsearch_and_other_wrappings() {
    let expected = [
        "cart[cart-0] GET /cart/{id} server Ok 1700000000000000000+10000 0000000000000abc/d1",
        "cart[i-1] load  Unset 1700000000000001000+9000 abc/d2<d1",
        "db[] query  Unset 1000+1000 abc/d3<d2",
        "late[] in an array  Unset 2000+3000 abc/d5",
    ];
    // A document of the service index, and a line that is cut off.
    check(ELASTICSEARCH, &expected, &[(Loss::MalformedRecord, 2)]);
}

#[test]
fn samples_satisfy_the_contract() {
    check_contract(open, TRACES.as_bytes());
    check_contract(open, ELASTICSEARCH.as_bytes());
}

#[test]
fn values_that_are_not_traces_are_counted() {
    check("{} [] {\"data\":[]} {\"spans\":null}", &[], &[]);
    check("{\"data\":5}", &[], &[(Loss::MalformedRecord, 1)]);
    check("[1]", &[], &[(Loss::MalformedRecord, 1)]);
    check("{\"resourceSpans\":[]}", &[], &[(Loss::MalformedRecord, 1)]);
    let span = "{\"traceID\":\"A\",\"spanID\":\"1\",\"startTime\":1,\"duration\":1,\"processID\":\"p\"}";
    // Damage before the processes loses the pending spans.
    check(&format!("{{\"spans\":[{span},{span}],;"), &[], &[(Loss::MalformedRecord, 3)]);
    check(
        &format!("{{\"spans\":[{span}],\"data\":[]}}"),
        &["unknown[] unknown  Unset 1000+1000 A/1"],
        &[(Loss::MalformedRecord, 1)],
    );
}

#[test]
fn processes_may_follow_some_spans() {
    let span = |id: u8| {
        format!(
            "{{\"traceID\":\"A\",\"spanID\":\"{id}\",\"operationName\":\"o\",\"startTime\":1,\"duration\":1,\"processID\":\"p\"}}"
        )
    };
    let input = format!(
        "{{\"spans\":[{}],\"processes\":{{\"p\":{{\"serviceName\":\"s\"}},\"q\":null}},\"spans\":[{}]}}",
        span(1),
        span(2)
    );
    check(&input, &["s[] o  Unset 1000+1000 A/1", "s[] o  Unset 1000+1000 A/2"], &[]);
}

#[test]
fn the_size_of_a_single_span_is_limited() {
    let big = "x".repeat(CAPTURE_BYTES_MAX / 2);
    let span = |id: u8, tags: &str| {
        format!(
            "{{\"traceID\":\"A\",\"spanID\":\"{id}\",\"tags\":\"{tags}\",\"startTime\":1,\"duration\":1,\"operationName\":\"o\",\"tag\":\"{tags}\"}}\n"
        )
    };
    let found = read(open, [span(1, &big), span(2, "")].concat().as_bytes());
    assert_eq!(found.spans.len(), 2, "what is too much of a span are its tags");
    assert_eq!(losses(&found), [(Loss::OversizedRecord, 1)]);
}
