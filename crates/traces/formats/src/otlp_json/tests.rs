//! OTLP JSON as specified, and as found in the wild.

use super::*;
use crate::otlp_frames::open_json as open;
use crate::sample_checks::{check_contract, losses, read, short};
use laggard_model::{ReplicaSource, SpanKind, Status};

const DOCUMENT: &str = include_str!("../../tests/samples/otlp/document.json");
const STREAM: &str = include_str!("../../tests/samples/otlp/stream.jsonl");

#[test]
fn every_field_of_a_document_is_read() {
    let found = read(open, DOCUMENT.as_bytes());
    assert!(found.losses.is_empty(), "{:?}", found.losses);
    let [server, client] = &found.spans[..] else { panic!("{:?}", found.spans) };
    assert_eq!(server.trace_id.to_string(), "5b8efff798038103d269b633813fc60c");
    assert_eq!(server.trace_text, None);
    assert_eq!((server.span_id.to_string().as_str(), server.parent), ("eee19b7ec3c1b174", None));
    assert_eq!((server.service.as_str(), server.replica.as_str()), ("cart", "cart-7d4b9"));
    assert_eq!(server.replica_source, ReplicaSource::PodName);
    assert_eq!((server.operation.as_str(), server.kind), ("GET /cart/{id}", SpanKind::Server));
    assert_eq!(server.status, Status::Error);
    assert_eq!(server.start.unix_ns(), 1_544_712_660_000_000_321);
    assert_eq!(server.inclusive.ns(), 1_000_000_333);
    assert_eq!(client.parent, Some(server.span_id));
    assert_eq!((client.operation.as_str(), client.kind), ("load cart", SpanKind::Client));
    assert_eq!((client.status, client.inclusive.ns()), (Status::Unset, 200_000_000));
}

#[test]
fn a_stream_of_every_variant_is_read_with_losses_counted() {
    let found = read(open, STREAM.as_bytes());
    let spans: Vec<_> = found.spans.iter().map(short).collect();
    let expected = [
        "late[] after  Unset 10+20 1/2",
        "unknown[] v3 client Unset 20+0 0af7651916cd43dd8448eb211c80319c/b7ad6b7169203331",
        "tempo[] base64 consumer Error 20+30 0af7651916cd43dd8448eb211c80319c/b7ad6b7169203331<1",
        "snake[h1] x  Unset 5+0 A/1",
        "unknown[] last producer Unset 1+1 0000000000000002/3",
    ];
    assert_eq!(spans, expected);
    // No end; a member without a value; a line cut off.
    let counts = [(Loss::MalformedRecord, 3), (Loss::InvalidId, 1), (Loss::NegativeTime, 1)];
    assert_eq!(losses(&found), counts, "{:?}", found.losses);
}

#[test]
fn samples_satisfy_the_contract() {
    check_contract(open, DOCUMENT.as_bytes());
    check_contract(open, STREAM.as_bytes());
}

#[test]
fn missing_spans_are_counted_unless_null() {
    let read = |json: &str| losses(&read(open, json.as_bytes()));
    assert_eq!(read(r#"{"resourceSpans":null} {} {"resourceSpans":[{"scopeSpans":[{"spans":null}]}]}"#), []);
    assert_eq!(read(r#"{"resourceSpans":"x"}"#), [(Loss::MalformedRecord, 1)]);
    assert_eq!(read(r#"{"data":[]}"#), [(Loss::MalformedRecord, 1)]);
    assert_eq!(read(r#"{"resourceSpans":[{"scopeSpans":[{"spans":[5]}]}]}"#), [(Loss::MalformedRecord, 1)]);
}

#[test]
fn single_items_may_omit_the_array() {
    let span = r#"{"traceId":"1","spanId":"2","name":"n","startTimeUnixNano":1,"endTimeUnixNano":2}"#;
    let resource = r#"{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]}"#;
    let bare =
        format!(r#"{{"resourceSpans":{{"scopeSpans":{{"spans":{span}}},"resource":{resource}}},"x":1}}"#);
    let wrapped = format!(r#"[{{"result":[{bare},{bare}],"status":"ok"}}]"#);
    let found = read(open, format!("{bare}{wrapped}").as_bytes());
    assert_eq!(found.spans.iter().map(short).collect::<Vec<_>>(), ["s[] n  Unset 1+1 1/2"; 3]);
    assert_eq!(losses(&found), []);
}

#[test]
fn spans_of_a_damaged_resource_are_counted_individually() {
    let span = r#"{"traceId":"1","spanId":"2","name":"n","startTimeUnixNano":1,"endTimeUnixNano":2}"#;
    let input = format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{span},{span}]}}],;\n{{}}\n");
    let found = read(open, input.as_bytes());
    assert_eq!(found.spans, []);
    assert_eq!(losses(&found), [(Loss::MalformedRecord, 3)]);
}

#[test]
fn the_thread_of_a_span_is_retained() {
    let span = |value: &str| {
        format!(
            r#"{{"traceId":"1","spanId":"2","name":"n","startTimeUnixNano":1,"endTimeUnixNano":2,"attributes":[{{"key":"thread.id","value":{value}}}]}}"#
        )
    };
    let spans = [r#"{"intValue":"4711"}"#, r#"{"intValue":4712}"#, r#"{"stringValue":"main"}"#].map(span);
    let input = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
    check_contract(open, input.as_bytes());
    let found = read(open, input.as_bytes());
    let threads: Vec<_> = found.spans.iter().map(|span| span.thread.map(|tid| tid.0)).collect();
    assert_eq!((threads, losses(&found)), (vec![Some(4_711), Some(4_712), None], vec![]));
}
