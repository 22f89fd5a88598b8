//! A small HTTP server for tests of clients: a function from requests to responses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request that a stand-in received.
#[derive(Clone, Debug, Default)]
pub struct ReceivedRequest {
    /// The path, without the query.
    pub path: String,
    /// The fields of the query, decoded.
    pub fields: Vec<(String, String)>,
    /// The lines of the headers.
    pub headers: Vec<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// A field of the query.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A field of the query that is a whole number.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.field(name)?.parse().ok()
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A response: status line, further header lines, body.
#[derive(Clone, Debug)]
pub struct StandInResponse {
    /// `200 OK`.
    pub status: &'static str,
    /// Lines that end with `\r\n`.
    pub headers: String,
    /// The body.
    pub body: Vec<u8>,
}

impl StandInResponse {
    /// A successful response with JSON.
    pub fn json(body: impl Into<Vec<u8>>) -> StandInResponse {
        StandInResponse::new("200 OK", body)
    }

    /// A response without further headers.
    pub fn new(status: &'static str, body: impl Into<Vec<u8>>) -> StandInResponse {
        StandInResponse { status, headers: String::new(), body: body.into() }
    }
}

/// The stand-in. Its threads end with the process.
pub struct HttpStandIn {
    port: u16,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl HttpStandIn {
    /// A server that responds to the n-th request (from 0).
    ///
    /// # Panics
    /// When no port can be bound.
    pub fn new(
        respond: impl Fn(usize, &ReceivedRequest) -> StandInResponse + Send + Sync + 'static,
    ) -> HttpStandIn {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("a bound port has an address").port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (requests, respond) = (Arc::clone(&received), Arc::new(respond));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (requests, respond) = (Arc::clone(&requests), Arc::clone(&respond));
                thread::spawn(move || serve(connection, &requests, respond.as_ref()));
            }
        });
        HttpStandIn { port, received }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All requests received so far.
    ///
    /// # Panics
    /// When a thread of the server has panicked.
    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().expect("no thread panics while it holds the lock").clone()
    }
}

fn serve(
    mut connection: TcpStream,
    received: &Mutex<Vec<ReceivedRequest>>,
    respond: &dyn Fn(usize, &ReceivedRequest) -> StandInResponse,
) {
    let Some(request) = read(&connection) else { return };
    let number = {
        let mut received = received.lock().expect("no thread panics while it holds the lock");
        received.push(request.clone());
        received.len() - 1
    };
    let StandInResponse { status, headers, body } = respond(number, &request);
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n");
    // A client may have closed its connection.
    let _ = connection.write_all(head.as_bytes()).and_then(|()| connection.write_all(&body));
}

fn read(connection: &TcpStream) -> Option<ReceivedRequest> {
    let mut reader = BufReader::new(connection);
    let mut lines = reader.by_ref().lines().map_while(Result::ok);
    let target = lines.next()?.split_whitespace().nth(1)?.to_owned();
    let headers: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let fields = pairs.map(|(name, value)| (decoded(name), decoded(value))).collect();
    let mut request = ReceivedRequest { path: path.to_owned(), fields, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

/// Decodes a part of a query.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        let code = (*first == b'%').then(|| tail.get(..2)).flatten();
        let byte = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        match (first, byte) {
            (_, Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            (b'+', None) => bytes.push(b' '),
            (&first, None) => bytes.push(first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded() {
        assert_eq!(decoded("a+b%20c%7B%C3%A4%"), "a b c{ä%");
    }
}
