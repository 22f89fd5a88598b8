//! Tokens and certificates replaced under a running server.

use super::{Response, Running, TRACE, message, read_response, request_text};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(super) mod certificates;

use certificates::{Authority, Client};

const OLD: &str = "Authorization: Bearer old-0123456789abc";
const NEW: &str = "Authorization: Bearer new-0123456789abc";
const OTHER: &str = "Authorization: Bearer other-0123456789";

/// A configuration with the tokens `rotated` and `other`, which may read and write.
fn configuration(folder: &Path, names: &[&str]) -> String {
    let row = |name: &&str| {
        format!("  - {{ name: {name}, file: \"{}/{name}\", scopes: [read, write] }}\n", folder.display())
    };
    let path = folder.join("laggard.yaml");
    std::fs::write(&path, format!("tokens:\n{}", names.iter().map(row).collect::<String>())).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A server in whose folder both files of tokens are, and that accepts those of these names.
fn with_tokens(folder: &Path, names: &[&str]) -> Running {
    replace(folder, "rotated", "old-0123456789abc\n");
    replace(folder, "other", "other-0123456789\n");
    let config = configuration(folder, names);
    Running::start(&folder.join("data"), &["--config", &config])
}

/// Replaces a file at once, as tools that rotate secrets do.
fn replace(folder: &Path, name: &str, contents: &str) {
    std::fs::write(folder.join("new"), contents).unwrap();
    std::fs::rename(folder.join("new"), folder.join(name)).unwrap();
}

fn status(server: &Running, header: &str) -> u16 {
    server.request("http", "GET", "/api/v1/status", &[header], "").status
}

fn problems(server: &Running) -> String {
    server.get("/readyz").body
}

/// Reads the log until a line has this message.
fn wait_for(server: &mut Running, message: &str) {
    loop {
        let line = server.next_line().expect("the server runs");
        if line.to_string().contains(message) {
            return;
        }
    }
}

fn log_in(server: &Running, token: &str) -> String {
    let body = format!(r#"{{"token":"{token}"}}"#);
    let json = "Content-Type: application/json";
    let done = server.request("http", "POST", "/api/v1/session", &[json], &body);
    let set = done.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    format!("Cookie: {}", set.split(';').next().unwrap())
}

#[test]
fn tokens_are_replaced_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut server = with_tokens(folder, &["rotated", "other"]);
    assert_eq!([OLD, NEW, OTHER].map(|token| status(&server, token)), [200, 401, 200]);
    let session = log_in(&server, "old-0123456789abc");
    assert_eq!(status(&server, &session), 200);

    replace(folder, "rotated", "new-0123456789abc\nold-0123456789abc\n");
    wait_for(&mut server, "tokens were read again");
    assert_eq!([OLD, NEW, OTHER].map(|token| status(&server, token)), [200, 200, 200]);
    assert_eq!(status(&server, &session), 200, "its token is still there");

    // Neither of them has sent all of its body: they wait.
    let begin = |token: &str| {
        let mut stream = server.connect("http");
        let head =
            format!("POST /api/v1/import HTTP/1.1\r\nHost: localhost\r\n{token}\r\nConnection: close\r\n");
        stream.write_all(format!("{head}Content-Length: 9999\r\n\r\n{{").as_bytes()).unwrap();
        stream
    };
    let (mut ends, stays) = (begin(OLD), begin(OTHER));
    replace(folder, "rotated", "new-0123456789abc\n");
    wait_for(&mut server, "tokens were read again");
    assert_eq!([OLD, NEW, OTHER].map(|token| status(&server, token)), [401, 200, 200]);
    assert_eq!(status(&server, &session), 401, "the session ends with its token");
    assert_eq!(server.send_trace(TRACE, &[OLD]).status, 401);
    assert_eq!(server.send_trace(TRACE, &[NEW]).status, 200);
    assert_eq!(read_response(&mut ends).status, 401, "so do its requests");
    stays.set_read_timeout(Some(std::time::Duration::from_millis(200))).unwrap();
    assert!((&stays).read(&mut [0; 1]).is_err(), "the other one goes on");
}

#[test]
fn a_broken_token_file_changes_nothing_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut server = with_tokens(folder, &["rotated", "other"]);
    replace(folder, "rotated", "short\n");
    wait_for(&mut server, "a token cannot be read");
    while !problems(&server).contains("tokens_unusable") {}
    assert_eq!([OLD, OTHER].map(|token| status(&server, token)), [200, 200]);
    let figures = server.request("http", "GET", "/metrics", &[OLD], "").body;
    assert!(figures.contains("laggard_server_problems 1\n"), "{figures}");
    let shown = server.request("http", "GET", "/api/v1/status", &[OLD], "").body;
    assert!(shown.contains("tokens_unusable") && shown.contains(r#""ready":true"#), "{shown}");

    replace(folder, "rotated", "new-0123456789abc\n");
    wait_for(&mut server, "tokens were read again");
    while problems(&server).contains("tokens_unusable") {}
    assert_eq!([OLD, NEW].map(|token| status(&server, token)), [401, 200]);

    std::fs::remove_file(folder.join("rotated")).unwrap();
    wait_for(&mut server, "the file of a token is gone");
    wait_for(&mut server, "tokens were read again");
    assert_eq!([NEW, OTHER].map(|token| status(&server, token)), [401, 200]);
}

#[test]
fn tokens_are_added_to_the_configuration_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut server = with_tokens(folder, &["rotated"]);
    assert_eq!([OLD, OTHER].map(|token| status(&server, token)), [200, 401]);
    configuration(folder, &["rotated", "other"]);
    server.signal(Signal::HUP);
    wait_for(&mut server, "tokens were read again");
    assert_eq!([OLD, OTHER].map(|token| status(&server, token)), [200, 200]);
    std::fs::write(folder.join("laggard.yaml"), "tokens: 7\n").unwrap();
    server.signal(Signal::HUP);
    wait_for(&mut server, "the list of tokens cannot be read");
    assert_eq!([OLD, OTHER].map(|token| status(&server, token)), [200, 200]);
    configuration(folder, &["other"]);
    wait_for(&mut server, "tokens were read again");
    assert_eq!([OLD, OTHER].map(|token| status(&server, token)), [401, 200]);
    std::fs::write(folder.join("laggard.yaml"), "store: { keep_for: 7d }\n").unwrap();
    wait_for(&mut server, "tokens were read again");
    assert_eq!(status(&server, OTHER), 401, "without any token nobody is admitted");
    server.stop();
}

/// Requests sent by [`send_until`].
#[derive(Default)]
struct Sent {
    stop: AtomicBool,
    count: AtomicU64,
}

/// Sends telemetry over a new connection each time, until it is stopped. Each request has to succeed.
fn send_until(server: std::net::SocketAddr, client: &Client, sent: &Sent) {
    let json = "Content-Type: application/json";
    while !sent.stop.load(Ordering::Relaxed) {
        let trace = format!("{:032x}", sent.count.load(Ordering::Relaxed) + 1);
        let text = request_text("POST", "/v1/traces", &[json], &message(&trace));
        let answer: Response = client.request(server, &text).expect("no request fails");
        assert_eq!(answer.status, 200, "{}", answer.body);
        sent.count.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn certificates_are_replaced_while_requests_run_and_none_fails() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (servers, next_servers) = (Authority::new(), Authority::new());
    let (clients, next_clients) = (Authority::new(), Authority::new());
    let install = |authority: &Authority| {
        let (certificate, key) = authority.sign("localhost");
        // The key first: for a moment they do not fit, and the old ones stay.
        replace(folder, "tls.key", &key);
        replace(folder, "tls.crt", &certificate);
    };
    install(&servers);
    replace(folder, "clients.pem", &clients.pem());
    let file = |name: &str| format!("tls.{}={}/{name}", name_of_setting(name), folder.display());
    let settings = ["tls.crt", "tls.key", "clients.pem"].map(file);
    let flags: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let mut server = Running::start(&folder.join("data"), &flags);
    let trusted = [&servers, &next_servers];
    let (client, next_client) =
        (Client::new(&trusted, Some(&clients)), Client::new(&trusted, Some(&next_clients)));
    let address = server.addresses["otlp_http"];
    let ping = request_text("GET", "/", &[], "");
    assert!(Client::new(&trusted, None).request(address, &ping).is_err(), "a certificate is needed");
    assert!(next_client.request(address, &ping).is_err());
    let mut open = client.connect(address).unwrap();
    let sent = Arc::new(Sent::default());
    let sending = |client: &Client| {
        let (client, sent) = (client.clone(), sent.clone());
        std::thread::spawn(move || send_until(address, &client, &sent))
    };

    let first = sending(&client);
    install(&next_servers);
    server.signal(Signal::HUP);
    wait_for(&mut server, "certificates were read again");
    replace(folder, "clients.pem", "nonsense");
    wait_for(&mut server, "cannot be used; the old ones stay");
    replace(folder, "clients.pem", &(clients.pem() + &next_clients.pem()));
    wait_for(&mut server, "certificates were read again");
    assert!(Client::new(&[&servers], Some(&clients)).request(address, &ping).is_err(), "a new certificate");
    let second = sending(&next_client);
    let before = sent.count.load(Ordering::Relaxed);
    while sent.count.load(Ordering::Relaxed) < before + 20 {}
    sent.stop.store(true, Ordering::Relaxed);
    first.join().unwrap();
    second.join().unwrap();

    replace(folder, "clients.pem", &next_clients.pem());
    wait_for(&mut server, "certificates were read again");
    assert!(client.request(address, &ping).is_err(), "its authority is gone");
    assert_eq!(open.read(&mut [0; 1]).unwrap_or(0), 0, "connections of its clients are closed");
    assert_eq!(next_client.request(address, &ping).unwrap().status, 404);
    server.stop();
}

/// The setting that a file of the test is for.
fn name_of_setting(file: &str) -> &'static str {
    match file {
        "tls.crt" => "certificate",
        "tls.key" => "key",
        _ => "client_roots",
    }
}
