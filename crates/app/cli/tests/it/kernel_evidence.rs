//! Slow calls with kernel traces of their replicas: what they wait for, and cautions where that is unknown.

use crate::outcome::{Outcome, laggard};
use laggard_testkit::{RecordedInstant, WORKER, WorkerWait as Wait, worker_recording};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Start of the traces in calendar time and on the clock of the kernel traces.
const START_NS: u64 = 1_768_208_400_000_000_000;
const CLOCK_NS: u64 = 50_000_000_000;
const MS: u64 = 1_000_000;
/// Calls of each replica and seconds between them.
const CALLS: u64 = 120;
const EVERY_S: u64 = 10;
const CALL_NS: u64 = EVERY_S * 1_000 * MS;
/// Onset of the slowness of the culprit.
const ONSET: u64 = 60;

/// The wait of a call by its number: the usual one until the onset.
fn wait_of(number: u64, slow: Option<Wait>) -> Wait {
    match slow {
        Some(slow) if number >= ONSET => slow,
        _ => Wait::Lock(1 + number % 2),
    }
}

fn kernel_trace(slow: Option<Wait>, has_calendar: bool) -> Vec<u8> {
    let calls: Vec<(u64, Wait)> =
        (0..CALLS).map(|number| (CLOCK_NS + number * CALL_NS, wait_of(number, slow))).collect();
    let instant = RecordedInstant { clock_ns: CLOCK_NS, unix_ns: START_NS };
    worker_recording(&calls, has_calendar.then_some(instant))
}

/// Spans of three replicas, the second of which is slow.
fn spans(slow: Wait, has_threads: bool) -> String {
    let mut resources = Vec::new();
    for (replica, name) in ["web-1", "web-2", "web-3"].into_iter().enumerate() {
        let mut list = Vec::new();
        for number in 0..CALLS {
            let wait = wait_of(number, (replica == 1).then_some(slow));
            let start = START_NS + number * CALL_NS;
            let mut attributes = Vec::new();
            if has_threads {
                attributes.push(json!({"key": "thread.id", "value": {"intValue": WORKER.to_string()}}));
            }
            list.push(json!({
                "traceId": format!("{:032x}", 1 + number * 8 + replica as u64),
                "spanId": format!("{:016x}", 1 + number * 8 + replica as u64),
                "name": "buy",
                "kind": 2,
                "startTimeUnixNano": start.to_string(),
                "endTimeUnixNano": (start + wait.call_ns()).to_string(),
                "attributes": attributes,
            }));
        }
        let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        resources.push(json!({
            "resource": {"attributes": [attribute("service.name", "shop"), attribute("service.instance.id", name)]},
            "scopeSpans": [{"spans": list}],
        }));
    }
    json!({ "resourceSpans": resources }).to_string()
}

/// CPU use of three single-core machines; on the second, another process uses half a core since the onset.
fn cpu() -> String {
    let mut text = "time_s,server,tier,cores,utilization,count:buy\n".to_owned();
    let start = START_NS / 1_000_000_000;
    let onset = start + ONSET * EVERY_S;
    for index in (start - 3_600..start + CALLS * EVERY_S).step_by(60) {
        for name in ["web-1", "web-2", "web-3"] {
            let more = if name == "web-2" && index >= onset { 0.5 } else { 0.0 };
            let noise = (index * 7_919 % 101) as f64 / 1e4;
            text.push_str(&format!("{index},{name},shop,1,{:.4},10\n", 0.05 + noise + more));
        }
    }
    text
}

/// Inputs of one test.
struct Inputs {
    folder: tempfile::TempDir,
}

impl Inputs {
    fn new(slow: Wait, has_threads: bool) -> Inputs {
        let inputs = Inputs { folder: tempfile::tempdir().unwrap() };
        inputs.write("spans.json", spans(slow, has_threads).as_bytes());
        inputs
    }

    fn write(&self, name: &str, contents: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// The flag for the kernel trace of a replica.
    fn kernel(&self, host: &str, slow: Option<Wait>, has_calendar: bool) -> String {
        let path = self.write(&format!("{host}.perfetto"), &kernel_trace(slow, has_calendar));
        format!("--kernel={host}={}", path.display())
    }

    fn diagnose(&self, further: &[&str]) -> Outcome {
        let spans = self.folder.path().join("spans.json");
        laggard(&[&["diagnose", spans.to_str().unwrap()], further].concat())
    }

    #[track_caller]
    fn json(&self, further: &[&str]) -> Value {
        self.diagnose(&[further, &["--output", "json"]].concat()).json()
    }
}

fn clause<'a>(report: &'a Value, kind: &str) -> Option<&'a str> {
    let mut clauses = report["clauses"].as_array().unwrap().iter();
    clauses.find(|clause| clause["kind"] == kind).map(|clause| clause["text"].as_str().unwrap())
}

fn of_kernel(report: &Value) -> Option<&Value> {
    report["cause"]["evidence"].as_array().unwrap().iter().find(|evidence| evidence["source"] == "kernel")
}

fn cautions(report: &Value) -> String {
    let all = report["cautions"].as_array().unwrap().iter();
    all.map(|text| text.as_str().unwrap()).filter(|text| text.starts_with("Kernel: ")).collect()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn slow_calls_are_compared_with_calls_of_another_replica() {
    let lock = Wait::Lock(30);
    let inputs = Inputs::new(lock, true);
    let flags = [inputs.kernel("web-2", Some(lock), true), inputs.kernel("web-1", None, true)];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let report = inputs.json(&flags);
    let wait = clause(&report, "wait").expect("a clause");
    assert!(wait.starts_with("60 of 120 executions are slower"), "{wait}");
    assert!(wait.contains("`other`, which ran"), "{wait}");
    assert_eq!(of_kernel(&report).unwrap()["class"], "waiting", "{}", report["cause"]);
    for output in ["text", "markdown", "html"] {
        let text = inputs.diagnose(&[&flags[..], &["--output", output]].concat()).text();
        assert!(text.contains("Waits for: 60 of 120 executions are slower"), "{text}");
    }
    let without = inputs.json(&[]);
    assert_eq!((clause(&without, "wait"), of_kernel(&without)), (None, None));
}

#[test]
fn a_single_trace_is_compared_with_its_time_before_the_onset() {
    let lock = Wait::Lock(30);
    let inputs = Inputs::new(lock, true);
    let since = format!("--since={}", START_NS + ONSET * CALL_NS);
    let window = [since.as_str(), "--baseline-rest"];
    let flag = inputs.kernel("web-2", Some(lock), true);
    let report = inputs.json(&[&window[..], &[&flag]].concat());
    let wait = clause(&report, "wait").expect("a clause");
    assert!(wait.starts_with("All 60 executions are"), "{wait}");
    assert!(wait.contains("`other`, which ran"), "{wait}");
    // The same calls with a trace in which the worker sleeps and no other thread runs.
    let asleep = inputs.kernel("web-2", None, true);
    let report = inputs.json(&[&window[..], &[&asleep]].concat());
    assert!(!clause(&report, "wait").unwrap_or_default().contains("`other`"), "{}", report["clauses"]);
    let without_past = inputs.json(&[&flag]);
    assert!(cautions(&without_past).contains("No normal execution"), "{}", cautions(&without_past));
}

#[test]
fn all_threads_are_compared_if_spans_have_no_thread_id() {
    let lock = Wait::Lock(30);
    let inputs = Inputs::new(lock, false);
    let flags = [inputs.kernel("web-2", Some(lock), true), inputs.kernel("web-1", None, true)];
    let report = inputs.json(&[&flags[0], &flags[1]]);
    let cautions_text = cautions(&report);
    assert!(
        cautions_text.contains("thread.id") && cautions_text.contains("All threads were compared"),
        "{cautions_text}"
    );
    let alone = cautions(&inputs.json(&[&flags[0]]));
    assert!(alone.contains("thread.id") && alone.contains("not suspected"), "{alone}");
}

#[test]
fn a_lock_in_the_kernel_contradicts_samples_of_another_process() {
    let busy = Wait::Processor(30);
    let inputs = Inputs::new(busy, true);
    let samples = inputs.write("cpu.csv", cpu().as_bytes());
    let with = |slow: Wait| {
        let flags = [inputs.kernel("web-2", Some(slow), true), inputs.kernel("web-1", None, true)];
        inputs.json(&["--samples", path(&samples), &flags[0], &flags[1]])
    };
    let agreed = with(busy);
    assert_eq!(agreed["cause"]["class"], "foreign-load", "{}", agreed["cause"]);
    let evidence = of_kernel(&agreed).unwrap();
    assert_eq!(evidence["class"], "foreign-load");
    assert!(evidence["text"].as_str().unwrap().contains("a CPU that others used (`other`)"), "{evidence}");
    let wait = clause(&agreed, "wait").unwrap();
    assert!(wait.contains("for a CPU that `other` (tid 200) used"), "{wait}");
    assert_eq!(clause(&agreed, "contradiction"), None);
    // The same incident with a kernel trace that shows a lock instead.
    let disputed = with(Wait::Lock(30));
    assert_eq!(of_kernel(&disputed).unwrap()["class"], "waiting");
    let contradiction = clause(&disputed, "contradiction");
    let contradiction = contradiction.unwrap_or_else(|| panic!("{disputed:#}"));
    assert!(contradiction.starts_with("Samples and the kernel disagree."), "{contradiction}");
    assert_eq!(disputed["cause"]["certainty"], "possible");
}

#[test]
fn incomparable_kernel_traces_are_reported() {
    let lock = Wait::Lock(30);
    let inputs = Inputs::new(lock, true);
    let timeless = inputs.kernel("web-2", Some(lock), false);
    let cautions_text = cautions(&inputs.json(&[&timeless]));
    assert!(cautions_text.contains("calendar time"), "{cautions_text}");
    let peer = inputs.kernel("web-3", None, true);
    let cautions_text = cautions(&inputs.json(&[&peer]));
    assert!(cautions_text.contains("No suspected replica (web-2) has a kernel trace"), "{cautions_text}");
    let flag = inputs.kernel("web-2", Some(lock), true);
    inputs.diagnose(&[&flag.replace("=web-2=", "=web-9=")]).fails(2, &["web-9", "web-1, web-2, web-3"]);
    inputs.diagnose(&["--kernel=web-2"]).fails(2, &["web-1=trace.dat"]);
    inputs.diagnose(&["--kernel=web-2=/no/such/file"]).fails(3, &["/no/such/file"]);
    let text = inputs.write("text.bin", b"\x01\x02 not a trace\n");
    inputs.diagnose(&[&format!("--kernel=web-2={}", text.display())]).fails(3, &["not a kernel trace"]);
}

#[test]
fn a_kernel_trace_outside_the_window_is_not_compared() {
    let lock = Wait::Lock(30);
    let inputs = Inputs::new(lock, true);
    let flag = inputs.kernel("web-2", Some(lock), true);
    let path = inputs.folder.path().join("web-2.perfetto");
    let earlier = RecordedInstant { clock_ns: CLOCK_NS, unix_ns: START_NS - 86_400_000_000_000 };
    let calls: Vec<(u64, Wait)> =
        (0..CALLS).map(|number| (CLOCK_NS + number * CALL_NS, wait_of(number, Some(lock)))).collect();
    std::fs::write(&path, worker_recording(&calls, Some(earlier))).unwrap();
    let report = inputs.json(&[&flag]);
    assert_eq!(clause(&report, "wait"), None);
    assert!(cautions(&report).contains("lies outside the time"), "{}", cautions(&report));
}
