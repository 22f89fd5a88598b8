//! A slow operation is detected, notified once, remembered across a restart, and resolved.

use super::Running;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Timeout of the test; results do not depend on speed.
const PATIENCE: Duration = Duration::from_secs(60);

const SECOND: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

/// A webhook receiver that rejects the first notification.
struct Webhook {
    address: String,
    accepted: Receiver<Value>,
}

impl Webhook {
    fn start() -> Webhook {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, accepted) = channel();
        std::thread::spawn(move || serve(&listener, &sender));
        Webhook { address, accepted }
    }

    fn next(&self) -> Value {
        self.accepted.recv_timeout(PATIENCE).expect("a notification")
    }
}

fn serve(listener: &TcpListener, sender: &Sender<Value>) {
    let mut refused = false;
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let body = body_of(&mut stream);
        let status = if refused { "200 OK" } else { "503 Not now" };
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        if refused && sender.send(serde_json::from_str(&body).unwrap()).is_err() {
            return;
        }
        refused = true;
    }
}

fn body_of(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk).unwrap();
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        assert!(head.starts_with("post /hook http/1.1"), "{head}");
        assert!(head.contains("authorization: bearer 0123456789abcdef"), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            return body.to_owned();
        }
    }
}

/// One request per second at `web`, which calls `db` for `db_ms`.
fn requests(from: i64, to: i64, db_ms: i64) -> String {
    let spans = (from..to).flat_map(|second| {
        let (start, jitter) = (second * SECOND, second * 7_919 % 400 * MS / 1000);
        let (trace, db) = (format!("{second:032x}"), db_ms * MS + jitter);
        let span = |id: i64, parent: i64, name: &str, kind: u8, start: i64, length: i64| {
            json!({
                "traceId": trace, "spanId": format!("{id:016x}"), "name": name, "kind": kind,
                "parentSpanId": if parent == 0 { String::new() } else { format!("{parent:016x}") },
                "startTimeUnixNano": start.to_string(), "endTimeUnixNano": (start + length).to_string(),
            })
        };
        [
            ("web", span(1, 0, "buy", 2, start, 6 * MS + db + jitter)),
            ("web", span(2, 1, "query", 3, start + 2 * MS, db + MS)),
            ("db", span(3, 2, "read", 2, start + 2 * MS, db)),
        ]
    });
    let all: Vec<(&str, Value)> = spans.collect();
    let resource_spans = |service: &str| {
        let spans: Vec<&Value> = all.iter().filter(|(of, _)| *of == service).map(|(_, span)| span).collect();
        let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let replica = format!("{service}-1");
        json!({
            "resource": {"attributes": [attribute("service.name", service), attribute("service.instance.id", &replica)]},
            "scopeSpans": [{"spans": spans}],
        })
    };
    json!({"resourceSpans": [resource_spans("web"), resource_spans("db")]}).to_string()
}

/// A server with frequent evaluations, and the current time of its data.
pub(super) struct AlertingServer {
    pub(super) server: Option<Running>,
    pub(super) second: i64,
}

impl AlertingServer {
    fn start(data: &Path, config: &str) -> Running {
        Running::start(data, &["--config", config])
    }

    pub(super) fn server(&self) -> &Running {
        self.server.as_ref().unwrap()
    }

    /// Sends seconds of requests and waits until they are evaluated; returns the alerts of the API.
    pub(super) fn pass(&mut self, seconds: i64, db_ms: i64) -> Value {
        let body = requests(self.second, self.second + seconds, db_ms);
        self.second += seconds;
        let headers = ["Content-Type: application/json"];
        let sent = self.server().request("otlp_http", "POST", "/v1/traces", &headers, &body);
        assert_eq!(sent.status, 200, "{}", sent.body);
        assert_eq!(self.server().post("/api/v1/flush").status, 204);
        self.judged()
    }

    /// Waits until both receivers have acknowledged the only incident in this state; returns the incident.
    fn wait_until_notified(&self, state: &str) -> Value {
        let started = Instant::now();
        loop {
            let answer = self.server().get("/api/v1/incidents").body;
            let answer: Value = serde_json::from_str(&answer).unwrap();
            let incident = &answer["incidents"][0];
            let notified = |receiver: &str| incident["notified"][receiver]["state"] == state;
            if notified("webhook") && notified("exec") {
                return incident.clone();
            }
            assert!(started.elapsed() < PATIENCE, "{answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn judged(&self) -> Value {
        let newest = self.second - 1;
        let started = Instant::now();
        loop {
            let answer = self.server().get("/api/v1/alerts");
            assert_eq!(answer.status, 200, "{}", answer.body);
            let answer: Value = serde_json::from_str(&answer.body).unwrap();
            let until = answer["last_evaluated"]["window"]["until_ns"].as_i64();
            if until.is_some_and(|until| until / SECOND == newest) {
                return answer;
            }
            assert!(started.elapsed() < PATIENCE, "{answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn config(folder: &Path, webhook: &str) -> String {
    let token = folder.join("token");
    std::fs::write(&token, "0123456789abcdef\n").unwrap();
    let file = folder.join("laggard.yaml");
    let text = format!(
        "alerts:\n  every: 100ms\n  window: 1m\n  baseline: 8m\n  requests_min: 50\n  resolve_after: 2\n  confirm_end: 1ms\n  \
         webhook: http://{webhook}/hook\n  webhook_token_file: {}\n  pages: https://laggard.example/\n  \
         exec: /usr/bin/tee\n  exec_arguments: [-a, {}]\n",
        token.display(),
        folder.join("messages").display()
    );
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Messages passed to the notification program, in order.
fn notified_program(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("messages")).unwrap();
    serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect()
}

#[test]
fn a_slow_operation_is_notified_once_and_then_resolved() {
    let folder = tempfile::tempdir().unwrap();
    let webhook = Webhook::start();
    let config = config(folder.path(), &webhook.address);
    let data = folder.path().join("data");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    let mut watched =
        AlertingServer { server: Some(AlertingServer::start(&data, &config)), second: now - 800 };

    let quiet = watched.pass(545, 4);
    assert_eq!((&quiet["alerts"], &quiet["firing"]), (&json!([]), &json!(0)), "{quiet}");
    while watched.pass(10, 60)["firing"] == 0 {}
    let firing = webhook.next();
    assert_eq!((&firing["version"], &firing["status"]), (&json!("4"), &json!("firing")));
    let alert = &firing["alerts"][0];
    assert_eq!(
        (&alert["labels"]["service"], &alert["annotations"]["operations"]),
        (&json!("db"), &json!("read"))
    );
    assert!(alert["generatorURL"].as_str().unwrap().starts_with("https://laggard.example/incidents/"));
    let verdict = alert["annotations"]["description"].as_str().unwrap();
    assert!(verdict.starts_with("`db` operation `read`: ") && verdict.contains("\nSince: "), "{verdict}");
    assert_eq!(firing["alerts"].as_array().unwrap().len(), 1, "{firing}");

    let open = watched.wait_until_notified("open");
    assert_eq!((&open["subject"], &open["alerts"][0]["state"]), (&json!("db"), &json!("firing")));
    watched.server.take().unwrap().stop();
    watched.server = Some(AlertingServer::start(&data, &config));
    let again = watched.pass(20, 60);
    assert_eq!(again["firing"], 1, "{again}");
    assert_eq!(watched.wait_until_notified("open")["id"], open["id"]);
    // The annotation of a dashboard.
    let metrics = watched.server().get("/metrics").body;
    let id = open["id"].as_str().unwrap();
    let series = format!(
        "laggard_incident_start_time_seconds{{tenant=\"default\",incident=\"{id}\",subject=\"db\"}} "
    );
    assert!(
        metrics.contains(&series) && metrics.contains("laggard_incidents{tenant=\"default\"} 1"),
        "{metrics}"
    );

    while watched.pass(15, 4)["firing"] == 1 {}
    let resolved = webhook.next();
    assert_eq!(
        (&resolved["status"], &resolved["alerts"][0]["status"]),
        (&json!("resolved"), &json!("resolved"))
    );
    assert_eq!(resolved["alerts"][0]["fingerprint"], alert["fingerprint"]);
    assert_eq!(resolved["alerts"][0]["startsAt"], alert["startsAt"]);
    assert_eq!(watched.wait_until_notified("closed")["id"], open["id"]);
    let metrics = watched.server().get("/metrics").body;
    assert!(
        metrics.contains("laggard_incidents{tenant=\"default\"} 0") && !metrics.contains(id),
        "{metrics}"
    );
    watched.server.take().unwrap().stop();
    assert!(webhook.accepted.try_recv().is_err(), "nothing was messages twice");
    let messages: Vec<Value> =
        notified_program(folder.path()).iter().map(|messages| messages["status"].clone()).collect();
    assert_eq!(messages, [json!("firing"), json!("resolved")]);
}
