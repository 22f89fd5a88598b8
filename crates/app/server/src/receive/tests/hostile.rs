//! Hostile clients over HTTP/1: the server stays up, the resources that they can hold are bounded, and others are served.

use super::encode::{TRACES_JSON, gzip, traces};
use super::server::{Answer, DECOMPRESSED_BYTES_MAX, MESSAGE_BYTES_MAX, Server};
use crate::receive::Receiver;
use crate::settings::ListenerKind;
use proptest::test_runner::{Config, TestRunner};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const JSON: (&str, &str) = ("content-type", "application/json");
const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");
const GZIP: (&str, &str) = ("content-encoding", "gzip");

async fn others_are_served(server: &Server) {
    let answer = server.post("/v1/traces", &[JSON], TRACES_JSON.as_bytes()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Whether the server closes the connection within a few seconds.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_headers_time_out() {
    let server = Server::start(ListenerKind::OtlpHttp).await;
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut stream = server.connect().await;
        stream.write_all(b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\nx-slow: ").await.unwrap();
        slow.push(stream);
    }
    others_are_served(&server).await;
    for stream in &mut slow {
        let _ = stream.write_all(b"a").await;
        assert!(is_closed(stream).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_bodies_time_out() {
    let server = Server::start(ListenerKind::OtlpHttp).await;
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut stream = server.connect().await;
        let head = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{";
        stream.write_all(head).await.unwrap();
        slow.push(stream);
    }
    others_are_served(&server).await;
    let answer = Answer::read(&mut slow[0]).await;
    assert_eq!((answer.status, answer.header("connection")), (408, Some("close")));
    server.all_memory_is_released().await;
    server.messages_are_rejected(Receiver::OtlpHttp, 50).await;
}

/// Decompression stops at the limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decompression_is_limited() {
    let server = Server::start(ListenerKind::OtlpHttp).await;
    let zeros = vec![0; 64 << 20];
    let of_gzip = gzip(&zeros[..MESSAGE_BYTES_MAX * 150]);
    assert!(of_gzip.len() < MESSAGE_BYTES_MAX, "{}", of_gzip.len());
    let of_zstd = zstd::encode_all(zeros.as_slice(), 1).unwrap();
    // A frame with a window of 2 GiB.
    let window = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 21 << 3, 0x01, 0x00, 0x00];
    for (encoding, body, status) in
        [("gzip", of_gzip, 413), ("zstd", of_zstd, 413), ("zstd", window.to_vec(), 400)]
    {
        let started = Instant::now();
        let answer = server.post("/v1/traces", &[PROTOBUF, ("content-encoding", encoding)], &body).await;
        assert_eq!(answer.status, status, "{encoding} after {:?}", started.elapsed());
    }
    // A message at the limit is accepted.
    let fits = gzip(&[b" ".repeat(DECOMPRESSED_BYTES_MAX - 2), b"{}".to_vec()].concat());
    assert_eq!(server.post("/v1/traces", &[JSON, GZIP], &fits).await.status, 200);
    let fits_not = gzip(&[b" ".repeat(DECOMPRESSED_BYTES_MAX - 1), b"{}".to_vec()].concat());
    assert_eq!(server.post("/v1/traces", &[JSON, GZIP], &fits_not).await.status, 413);
    server.all_memory_is_released().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_bodies_are_rejected() {
    let server = Server::start(ListenerKind::OtlpHttp).await;
    let head = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n";
    let mut declared = server.connect().await;
    declared.write_all(format!("{head}content-length: 1073741824\r\n\r\n").as_bytes()).await.unwrap();
    assert_eq!(Answer::read(&mut declared).await.status, 413);
    let mut chunked = server.connect().await;
    chunked.write_all(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes()).await.unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[0; 0x10000], b"\r\n"].concat();
    let mut sent = 0;
    while sent < 1 << 30 && chunked.write_all(&chunk).await.is_ok() {
        sent += 0x10000;
    }
    assert!(sent < 32 << 20, "{sent} bytes were accepted");
    server.all_memory_is_released().await;
    others_are_served(&server).await;
}

/// Arbitrary bytes get a response with a suitable status.
#[test]
fn mutated_messages_do_not_crash() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let server = runtime.block_on(Server::start(ListenerKind::OtlpHttp));
    let good = traces(3, 0);
    let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
    let bytes = proptest::collection::vec(proptest::num::u8::ANY, 0..400);
    let mutations = (bytes, 0..good.len(), 0..6_usize);
    let run = |(bytes, position, which): (Vec<u8>, usize, usize)| {
        let mut damaged = good.clone();
        damaged[position] ^= bytes.first().copied().unwrap_or(1);
        let (headers, body): (Vec<(&str, &str)>, Vec<u8>) = match which {
            0 => (vec![PROTOBUF], bytes),
            1 => (vec![JSON], bytes),
            2 => (vec![PROTOBUF, GZIP], bytes),
            3 => (vec![PROTOBUF, ("content-encoding", "zstd")], bytes),
            4 => (vec![PROTOBUF], damaged),
            _ => (vec![JSON], TRACES_JSON.as_bytes()[..position.min(TRACES_JSON.len())].to_vec()),
        };
        let path = ["/v1/traces", "/v1/metrics", "/v1/logs"][position % 3];
        let answer = runtime.block_on(server.post(path, &headers, &body));
        proptest::prop_assert!(matches!(answer.status, 200 | 400), "{answer:?}");
        Ok(())
    };
    runner.run(&mutations, run).unwrap();
    runtime.block_on(others_are_served(&server));
}

/// Connections without a request are closed, and those beyond the limit wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_limited() {
    let server = Server::start_with(ListenerKind::OtlpHttp, |settings| {
        settings.limits.connections = 32;
        settings.limits.connections_per_peer = 32;
    })
    .await;
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(server.connect().await);
    }
    let started = Instant::now();
    let mut served = false;
    while !served && started.elapsed() < Duration::from_secs(10) {
        let answer = server.post("/v1/traces", &[JSON], TRACES_JSON.as_bytes()).await;
        served = answer.status == 200;
    }
    assert!(served, "nobody was served within {:?}", started.elapsed());
}
