//! Faults around a server: kills, full disks, damaged files, clock jumps, hostile clients.

mod clock;
mod damage;
mod disk;
mod hostile;
mod incident_kills;
mod kill_run;
mod kills;
mod notification_kills;
mod siege;

use super::Running;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Start of the first trace and distance between traces: two hours, which is many slices.
const FIRST_NS: i64 = 1_768_208_400_000_000_000;
const APART_NS: i64 = 7_200_000_000_000;

impl Running {
    /// Sends trace `number`, which has one span that starts at this time.
    pub(super) fn send_at(&self, number: u32, start_ns: i64) -> super::Response {
        let body = format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"cart"}}}}]}},
            "scopeSpans":[{{"spans":[{{"traceId":"{number:032x}","spanId":"{number:016x}","name":"add","kind":2,
            "startTimeUnixNano":"{start_ns}","endTimeUnixNano":"{}"}}]}}]}}]}}"#,
            start_ns.saturating_add(5_000_000)
        );
        self.request("otlp_http", "POST", "/v1/traces", &["Content-Type: application/json"], &body)
    }

    fn send_number(&self, number: u32) -> super::Response {
        self.send_at(number, FIRST_NS + i64::from(number) * APART_NS)
    }

    /// Sends a trace and flushes it to a segment.
    fn store_number(&self, number: u32) {
        assert_eq!(self.send_number(number).status, 200);
        assert_eq!(self.post("/api/v1/flush").status, 204);
    }

    /// Whether a trace is found.
    fn has(&self, number: u32) -> bool {
        match self.get(&format!("/api/v1/traces/{number:032x}")) {
            found if found.status == 200 => true,
            found if found.status == 404 => false,
            other => panic!("{}: {}", other.status, other.body),
        }
    }

    /// Whether `/readyz` reports the server as ready, and the names of problems.
    fn readiness(&self) -> (bool, Vec<String>) {
        let response = self.get("/readyz");
        let readiness: Value = serde_json::from_str(&response.body).unwrap();
        assert_eq!(readiness["ready"] == true, response.status == 200, "{}", response.body);
        let problems = readiness["problems"].as_array().unwrap();
        for problem in problems {
            assert!(problem["text"].as_str().unwrap().len() > 20, "a sentence: {problem}");
        }
        let names = problems.iter().map(|problem| problem["name"].as_str().unwrap().to_owned());
        (response.status == 200, names.collect())
    }

    /// Waits until the state of `/readyz` satisfies a condition.
    pub(in crate::serve) fn wait_for_readiness(&self, is_wanted: impl Fn(bool, &[String]) -> bool) {
        let started = Instant::now();
        loop {
            let (ready, problems) = self.readiness();
            if is_wanted(ready, &problems) {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "still {ready}, {problems:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The diagnosis of all stored requests.
    fn diagnosis(&self) -> Value {
        let headers = ["Content-Type: application/json"];
        let response = self.request("http", "POST", "/api/v1/diagnose?wait=true", &headers, "{}");
        assert_eq!(response.status, 200, "{}", response.body);
        serde_json::from_str(&response.body).unwrap()
    }
}

fn is_reported(problems: &[String], name: &str) -> bool {
    problems.iter().any(|problem| problem == name)
}
