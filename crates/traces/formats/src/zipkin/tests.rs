//! Zipkin JSON in its shapes.

use super::*;
use crate::sample_checks::{check_contract, losses, read, short};
use laggard_model::ReplicaSource;

const SPANS: &str = include_str!("../../tests/samples/zipkin/spans.json");

const TRACE: &str = "5aab74dbb904746bb33447baae403ed6";

fn expected() -> Vec<String> {
    vec![
        format!(
            "frontend[192.168.0.10:8080] get /hotels/{{id}} server Unset 1700000000000001000+2839000 {TRACE}/b33447baae403ed6"
        ),
        format!(
            "frontend[192.168.0.10:8080] GET /rates client Unset 1700000000000100000+1500000 {TRACE}/5e3ac9a4f6e3b90<b33447baae403ed6"
        ),
        format!(
            "rates[[2001:db8::c001]:9000] get /rates/{{id}} server Error 1700000000000300000+1000000 {TRACE}/5e3ac9a4f6e3b90<b33447baae403ed6"
        ),
        "unknown[] marked  Unset 10000+20000 B/1".to_owned(),
        "s[s-0] send producer Unset 20000+0 B/2<1".to_owned(),
    ]
}

#[test]
fn every_field_of_a_span_is_read() {
    let found = read(open, SPANS.as_bytes());
    assert_eq!(found.spans.iter().map(short).collect::<Vec<_>>(), expected());
    assert_eq!(found.spans[0].replica_source, ReplicaSource::Address);
    assert_eq!(found.spans[4].replica_source, ReplicaSource::PodName);
    let counts = [(Loss::MalformedRecord, 2), (Loss::InvalidId, 1), (Loss::NegativeTime, 1)];
    assert_eq!(losses(&found), counts, "{:?}", found.losses);
}

#[test]
fn nested_arrays_and_lines_equal_one_array() {
    let whole = read(open, SPANS.as_bytes());
    let nested = format!("[{SPANS},[],null,{SPANS}]");
    assert_eq!(read(open, nested.as_bytes()).spans.len(), 2 * whole.spans.len());
    let spans: Vec<serde_json::Value> = serde_json::from_str(SPANS).unwrap();
    let lines: String = spans.iter().map(|span| format!("{span}\n")).collect();
    let found = read(open, lines.as_bytes());
    assert_eq!((&found.spans, losses(&found)), (&whole.spans, losses(&whole)));
    check_contract(open, lines.as_bytes());
}

#[test]
fn samples_satisfy_the_contract() {
    check_contract(open, SPANS.as_bytes());
}

#[test]
fn version_1_is_recognized() {
    let old = r#"[{"traceId":"1","id":"2","name":"get","annotations":[{"timestamp":1,"value":"sr","endpoint":{"serviceName":"a"}}]}]"#;
    let found = read(open, old.as_bytes());
    assert_eq!((found.spans.len(), losses(&found)), (0, vec![(Loss::MalformedRecord, 1)]));
    assert!(found.losses.iter().all(|(_, loss)| loss.example.contains("version 1")));
}

#[test]
fn the_thread_of_a_span_is_retained() {
    let spans =
        r#"[{"traceId":"1","id":"2","name":"get","timestamp":10,"duration":5,"tags":{"thread.id":"4711"}}]"#;
    let found = read(open, spans.as_bytes());
    assert_eq!(found.spans[0].thread, Some(laggard_model::Tid(4_711)));
    check_contract(open, spans.as_bytes());
}
