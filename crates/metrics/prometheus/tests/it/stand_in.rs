//! A minimal server: one thread, one response per connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A query the server received.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceivedQuery {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<String>,
    pub(crate) query: String,
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) step: f64,
}

impl ReceivedQuery {
    /// The instants of the query.
    pub(crate) fn instants(&self) -> impl Iterator<Item = f64> + use<> {
        let (start, end, step) = (self.start, self.end, self.step);
        (0..).map(move |index| start + f64::from(index) * step).take_while(move |&time| time <= end + 1e-6)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// The stand-in. Its thread ends with the process.
pub(crate) struct StandIn {
    port: u16,
    received_queries: Arc<Mutex<Vec<ReceivedQuery>>>,
}

impl StandIn {
    /// A server that responds to the n-th query (from 0) with the bytes of `answer`.
    pub(crate) fn new(answer: impl Fn(usize, &ReceivedQuery) -> Vec<u8> + Send + 'static) -> StandIn {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let received_queries = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&received_queries);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let Ok(mut connection) = connection else { continue };
                let Some(query) = read(&connection) else { continue };
                let number = {
                    let mut received = received.lock().unwrap();
                    received.push(query.clone());
                    received.len() - 1
                };
                let _ = connection.write_all(&answer(number, &query));
            }
        });
        StandIn { port, received_queries }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All queries received so far.
    pub(crate) fn received_queries(&self) -> Vec<ReceivedQuery> {
        self.received_queries.lock().unwrap().clone()
    }
}

fn read(connection: &TcpStream) -> Option<ReceivedQuery> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        headers.push(header.trim().to_owned());
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut received_query =
        ReceivedQuery { method, path: path.to_owned(), headers, ..ReceivedQuery::default() };
    let length = received_query.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let form = if received_query.method == "POST" { String::from_utf8(body).ok()? } else { query.to_owned() };
    for pair in form.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let value = decoded(value);
        match name {
            "query" => received_query.query = value,
            "start" => received_query.start = value.parse().ok()?,
            "end" => received_query.end = value.parse().ok()?,
            _ => received_query.step = value.parse().ok()?,
        }
    }
    Some(received_query)
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let code = std::str::from_utf8(&tail[..2]).unwrap();
                bytes.push(u8::from_str_radix(code, 16).unwrap());
                rest = &tail[2..];
            }
            &byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// A complete HTTP response.
pub(crate) fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut bytes =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n")
            .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// The matrix of some series: labels as JSON, and what an instant gives.
pub(crate) fn matrix(series: &[(&str, Vec<(f64, String)>)]) -> String {
    let series = series.iter().map(|(labels, values)| {
        let values: Vec<String> =
            values.iter().map(|(time, value)| format!("[{time},\"{value}\"]")).collect();
        format!("{{\"metric\":{{{labels}}},\"values\":[{}]}}", values.join(","))
    });
    let series: Vec<String> = series.collect();
    format!(
        "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{}]}}}}",
        series.join(",")
    )
}

/// The answer with a matrix.
pub(crate) fn success(series: &[(&str, Vec<(f64, String)>)]) -> Vec<u8> {
    answer("200 OK", "Content-Type: application/json\r\n", matrix(series).as_bytes())
}
