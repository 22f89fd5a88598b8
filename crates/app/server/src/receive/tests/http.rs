//! OTLP and Zipkin over HTTP.

use super::Headers;
use super::encode::{Encoder, TRACES_JSON, ZIPKIN_JSON, gzip, metrics, traces};
use super::server::Server;
use crate::receive::Receiver;
use crate::settings::ListenerKind;

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");
const JSON: (&str, &str) = ("content-type", "application/json; charset=utf-8");

#[tokio::test]
async fn spans_are_accepted_in_every_encoding() {
    let server = Server::start(ListenerKind::OtlpHttp).await;
    let message = traces(3, 0);
    let zstd = zstd::encode_all(message.as_slice(), 3).unwrap();
    let packed: [(Headers<'_>, Vec<u8>); 4] = [
        (&[PROTOBUF], message.clone()),
        (&[PROTOBUF, ("content-encoding", "gzip")], gzip(&message)),
        (&[PROTOBUF, ("content-encoding", "zstd")], zstd),
        (&[PROTOBUF, ("content-encoding", "identity")], message.clone()),
    ];
    for (headers, body) in &packed {
        let answer = server.post("/v1/traces", headers, body).await;
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b""[..]), "{headers:?}");
        assert_eq!(answer.header("content-type"), Some("application/x-protobuf"));
    }
    assert!(server.spans_stored().await >= 3);
    let figures = server.state.receivers.figures(Receiver::OtlpHttp);
    assert_eq!((figures.requests, figures.spans, figures.rejected), (4, 12, 0));
    server.all_memory_is_released().await;
}

#[tokio::test]
async fn json_is_answered_in_json_with_rejected_records() {
    let server = Server::start(ListenerKind::OtlpHttp).await;
    let answer = server.post("/v1/traces", &[JSON], TRACES_JSON.as_bytes()).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert!(answer.text().starts_with(r#"{"partialSuccess":{"errorMessage":"1 records without a usable id"#));
    assert!(answer.text().ends_with(r#""rejectedSpans":"1"}}"#), "{}", answer.text());
    let answer = server.post("/v1/traces", &[PROTOBUF], &traces(1, 2)).await;
    assert_eq!(&answer.body[2..4], b"\x08\x02", "two were rejected: {:?}", answer.body);
    let logs = br#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{},{}]}]}]}"#;
    let answer = server.post("/v1/logs", &[JSON], logs).await;
    assert!(answer.status == 200 && answer.text().contains(r#""rejectedLogRecords":"2""#), "{answer:?}");
    let figures = server.state.receivers.figures(Receiver::OtlpHttp);
    assert_eq!((figures.spans, figures.rejected), (2, 5));
}

#[tokio::test]
async fn metrics_become_samples() {
    let server = Server::start(ListenerKind::OtlpHttp).await;
    let answer = server.post("/v1/metrics", &[PROTOBUF], &metrics()).await;
    assert_eq!((answer.status, answer.body.as_slice()), (200, &b""[..]));
    assert_eq!(server.state.receivers.figures(Receiver::OtlpHttp).samples, 1);
}

/// Permanent errors: nothing is stored, and the response has the reason in the format of the request.
#[tokio::test]
async fn unreadable_messages_are_rejected() {
    let server = Server::start(ListenerKind::OtlpHttp).await;
    let message = traces(2, 0);
    let cases: [(&str, Headers<'_>, &[u8], u16); 9] = [
        ("/v1/traces", &[PROTOBUF], &message[..message.len() - 1], 400),
        ("/v1/traces", &[JSON], br#"{"resourceSpans":["#, 400),
        ("/v1/traces", &[PROTOBUF, ("content-encoding", "gzip")], &message, 400),
        ("/v1/traces", &[PROTOBUF, ("content-encoding", "br")], &message, 415),
        ("/v1/traces", &[PROTOBUF, ("content-encoding", "gzip, gzip")], &message, 415),
        ("/v1/traces", &[("content-type", "text/plain")], &message, 415),
        ("/v1/traces", &[], &message, 415),
        ("/v1/profiles", &[PROTOBUF], &message, 404),
        ("/v1/logs", &[JSON], b"[1", 400),
    ];
    for (path, headers, body, status) in cases {
        let answer = server.post(path, headers, body).await;
        assert_eq!(answer.status, status, "{path} {headers:?}: {}", answer.text());
    }
    let answer = server.post("/v1/traces", &[JSON], b"{").await;
    assert!(answer.text().starts_with(r#"{"code":3,"message":"#), "{}", answer.text());
    assert_eq!(server.spans_stored().await, 0);
    assert_eq!(server.state.receivers.figures(Receiver::OtlpHttp).refused, 9);
}

#[tokio::test]
async fn overloads_have_a_retry_delay() {
    let server = Server::start(ListenerKind::OtlpHttp).await;
    let mut all = server.state.receivers.in_flight.permit();
    all.grow_to(server.state.receivers.settings.in_flight_bytes_max).await.unwrap();
    let answer = server.post("/v1/traces", &[JSON], TRACES_JSON.as_bytes()).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    drop(all);
    assert_eq!(server.post("/v1/traces", &[JSON], TRACES_JSON.as_bytes()).await.status, 200);
    let figures = server.state.receivers.figures(Receiver::OtlpHttp);
    assert_eq!((figures.deferred, figures.refused, figures.spans), (1, 0, 1));
}

#[tokio::test]
async fn zipkin_spans_are_accepted() {
    let server = Server::start(ListenerKind::Zipkin).await;
    let span = Encoder::default().bytes(1, [b't'; 16]).bytes(3, [0, 0, 0, 0, 0, 0, 0, 2]);
    let span = span.bytes(5, "get").fixed64(6, 1_700_000_000_000_000).number(7, 5);
    let protobuf = Encoder::default().message(1, span);
    for (headers, body) in [
        (vec![JSON], ZIPKIN_JSON.as_bytes().to_vec()),
        (vec![JSON, ("content-encoding", "gzip")], gzip(ZIPKIN_JSON.as_bytes())),
        (vec![], ZIPKIN_JSON.as_bytes().to_vec()),
        (vec![PROTOBUF], protobuf.0),
    ] {
        let answer = server.post("/api/v2/spans", &headers, &body).await;
        assert_eq!((answer.status, answer.text().as_str()), (202, ""), "{headers:?}");
    }
    let answer = server.post("/api/v2/spans", &[JSON], br#"[{"traceId":"1"}]"#).await;
    assert!(answer.status == 202 && answer.text().contains("without a usable id"), "{answer:?}");
    for (path, headers, body, status) in [
        ("/api/v2/spans", vec![JSON], &b"[{"[..], 400),
        ("/api/v2/spans", vec![("content-type", "application/x-thrift")], b"", 415),
        ("/api/v1/spans", vec![JSON], b"[]", 404),
    ] {
        assert_eq!(server.post(path, &headers, body).await.status, status, "{path}");
    }
    assert_eq!(server.state.receivers.figures(Receiver::Zipkin).spans, 4);
}
