//! Prometheus remote write.

use super::Headers;
use super::encode::Encoder;
use super::server::{DECOMPRESSED_BYTES_MAX, Server};
use crate::receive::Receiver;
use crate::settings::ListenerKind;

fn message(value: f64) -> Vec<u8> {
    let label = |name: &str, value: &str| Encoder::default().bytes(1, name).bytes(2, value);
    let point = Encoder::default().fixed64(1, value.to_bits()).number(2, 1_700_000_000_000);
    let series = Encoder::default()
        .message(1, label("__name__", "process_cpu_seconds_total"))
        .message(1, label("instance", "cart-1"))
        .message(2, point.clone());
    let other = Encoder::default().message(1, label("__name__", "go_goroutines")).message(2, point);
    Encoder::default().message(1, series).message(1, other).0
}

fn snappy(bytes: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(bytes).unwrap()
}

const HEADERS: [(&str, &str); 3] = [
    ("content-type", "application/x-protobuf"),
    ("content-encoding", "snappy"),
    ("x-prometheus-remote-write-version", "0.1.0"),
];

#[tokio::test]
async fn samples_are_accepted_and_counted() {
    let server = Server::start(ListenerKind::Http).await;
    let answer = server.post("/api/v1/write", &HEADERS, &snappy(&message(5.0))).await;
    assert_eq!(answer.status, 204, "{}", answer.text());
    // Both points were accepted; only one measures what is of interest.
    assert_eq!(answer.header("x-prometheus-remote-write-samples-written"), Some("2"));
    let figures = server.state.receivers.figures(Receiver::RemoteWrite);
    assert_eq!((figures.requests, figures.samples), (1, 1));
}

#[tokio::test]
async fn other_messages_are_rejected() {
    let server = Server::start(ListenerKind::Http).await;
    let two = ("content-type", "application/x-protobuf;proto=io.prometheus.write.v2.Request");
    let other = ("content-type", "application/x-protobuf;proto=x.Y");
    let huge = snappy(&vec![0; DECOMPRESSED_BYTES_MAX + 1]);
    let cases: [(Headers<'_>, Vec<u8>, u16); 6] = [
        (&HEADERS, message(1.0), 400),
        (&HEADERS, snappy(b"\x0A\x7F"), 400),
        (&[two], snappy(b"\x2A\x04\x0A\x02\x01\x02"), 400),
        (&[other], snappy(&message(1.0)), 415),
        (&[("content-type", "application/json")], b"{}".to_vec(), 415),
        (&HEADERS, huge, 413),
    ];
    for (headers, body, status) in cases {
        let answer = server.post("/api/v1/write", headers, &body).await;
        assert_eq!(answer.status, status, "{headers:?}: {}", answer.text());
    }
}
