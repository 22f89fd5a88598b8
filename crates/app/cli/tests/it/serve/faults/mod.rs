//! What goes wrong around a server, and what it makes of it.

mod clock;
mod damage;
mod disk;
mod hostile;
mod kill_run;
mod kills;
mod notification_kills;
mod siege;

use super::Running;
use serde_json::Value;
use std::time::{Duration, Instant};

/// ColorWhen the traces of these tests begin, and how far one is from the next: two hours, many slices.
const FIRST_NS: i64 = 1_768_208_400_000_000_000;
const APART_NS: i64 = 7_200_000_000_000;

impl Running {
    /// Sends trace `number`, of one span, at this time; the status.
    fn send_at(&self, number: u32, start_ns: i64) -> super::Answer {
        let body = format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"cart"}}}}]}},
            "scopeSpans":[{{"spans":[{{"traceId":"{number:032x}","spanId":"{number:016x}","name":"add","kind":2,
            "startTimeUnixNano":"{start_ns}","endTimeUnixNano":"{}"}}]}}]}}]}}"#,
            start_ns.saturating_add(5_000_000)
        );
        self.ask("otlp_http", "POST", "/v1/traces", &["Content-Type: application/json"], &body)
    }

    fn send_number(&self, number: u32) -> super::Answer {
        self.send_at(number, FIRST_NS + i64::from(number) * APART_NS)
    }

    /// Sends a trace and has it written.
    fn store_number(&self, number: u32) {
        assert_eq!(self.send_number(number).status, 200);
        assert_eq!(self.post("/api/v1/flush").status, 204);
    }

    /// Whether a trace is answered.
    fn has(&self, number: u32) -> bool {
        match self.get(&format!("/api/v1/traces/{number:032x}")) {
            found if found.status == 200 => true,
            found if found.status == 404 => false,
            other => panic!("{}: {}", other.status, other.body),
        }
    }

    /// What `/readyz` tells: whether it is ready, and names of problems.
    fn readiness(&self) -> (bool, Vec<String>) {
        let answered = self.get("/readyz");
        let told: Value = serde_json::from_str(&answered.body).unwrap();
        assert_eq!(told["ready"] == true, answered.status == 200, "{}", answered.body);
        let problems = told["problems"].as_array().unwrap();
        for problem in problems {
            assert!(problem["text"].as_str().unwrap().len() > 20, "a sentence: {problem}");
        }
        let names = problems.iter().map(|problem| problem["name"].as_str().unwrap().to_owned());
        (answered.status == 200, names.collect())
    }

    /// Waits until `/readyz` says what is wanted.
    fn becomes(&self, wanted: impl Fn(bool, &[String]) -> bool) {
        let begun = Instant::now();
        loop {
            let (ready, problems) = self.readiness();
            if wanted(ready, &problems) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "still {ready}, {problems:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The report on everything.
    fn diagnosis(&self) -> Value {
        let headers = ["Content-Type: application/json"];
        let answered = self.ask("http", "POST", "/api/v1/diagnose?wait=true", &headers, "{}");
        assert_eq!(answered.status, 200, "{}", answered.body);
        serde_json::from_str(&answered.body).unwrap()
    }
}

fn is_reported(problems: &[String], name: &str) -> bool {
    problems.iter().any(|problem| problem == name)
}
