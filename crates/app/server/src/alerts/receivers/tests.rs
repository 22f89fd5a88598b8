//! Misbehaving receivers.

use super::*;
use crate::settings::Length;
use serde_json::json;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver as Channel, channel};
use std::time::Instant;

/// Reads a request to the end of its body: a connection closed with unread bytes is reset, and the client then may
/// lose the response.
fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut part = [0; 16_384];
    loop {
        let count = stream.read(&mut part).unwrap_or(0);
        request.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n").filter(|_| count > 0) else {
            if count == 0 {
                return text;
            }
            continue;
        };
        let length =
            head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return text;
        }
    }
}

/// A server that does this with each connection, once its request has arrived.
fn server(answer: impl Fn(&mut TcpStream) + Send + 'static) -> (String, Channel<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let request = read_request(&mut stream);
            if sender.send(request).is_err() {
                return;
            }
            answer(&mut stream);
        }
    });
    (address, received)
}

fn receiver_with(change: impl FnOnce(&mut AlertSettings)) -> Receiver {
    let mut settings = AlertSettings { send_timeout: Length::from_secs(1), ..AlertSettings::default() };
    change(&mut settings);
    let checked =
        CheckedAlerts { webhook_token: Some("0123456789abcdef".to_owned()), ..CheckedAlerts::default() };
    receivers(&settings, &checked).unwrap().remove(0)
}

/// Sends a message of any content.
fn post(receiver: &Receiver, message: &Value) -> Result<(), SendError> {
    match &receiver.transport {
        Transport::Webhook(endpoint) | Transport::Alertmanager(endpoint) => endpoint.post("5f1d", message),
        _ => panic!("{} is no endpoint", receiver.name),
    }
}

fn webhook(address: &str) -> Receiver {
    receiver_with(|settings| settings.webhook = Some(format!("http://{address}/hook")))
}

#[test]
fn a_redirect_is_not_followed() {
    let (elsewhere, visits) = server(|_| {});
    let (address, _told) = server(move |stream| {
        let _ =
            write!(stream, "HTTP/1.1 307 Away\r\nLocation: http://{elsewhere}/\r\nContent-Length: 0\r\n\r\n");
    });
    let refused = post(&webhook(&address), &json!({})).unwrap_err();
    assert!(matches!(&refused, SendError::Refused(reason) if reason.starts_with("status 307")), "{refused}");
    assert!(visits.try_recv().is_err(), "the token went elsewhere");
}

#[test]
fn a_receiver_that_never_answers_times_out() {
    let (address, _told) = server(|_| std::thread::sleep(Duration::from_secs(30)));
    let started = Instant::now();
    let sent = post(&webhook(&address), &json!({"x": "y".repeat(1 << 20)}));
    assert!(matches!(sent, Err(SendError::Unconfirmed(_))), "{sent:?}");
    assert!(started.elapsed() < Duration::from_secs(20), "long before it would have answered");
}

#[test]
fn an_endless_response_is_truncated() {
    let (address, _told) = server(|stream| {
        let _ = write!(stream, "HTTP/1.1 500 No\r\n\r\n\u{1b}[31m");
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    let Err(SendError::Unconfirmed(reason)) = post(&webhook(&address), &json!({})) else {
        panic!("it may have passed the message on");
    };
    assert!(reason.starts_with("status 500:  [31mxxx") && reason.len() < 1_100, "{reason}");
}

#[test]
fn an_absent_receiver_is_an_error() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = unused.local_addr().unwrap().to_string();
    drop(unused);
    let sent = post(&webhook(&address), &json!({}));
    assert!(matches!(sent, Err(SendError::Refused(_))), "{sent:?}");
}

#[test]
fn tokens_and_paths_are_those_of_the_settings() {
    let ok = |stream: &mut TcpStream| {
        let _ = write!(stream, "HTTP/1.1 204 Fine\r\n\r\n");
    };
    let (address, received) = server(ok);
    post(&webhook(&address), &json!({"a": 1})).unwrap();
    let head = received.recv().unwrap().to_lowercase();
    assert!(head.starts_with("post /hook http/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: bearer 0123456789abcdef\r\n"), "{head}");
    assert!(head.contains("idempotency-key: 5f1d\r\n"), "{head}");
    let alertmanager =
        receiver_with(|settings| settings.alertmanager = Some(format!("http://{address}/am/")));
    assert_eq!(alertmanager.name, "alertmanager");
    post(&alertmanager, &json!([])).unwrap();
    let head = received.recv().unwrap().to_lowercase();
    assert!(
        head.starts_with("post /am/api/v2/alerts http/1.1\r\n") && !head.contains("authorization"),
        "{head}"
    );
}

#[test]
fn an_alert_outlives_lost_messages() {
    let receiver = receiver_with(|settings| settings.alertmanager = Some("http://localhost".to_owned()));
    let time = Timestamp::from_unix_ns(0);
    assert_eq!(receiver.valid_until(time).unix_ns(), 4 * 60 * 1_000_000_000);
    assert_eq!(receiver.repeat_after, Some(Nanos::from_secs(60)), "not repeat_after: it repeats by itself");
}

#[test]
fn a_status_shows_whether_the_message_may_be_there() {
    let kind = |status: &'static str| {
        let (address, _told) = server(move |stream| {
            let _ = write!(stream, "HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        });
        match post(&webhook(&address), &json!({})).unwrap_err() {
            SendError::Refused(_) => "refused",
            SendError::Rejected(_) => "rejected",
            SendError::Unconfirmed(_) => "unconfirmed",
        }
    };
    for status in ["301", "401", "404", "429", "503"] {
        assert_eq!(kind(status), "refused", "{status}");
    }
    for status in ["400", "413", "422"] {
        assert_eq!(kind(status), "rejected", "{status}");
    }
    // 409: it still works on an attempt with the same key.
    for status in ["409", "500", "502", "504"] {
        assert_eq!(kind(status), "unconfirmed", "{status}");
    }
}
