//! Hostile clients over HTTP/2.

use super::encode::{framed, gzip, traces};
use super::grpc::{EXPORT, call, connect, request};
use super::server::{MESSAGE_BYTES_MAX, Server};
use crate::receive::Receiver;
use crate::settings::ListenerKind;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn others_are_served(server: &Server) {
    let answer = call(&connect(server).await, EXPORT, &[], framed(&traces(1, 0), false)).await;
    assert_eq!(answer.code(), "0");
}

/// Only a preface, or nothing at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_are_closed() {
    let server = Server::start(ListenerKind::OtlpGrpc).await;
    for first in [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"[..], b"PRI * HT", b""] {
        let mut stream = server.connect().await;
        stream.write_all(first).await.unwrap();
        others_are_served(&server).await;
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "still open after {first:?}");
    }
}

/// Stalled calls are ended individually.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_streams_time_out() {
    let server = Server::start(ListenerKind::OtlpGrpc).await;
    let sender = connect(&server).await;
    let mut open = Vec::new();
    for index in 0..50 {
        let mut sender = sender.clone().ready().await.unwrap();
        let (response, mut body) = sender.send_request(request(EXPORT, &[]), false).unwrap();
        if index % 2 == 0 {
            body.send_data(framed(&[0; 100], false)[..50].to_vec().into(), false).unwrap();
        }
        open.push((response, body));
    }
    others_are_served(&server).await;
    for (response, _body) in open {
        let response = tokio::time::timeout(Duration::from_secs(5), response).await.unwrap().unwrap();
        assert_eq!(response.headers()["grpc-status"], "4");
    }
    server.all_memory_is_released().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborted_streams_are_released() {
    let server = Server::start(ListenerKind::OtlpGrpc).await;
    let message = framed(&traces(500, 0), false);
    for _ in 0..4 {
        let sender = connect(&server).await;
        for _ in 0..25 {
            let mut sender = sender.clone().ready().await.unwrap();
            let (_response, mut body) = sender.send_request(request(EXPORT, &[]), false).unwrap();
            let half = message[..message.len() / 2].to_vec();
            body.send_data(half.into(), false).unwrap();
            tokio::task::yield_now().await;
            body.send_reset(h2::Reason::CANCEL);
        }
    }
    server.all_memory_is_released().await;
    others_are_served(&server).await;
    assert_eq!(server.spans_stored().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_messages_are_rejected() {
    let server = Server::start(ListenerKind::OtlpGrpc).await;
    let sender = connect(&server).await;
    // A prefix that announces a gigabyte.
    let answer = call(&sender, EXPORT, &[], [&[0, 0x40, 0, 0, 0][..], &[0; 1_000]].concat()).await;
    assert_eq!(answer.code(), "8");
    let answer = call(&sender, EXPORT, &[], framed(&vec![0; MESSAGE_BYTES_MAX + 1], false)).await;
    assert_eq!(answer.code(), "8");
    let bomb = gzip(&vec![0; MESSAGE_BYTES_MAX * 100]);
    let answer = call(&sender, EXPORT, &[("grpc-encoding", "gzip")], framed(&bomb, true)).await;
    assert_eq!(answer.code(), "8");
    others_are_served(&server).await;
    server.all_memory_is_released().await;
    assert_eq!(server.state.receivers.figures(Receiver::OtlpGrpc).refused, 3);
}
