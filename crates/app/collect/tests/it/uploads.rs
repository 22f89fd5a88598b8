//! Uploads to a server, including those with an unknown outcome.

use crate::stand_in::{Host, ReceivedRequest, fine, only, request, settings};
use laggard_collect::{ClientSettings, CollectSettings, Collector, Upload, UploadSettings};
use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The response to one import; `None` breaks the connection.
type Response = Option<(u16, &'static str)>;

const TAKEN: Response = Some((
    200,
    r#"{"spans":0,"calls":1,"samples":0,"losses":{"malformed_record":{"count":2,"example":"x"}}}"#,
));

/// A server that sends these responses, one per request.
fn server(answers: Vec<Response>) -> (String, Receiver<ReceivedRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let request = request(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
            sender.send(request).unwrap();
            let Some((status, body)) = answer else { continue };
            let length = body.len();
            let head = format!("HTTP/1.1 {status} x\r\nRetry-After: 0\r\nConnection: close\r\n");
            write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
        }
    });
    (url, received)
}

fn collector(folder: &std::path::Path, host: &Host, url: &str) -> Collector<Upload> {
    collector_with(settings(folder), host, url)
}

fn collector_with(settings: CollectSettings, host: &Host, url: &str) -> Collector<Upload> {
    let client = ClientSettings {
        token: Some("secret".to_owned()),
        authorities_pem: None,
        timeout: Duration::from_secs(20),
    };
    let settings_of_upload = UploadSettings {
        url: url.to_owned(),
        client,
        tenant: Some("shop".to_owned()),
        format: Some("call-log".to_owned()),
    };
    let upload = Upload::new(settings_of_upload).unwrap();
    Collector::new(settings, vec![host.source("web-03", "/calls.log")], upload).unwrap()
}

#[test]
fn chunks_are_separate_files() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let (url, received) = server(vec![TAKEN, TAKEN]);
    let mut collector = collector(folder.path(), &host, &url);
    host.put("/calls.log", "host,time_us\nh,1\n");
    let status = fine(collector.round().unwrap());
    assert_eq!((status.losses, status.repeated), (vec![("malformed_record".to_owned(), 2)], false));
    host.append("/calls.log", "h,2\nh");
    fine(collector.round().unwrap());
    let first = received.recv().unwrap();
    assert_eq!(first.line, "POST /api/v1/import?name=web-03.0.log&format=call-log HTTP/1.1");
    assert_eq!(
        (&first.headers["authorization"][..], &first.headers["x-scope-orgid"][..]),
        ("Bearer secret", "shop")
    );
    assert_eq!(first.body, b"host,time_us\nh,1\n");
    assert_eq!(
        received.recv().unwrap().body,
        b"host,time_us\nh,2\n",
        "the line with the column names is repeated"
    );
    // The token is the server's, not the hosts'.
    assert!(host.received().iter().all(|request| !request.headers.contains_key("authorization")));
}

#[test]
fn the_line_with_column_names_can_be_set() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let (url, received) = server(vec![TAKEN, TAKEN]);
    let mut settings = settings(folder.path());
    settings.header = Some("host,time_us".to_owned());
    let mut collector = collector_with(settings, &host, &url);
    for line in ["no data\n", "h,2\n"] {
        host.append("/calls.log", line);
        fine(collector.round().unwrap());
        assert_eq!(received.recv().unwrap().body, format!("host,time_us\n{line}").as_bytes());
    }
}

#[test]
fn unacknowledged_data_is_sent_again() {
    for (answer, words) in [
        (None, "import"),
        (Some((413, r#"{"detail":"too\u001blarge"}"#)), "too large"),
        (Some((401, "")), "--token-file"),
        (Some((200, "<html>")), "not a Laggard server"),
    ] {
        let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
        let (url, received) = server(vec![answer, TAKEN]);
        host.put("/calls.log", "h,1\n");
        // The second collector represents a restart.
        let mut first = collector(folder.path(), &host, &url);
        let failure = only(first.round().unwrap()).failure.unwrap().to_string();
        assert!(failure.contains(words), "{failure}");
        drop(first);
        let mut second = collector(folder.path(), &host, &url);
        let status = fine(second.round().unwrap());
        assert!(status.repeated, "it may have been stored");
        assert_eq!(received.recv().unwrap().body, received.recv().unwrap().body);
        assert!(!fine(second.round().unwrap()).repeated);
    }
}

#[test]
fn an_overloaded_server_is_retried() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let busy = Some((503, r#"{"detail":"too many imports are running"}"#));
    let (url, received) = server(vec![busy, busy, TAKEN]);
    host.put("/calls.log", "h,1\n");
    assert_eq!(fine(collector(folder.path(), &host, &url).round().unwrap()).bytes, 4);
    assert_eq!(received.iter().count(), 3);
}

#[test]
fn a_state_belongs_to_one_destination() {
    let (host, folder) = (Host::start(), tempfile::tempdir().unwrap());
    let (url, _received) = server(vec![TAKEN]);
    host.put("/calls.log", "h,1\n");
    fine(collector(folder.path(), &host, &url).round().unwrap());
    let into = laggard_collect::Folder::open(&folder.path().join("into")).unwrap();
    let other = Collector::new(settings(folder.path()), vec![], into).err().unwrap().to_string();
    assert!(other.contains("--state"), "{other}");
}
