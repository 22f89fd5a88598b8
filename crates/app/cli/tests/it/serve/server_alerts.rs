//! Samples of a server arrive minute by minute: a transaction that costs more CPU is detected, notified once, remembered
//! across a restart, and resolved when its cost is back to normal.

use super::Running;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Timeout of the test; results do not depend on speed.
const PATIENCE: Duration = Duration::from_secs(60);

const MINUTE: i64 = 60;

/// Minutes before the first fault.
const QUIET: i64 = 300;

/// A value between -1 and 1 that looks random.
fn noise(minute: i64, which: i64) -> f64 {
    ((minute * 7_919 + which * 104_729) % 1_009) as f64 / 504.0 - 1.0
}

/// A table of minutes of one server with two cores; a `buy` takes `buy_ms` of CPU, a `read` four.
fn table(start: i64, minutes: std::ops::Range<i64>, buy_ms: f64) -> String {
    let mut text =
        "time_s,server,tier,cores,utilization,count:buy,count:read,response_ms:buy,response_ms:read\n"
            .to_owned();
    for minute in minutes {
        let buys = (2_000.0 + 800.0 * noise(minute / 7, 1) + 100.0 * noise(minute, 2)).round();
        let reads = (5_000.0 + 2_000.0 * noise(minute / 11, 3) + 200.0 * noise(minute, 4)).round();
        let work = (buys * buy_ms + reads * 4.0) / 120_000.0;
        let busy = 0.03 + work * (1.0 + 0.01 * noise(minute, 5));
        let waiting = (1.0 + 0.02 * noise(minute, 6)) / (1.0 - busy * busy);
        let time = start + minute * MINUTE;
        writeln!(
            text,
            "{time},app-1,app,2,{busy:.5},{buys},{reads},{:.3},{:.3}",
            buy_ms * waiting,
            4.0 * waiting
        )
        .unwrap();
    }
    text
}

struct WatchedServer {
    running: Option<Running>,
    /// The first minute, in seconds since 1970.
    start: i64,
    /// The next minute to send.
    minute: i64,
}

impl WatchedServer {
    fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    /// Sends minutes and waits until they were evaluated: all but the last, which may lack samples.
    fn pass(&mut self, minutes: i64, buy_ms: f64) -> Value {
        let body = table(self.start, self.minute..self.minute + minutes, buy_ms);
        self.minute += minutes;
        let sent = self.running().request("http", "POST", "/api/v1/import?name=app.csv", &[], &body);
        assert_eq!(sent.status, 200, "{}", sent.body);
        assert!(sent.body.contains("\"losses\":{}"), "{}", sent.body);
        assert_eq!(self.running().post("/api/v1/flush").status, 204);
        let until = (self.start + (self.minute - 1) * MINUTE) * 1_000_000_000;
        self.wait(|answer| answer["last_servers"]["window"]["until_ns"] == json!(until))
    }

    fn wait(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let answer = self.running().get("/api/v1/alerts");
            assert_eq!(answer.status, 200, "{}", answer.body);
            let answer: Value = serde_json::from_str(&answer.body).unwrap();
            if is_wanted(&answer) {
                return answer;
            }
            assert!(started.elapsed() < PATIENCE, "{answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the program has acknowledged the only incident in this state.
    fn wait_until_notified(&self, state: &str) {
        let started = Instant::now();
        loop {
            let answer = self.running().get("/api/v1/incidents").body;
            let answer: Value = serde_json::from_str(&answer).unwrap();
            if answer["incidents"][0]["notified"]["exec"]["state"] == state {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn config(folder: &Path) -> String {
    let file = folder.join("laggard.yaml");
    let sent = folder.join("sent");
    let text = format!(
        "alerts:\n  every: 100ms\n  resolve_after: 2\n  confirm_end: 1ms\n  pages: https://laggard.example\n  exec: /usr/bin/tee\n  \
         exec_arguments: [-a, {}]\n",
        sent.display()
    );
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn sent(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("sent")).unwrap_or_default();
    serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect()
}

#[test]
fn a_costlier_transaction_is_notified_once_and_then_resolved() {
    let folder = tempfile::tempdir().unwrap();
    let (config, data) = (config(folder.path()), folder.path().join("data"));
    let start = || Running::start(&data, &["--config", &config]);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    // The faults are in the last quarter of an hour: older samples are history, which triggers nothing.
    let first = (now / MINUTE - QUIET - 12) * MINUTE;
    let mut watched = WatchedServer { running: Some(start()), start: first, minute: 0 };

    let quiet = watched.pass(QUIET, 8.0);
    assert_eq!(quiet["alerts"], json!([]), "{quiet}");
    assert_eq!(quiet["last_servers"]["text"], "all servers are as usual", "{quiet}");

    let mut firing = Value::Null;
    for minute in 1..=4 {
        let answer = watched.pass(1, 13.0);
        if firing.is_null() && answer["firing"] == 1 {
            firing = answer["alerts"][0].clone();
            assert!(minute >= 2, "one minute proves nothing");
        }
    }
    assert_eq!((&firing["kind"], &firing["server"]), (&json!("higher_cost"), &json!("app-1")));
    let costs = &firing["evidence"]["transactions"][0];
    let after_s = costs["after_s"].as_f64().unwrap();
    assert!(costs["transaction"] == "buy" && (after_s - 0.013).abs() < 0.0015, "{firing}");
    let page = firing["page"].as_str().unwrap();
    assert!(page.starts_with("/changes?since=20") && page.ends_with("&server=app-1"), "{page}");
    watched.wait_until_notified("open");
    watched.running.take().unwrap().stop();

    watched.running = Some(start());
    let mut over = watched.pass(1, 8.0);
    while over["firing"] == 1 {
        over = watched.pass(1, 8.0);
    }
    assert_eq!(over["alerts"][0]["ended"], "transactions cost as much CPU as before", "{over}");
    watched.wait_until_notified("closed");
    watched.running.take().unwrap().stop();

    let sent = sent(folder.path());
    let states: Vec<&Value> = sent.iter().map(|message| &message["status"]).collect();
    assert_eq!(states, [&json!("firing"), &json!("resolved")], "nothing is sent twice");
    let labels = json!({
        "alertname": "LaggardHigherCpuCost", "tenant": "default", "severity": "warning", "service": "app",
        "server": "app-1",
    });
    let alert = &sent[0]["alerts"][0];
    assert_eq!((&alert["labels"], &sent[0]["groupLabels"]["alertname"]), (&labels, &labels["alertname"]));
    assert_eq!(alert["annotations"]["transactions"], "buy");
}
