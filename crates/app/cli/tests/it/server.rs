//! Questions to a server give the same answers as files.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A server with its own data folder; dropping it kills it.
pub(crate) struct Server {
    process: Child,
    address: String,
}

impl Server {
    pub(crate) fn start(data: &Path) -> Server {
        let mut process = Command::new(env!("CARGO_BIN_EXE_laggard"))
            .args([
                "serve",
                "--http",
                "127.0.0.1:0",
                "--otlp-grpc",
                "off",
                "--otlp-http",
                "off",
                "--zipkin",
                "off",
            ])
            .args(["--set", "logs.form=json", "--data"])
            .arg(data)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = lines.by_ref().map(Result::unwrap).find_map(|line| {
            let entry: Value = serde_json::from_str(&line).ok()?;
            let fields = [&entry, &entry["fields"]];
            let address = fields.iter().find(|fields| fields["address"].is_string())?;
            Some(address["address"].as_str()?.to_owned())
        });
        // The pipe must be read, since the server would block on a full one.
        std::thread::spawn(move || lines.for_each(drop));
        Server { process, address: address.unwrap() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn post(&self, path: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const START: i64 = 1_768_208_400_000_000_000;

/// 200 requests, every twentieth slow at the database.
pub(crate) fn traces() -> String {
    let resource_spans = |service: &str, host: &str, spans: Vec<Value>| {
        json!({
            "resource": {"attributes": [
                {"key": "service.name", "value": {"stringValue": service}},
                {"key": "host.name", "value": {"stringValue": host}}
            ]},
            "scopeSpans": [{"spans": spans}]
        })
    };
    let span = |trace: i64, id: u32, parent: Option<u32>, name: &str, (start, end): (i64, i64)| {
        json!({
            "traceId": format!("{trace:032x}"), "spanId": format!("{id:016x}"),
            "parentSpanId": parent.map_or_else(String::new, |id| format!("{id:016x}")), "name": name,
            "kind": if id == 2 { 3 } else { 2 },
            "startTimeUnixNano": start.to_string(), "endTimeUnixNano": end.to_string()
        })
    };
    let (mut web, mut database) = (Vec::new(), Vec::new());
    for index in 0..200_i64 {
        let start = START + index * 3_000_000_000;
        let extra = if index % 20 == 19 { 100_000_000 } else { index % 7 * 10_000 };
        web.push(span(index + 1, 1, None, "buy", (start, start + 10_000_000 + extra)));
        let within = (start + 2_000_000, start + 6_000_000 + extra);
        web.push(span(index + 1, 2, Some(1), "query", within));
        database.push(span(index + 1, 3, Some(2), "read", within));
    }
    json!({"resourceSpans": [resource_spans("web", "web-1", web), resource_spans("db", "db-1", database)]})
        .to_string()
}

fn laggard(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_laggard")).args(arguments).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn a_server_and_files_give_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("traces.json");
    std::fs::write(&file, traces()).unwrap();
    let server = Server::start(&folder.path().join("data"));
    let imported = server.post("/api/v1/import", traces().as_bytes());
    assert!(imported.contains("\"spans\":600"), "{imported}");
    assert!(server.post("/api/v1/flush", b"").starts_with("HTTP/1.1 204"));
    let url = server.url();
    for question in [
        vec!["diagnose", "--top", "3"],
        vec!["diagnose", "--method", "clouddiag", "--set", "mode=paper"],
        vec!["diagnose", "--until", "2026-01-12T09:05:00Z", "--baseline-rest"],
        vec!["compare", "--since", "2026-01-12T09:05:00Z"],
    ] {
        let path = [file.to_str().unwrap()];
        let of_files = laggard(&[&question[..], &["--output", "json", "--exit-code"], &path].concat());
        let of_server =
            laggard(&[&question[..], &["--output", "json", "--exit-code", "--server", &url]].concat());
        assert_eq!(
            code(&of_server),
            code(&of_files),
            "{question:?}: {}",
            String::from_utf8_lossy(&of_server.stderr)
        );
        let read = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).unwrap();
        let (from_files, from_server) = (read(&of_files), read(&of_server));
        for field in [
            "verdict",
            "headline",
            "suspects",
            "categories",
            "incidents",
            "baseline",
            "latency",
            "operations",
            "settings",
        ] {
            assert_eq!(from_server[field], from_files[field], "{question:?}: {field}");
        }
    }
    let text = laggard(&["diagnose", "--server", &url, "--color", "always"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("\u{1b}["), "colors are those of this terminal");
    let page = folder.path().join("report.html");
    assert_eq!(
        code(&laggard(&["diagnose", "--server", &url, "--output", "html", "-o", page.to_str().unwrap()])),
        0
    );
    assert!(std::fs::read_to_string(page).unwrap().contains("db"));
}

#[test]
fn questions_that_a_server_does_not_support_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"));
    let url = server.url();
    let run = |arguments: &[&str]| {
        let output = laggard(&[&["diagnose"], arguments].concat());
        (code(&output), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(run(&["--server", &url]).0, 4, "the store is empty");
    let (status, words) = run(&["--server", &url, "--set=cv-min=-1"]);
    assert!(status == 2 && words.contains("cv-min is -1"), "{words}");
    for more in
        [["--memory", "1GiB"], ["--format", "zipkin"], ["--baseline", "x"], ["--weight-attribute", "w"]]
    {
        assert_eq!(run(&["--server", &url, more[0], more[1]]).0, 2, "{more:?}");
    }
    assert_eq!(run(&["--server", &url, "traces.json"]).0, 2);
    assert_eq!(run(&["--token-file", "x"]).0, 2, "a token is for a server");
    assert_eq!(run(&["--server", "localhost"]).0, 2);
    drop(server);
    assert_eq!(run(&["--server", &url]).0, 3, "the server is down");
}
