//! OTLP over gRPC, with a plain HTTP/2 client.

use super::Headers;
use super::encode::{framed, gzip, metrics, traces};
use super::server::Server;
use crate::receive::Receiver;
use crate::settings::ListenerKind;
use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderMap, Request};

pub(super) const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// The result of a call.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Headers and trailers.
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(super) fn code(&self) -> &str {
        self.header("grpc-status")
    }
}

pub(super) async fn connect(server: &Server) -> SendRequest<Bytes> {
    let (sender, connection) = h2::client::handshake(server.connect().await).await.unwrap();
    tokio::spawn(async move {
        let _ = connection.await;
    });
    sender
}

pub(super) fn request(path: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::post(format!("http://localhost{path}")).header("te", "trailers");
    if headers.iter().all(|(name, _)| *name != "content-type") {
        request = request.header("content-type", "application/grpc");
    }
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).body(()).unwrap()
}

/// One call on a connection.
pub(super) async fn call(
    sender: &SendRequest<Bytes>,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> Answer {
    let mut sender = sender.clone().ready().await.unwrap();
    let (response, mut stream) = sender.send_request(request(path, headers), false).unwrap();
    // A server that refuses early may have ended the stream.
    let _ = stream.send_data(body.into(), true);
    let (parts, mut rest) = response.await.unwrap().into_parts();
    let mut body = Vec::new();
    while let Some(Ok(chunk)) = rest.data().await {
        body.extend_from_slice(&chunk);
    }
    let mut headers = parts.headers;
    headers.extend(rest.trailers().await.ok().flatten().unwrap_or_default());
    Answer { status: parts.status.as_u16(), headers, body }
}

#[tokio::test]
async fn spans_are_accepted_in_every_encoding() {
    let server = Server::start(ListenerKind::OtlpGrpc).await;
    let sender = connect(&server).await;
    let message = traces(3, 0);
    let zstd = zstd::encode_all(message.as_slice(), 3).unwrap();
    for (encoding, body) in [
        ("identity", framed(&message, false)),
        ("gzip", framed(&gzip(&message), true)),
        ("gzip", framed(&message, false)),
        ("zstd", framed(&zstd, true)),
    ] {
        let answer = call(&sender, EXPORT, &[("grpc-encoding", encoding)], body).await;
        assert_eq!((answer.status, answer.code()), (200, "0"), "{encoding}: {answer:?}");
        assert_eq!(answer.body, [0; 5], "an empty message");
    }
    assert!(server.spans_stored().await >= 3);
    assert_eq!(server.state.receivers.figures(Receiver::OtlpGrpc).spans, 12);
    server.all_memory_is_released().await;
}

#[tokio::test]
async fn rejected_records_are_reported() {
    let server = Server::start(ListenerKind::OtlpGrpc).await;
    let sender = connect(&server).await;
    let answer = call(&sender, EXPORT, &[], framed(&traces(2, 3), false)).await;
    assert_eq!((answer.code(), &answer.body[5 + 2..5 + 4]), ("0", &b"\x08\x03"[..]));
    let metrics_path = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";
    let answer = call(&sender, metrics_path, &[], framed(&metrics(), false)).await;
    assert_eq!((answer.code(), answer.body.len()), ("0", 5));
    let logs = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
    let answer = call(&sender, logs, &[], framed(&super::encode::logs(3, 2), false)).await;
    assert_eq!((answer.code(), &answer.body[5 + 2..5 + 4]), ("0", &b"\x08\x02"[..]));
    let figures = server.state.receivers.figures(Receiver::OtlpGrpc);
    assert_eq!((figures.spans, figures.samples, figures.events, figures.rejected), (2, 1, 3, 5));
}

#[tokio::test]
async fn other_requests_are_rejected() {
    let server = Server::start(ListenerKind::OtlpGrpc).await;
    let sender = connect(&server).await;
    let message = traces(1, 0);
    let good = framed(&message, false);
    let cases: [(&str, Headers<'_>, Vec<u8>, &str); 9] = [
        ("/x.Y/Z", &[], good.clone(), "12"),
        ("/grpc.health.v1.Health/Watch", &[], good.clone(), "12"),
        (EXPORT, &[("grpc-encoding", "br")], good.clone(), "12"),
        (EXPORT, &[], framed(&message, true), "3"),
        (EXPORT, &[], framed(&message[1..], false), "3"),
        (EXPORT, &[], [good.clone(), good.clone()].concat(), "3"),
        (EXPORT, &[], good[..good.len() - 1].to_vec(), "3"),
        (EXPORT, &[], Vec::new(), "3"),
        (EXPORT, &[], vec![7; 20], "3"),
    ];
    for (path, headers, body, code) in cases {
        let answer = call(&sender, path, headers, body).await;
        assert_eq!((answer.status, answer.code()), (200, code), "{path} {headers:?}: {answer:?}");
        assert!(!answer.header("grpc-message").is_empty());
    }
    let answer = call(&sender, EXPORT, &[("content-type", "application/grpc+json")], good.clone()).await;
    assert_eq!(answer.status, 415);
    let answer = call(&sender, EXPORT, &[("grpc-encoding", "br")], good.clone()).await;
    assert_eq!(answer.header("grpc-accept-encoding"), "identity,gzip,zstd");
    let answer = server.post(EXPORT, &[("content-type", "application/x-protobuf")], &message).await;
    assert!(answer.status == 415 && answer.text().contains("4318"), "{answer:?}");
    assert_eq!(server.spans_stored().await, 0);
    let answer = call(&sender, EXPORT, &[], good).await;
    assert_eq!(answer.code(), "0", "the connection is still of use");
}

#[tokio::test]
async fn health_checks_are_answered() {
    let server = Server::start(ListenerKind::OtlpGrpc).await;
    let answer = call(&connect(&server).await, "/grpc.health.v1.Health/Check", &[], framed(b"", false)).await;
    assert_eq!((answer.code(), answer.body.as_slice()), ("0", &b"\0\0\0\0\x02\x08\x01"[..]));
}

/// `RetryInfo` of a second, as the specification of OTLP wants it.
#[tokio::test]
async fn overloads_have_a_retry_delay() {
    let server = Server::start(ListenerKind::OtlpGrpc).await;
    let sender = connect(&server).await;
    let mut all = server.state.receivers.in_flight.permit();
    all.grow_to(server.state.receivers.settings.in_flight_bytes_max).await.unwrap();
    let answer = call(&sender, EXPORT, &[], framed(&traces(1, 0), false)).await;
    assert_eq!(answer.code(), "14");
    // The status again, with its code first; the rest of it is tested beside its code.
    let details = answer.header("grpc-status-details-bin");
    assert!(details.starts_with("CA4S") && details.len() > 80, "{details}");
    drop(all);
    assert_eq!(call(&sender, EXPORT, &[], framed(&traces(1, 0), false)).await.code(), "0");
}
