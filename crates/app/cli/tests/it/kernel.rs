//! Questions about kernel traces in the text format of tracefs, with known answers.

use crate::outcome::laggard;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Additional wait of an execution of the generated program.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// A CPU quota holds it back for 8 ms.
    Quota,
    /// The server thread works for 6 ms longer.
    Server,
}

/// A trace under construction; times are in nanoseconds.
pub(crate) struct Writer {
    pub(crate) text: String,
    now: u64,
    wobble: u64,
}

impl Writer {
    pub(crate) fn new(seed: u64) -> Writer {
        Writer { text: "# tracer: nop\n#\n".to_owned(), now: 1_000_000_000_000, wobble: seed * 7_919 + 1 }
    }

    /// Advances the clock by `us` microseconds plus up to 10 %.
    pub(crate) fn pass(&mut self, us: u64) {
        self.wobble =
            self.wobble.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.now += us * 1_000 + us * (self.wobble >> 33) % (us * 100);
    }

    pub(crate) fn line(&mut self, task: &str, pid: u32, cpu: u32, event: &str) {
        let (s, ns) = (self.now / 1_000_000_000, self.now % 1_000_000_000);
        let _ = writeln!(self.text, "  {task}-{pid}   [{cpu:03}] d..2. {s}.{ns:09}: {event}");
        self.now += 700;
    }

    pub(crate) fn switch(&mut self, cpu: u32, prev: (&str, u32), state: &str, next: (&str, u32)) {
        let ((prev_name, prev), (next_name, next)) = (prev, next);
        let event = format!(
            "sched_switch: prev_comm={prev_name} prev_pid={prev} prev_prio=120 prev_state={state} ==> \
             next_comm={next_name} next_pid={next} next_prio=120"
        );
        self.line(prev_name, prev, cpu, &event);
    }

    pub(crate) fn wake(&mut self, cpu: u32, by: (&str, u32), woken: (&str, u32), target: u32) {
        let event = format!("sched_waking: comm={} pid={} prio=120 target_cpu={target:03}", woken.0, woken.1);
        self.line(by.0, by.1, cpu, &event);
    }

    /// One request of `app`, which calls `db` on the other CPU.
    fn execution(&mut self, number: u64, label: &str, fault: Fault) {
        const APP: (&str, u32) = ("app", 100);
        const DB: (&str, u32) = ("db", 200);
        const IDLE: [(&str, u32); 2] = [("swapper/0", 0), ("swapper/1", 0)];
        self.line("app", 100, 0, &format!("tracing_mark_write: begin {label} {number}"));
        self.pass(1_000);
        if fault == Fault::Quota {
            self.switch(0, APP, "R", IDLE[0]);
            self.pass(8_000);
            self.switch(0, IDLE[0], "R", APP);
        }
        self.pass(200);
        self.wake(0, APP, DB, 1);
        self.switch(1, IDLE[1], "R", DB);
        self.switch(0, APP, "S", IDLE[0]);
        self.pass(if fault == Fault::Server { 8_000 } else { 2_000 });
        self.wake(1, DB, APP, 0);
        self.switch(1, DB, "S", IDLE[1]);
        self.switch(0, IDLE[0], "R", APP);
        self.pass(500);
        self.line("app", 100, 0, &format!("tracing_mark_write: end {label} {number}"));
        self.pass(300);
    }
}

/// A trace of executions, each with its fault.
fn trace(seed: u64, faults: impl Iterator<Item = Fault>) -> String {
    let mut writer = Writer::new(seed);
    for (number, fault) in faults.enumerate() {
        writer.execution(number as u64, "request", fault);
    }
    writer.text
}

/// Traces of normal executions, and of those that a quota holds back.
pub(crate) fn normal_and_slow(folder: &Path) -> [String; 2] {
    let normal = trace(1, every_third(Fault::None));
    let slow = trace(2, every_third(Fault::Quota));
    [write(folder, "normal.txt", &normal), write(folder, "slow.txt", &slow)]
}

fn every_third(fault: Fault) -> impl Iterator<Item = Fault> {
    (0..30).map(move |index| if index % 3 == 1 { fault } else { Fault::None })
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

pub(crate) fn json(arguments: &[&str]) -> Value {
    let outcome = laggard(&[&["kernel"], arguments, &["--output", "json"]].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{arguments:?}");
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn numbers(report: &Value, list: &str) -> Vec<u64> {
    report[list].as_array().unwrap().iter().map(|row| row["number"].as_u64().unwrap()).collect()
}

#[test]
fn stats_lists_possible_delimiters_of_executions() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "normal.txt", &trace(1, every_third(Fault::None)));
    let report = json(&["stats", &file]);
    assert_eq!(report["delimiters"][0]["name"], "marker");
    assert_eq!(report["delimiters"][0]["count"], 30);
    let names: Vec<&Value> =
        report["threads"].as_array().unwrap().iter().map(|thread| &thread["thread"]).collect();
    assert!(names.contains(&&Value::from("app")) && names.contains(&&Value::from("db")), "{names:?}");
    assert_eq!(report["cpus"].as_array().unwrap().len(), 2);
}

#[test]
fn paths_tile_their_executions_and_name_the_waits() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "slow.txt", &trace(2, (0..10).map(|_| Fault::Quota)));
    let report = json(&["path", &file, "--executions", "marker"]);
    assert_eq!(report["executions"].as_array().unwrap().len(), 10);
    let headline = report["headline"].as_str().unwrap();
    assert!(headline.contains("waiting for the next period of a CPU quota"), "{headline}");
    for timeline in report["timelines"].as_array().unwrap() {
        let mut time_ns = 0;
        for piece in timeline["segments"].as_array().unwrap() {
            assert_eq!(piece["from_ns"].as_u64(), Some(time_ns));
            time_ns = piece["to_ns"].as_u64().unwrap();
        }
        assert_eq!(timeline["elapsed_ns"].as_u64(), Some(time_ns));
    }
    let sum = |list: &str| -> u64 {
        report[list].as_array().unwrap().iter().map(|row| row["total_ns"].as_u64().unwrap()).sum()
    };
    assert_eq!(report["total_ns"].as_u64(), Some(sum("causes")));
    assert_eq!(sum("states"), sum("causes"));
    assert_eq!(sum("workers"), sum("causes"));
}

#[test]
fn a_waiting_thread_is_shown_with_the_thread_it_waits_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "server.txt", &trace(3, (0..10).map(|_| Fault::Server)));
    for arguments in [&["--thread", "app"][..], &["--thread", "100"], &["--executions", "marker:request"]] {
        let report = json(&[&["path", &file], arguments].concat());
        let first = &report["waits"][0];
        assert_eq!(
            (&first["cause"], &first["waker"]),
            (&"other_thread".into(), &"db".into()),
            "{arguments:?}"
        );
    }
    let one = json(&["path", &file, "--executions", "marker", "--execution", "3"]);
    assert_eq!(numbers(&one, "executions"), [3]);
}

#[test]
fn a_window_clips_a_thread_and_selects_executions() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "normal.txt", &trace(4, every_third(Fault::None)));
    let report = json(&["path", &file, "--thread", "app", "--from", "+1ms", "--to", "1000.003"]);
    assert_eq!(report["executions"][0]["elapsed_ns"], 2_000_000);
    let some = json(&["path", &file, "--executions", "marker", "--to", "+20ms"]);
    let count = some["executions"].as_array().unwrap().len();
    assert!((3..=5).contains(&count), "{count} of about 4 ms each");
}

#[test]
fn a_cpu_quota_is_found_in_the_throttled_executions() {
    let folder = tempfile::tempdir().unwrap();
    let normal = write(folder.path(), "normal.txt", &trace(5, (0..40).map(|_| Fault::None)));
    let sample = write(folder.path(), "sample.txt", &trace(6, every_third(Fault::Quota)));
    let report = json(&["diagnose", "--normal", &normal, "--sample", &sample, "--executions", "marker"]);
    assert_eq!(report["verdict"], "slower");
    let mut found = numbers(&report, "anomalous");
    found.sort_unstable();
    assert_eq!(found, (0..10).map(|index| 3 * index + 2).collect::<Vec<u64>>());
    assert_eq!(report["waits"][0]["cause"], "cpu_quota", "{}", report["headline"]);
    let text = laggard(&["kernel", "diagnose", "--normal", &normal, "--sample", &sample, "--exit-code"]);
    assert_eq!(text.status, 1, "auto finds the markers: {}", text.stderr);
    assert!(text.stdout.contains("a CPU quota"), "{}", text.stdout);
}

#[test]
fn a_slow_server_is_named_and_a_second_normal_set_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let normal = write(folder.path(), "normal.txt", &trace(7, (0..40).map(|_| Fault::None)));
    let again = write(folder.path(), "again.txt", &trace(8, (0..40).map(|_| Fault::None)));
    let sample = write(folder.path(), "sample.txt", &trace(9, every_third(Fault::Server)));
    let report = json(&["diagnose", "--normal", &normal, "--sample", &sample]);
    assert_eq!((&report["verdict"], report["anomalous"].as_array().unwrap().len()), (&"slower".into(), 10));
    assert_eq!(report["waits"][0]["waker"], "db", "{}", report["headline"]);
    let quiet = json(&["diagnose", "--normal", &normal, "--sample", &again, "--exit-code"]);
    assert_eq!(quiet["verdict"], "nothing-found", "{}", quiet["headline"]);
}

#[test]
fn one_trace_can_contain_both_sets() {
    let folder = tempfile::tempdir().unwrap();
    let faults = (0..60).map(|index| if index >= 40 && index % 2 == 0 { Fault::Server } else { Fault::None });
    let mut writer = Writer::new(10);
    let mut border = 0;
    for (number, fault) in faults.enumerate() {
        if number == 40 {
            border = writer.now;
        }
        writer.execution(number as u64, if number < 40 { "old" } else { "new" }, fault);
    }
    let file = write(folder.path(), "both.txt", &writer.text);
    let border = format!("{}.{:09}", border / 1_000_000_000, border % 1_000_000_000);
    let windows = json(&["diagnose", &file, "--normal-to", &border, "--sample-from", &border]);
    let labels = json(&["diagnose", &file, "--normal-label", "old*", "--sample-label", "new*"]);
    for report in [windows, labels] {
        assert_eq!(report["anomalous"].as_array().unwrap().len(), 10, "{}", report["headline"]);
        assert_eq!(report["normal"]["executions"], 40);
    }
}

#[test]
fn a_span_selects_its_execution() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(11);
    let traceparent = "traceparent 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    writer.execution(1, "other", Fault::None);
    writer.line("app", 100, 0, &format!("tracing_mark_write: {traceparent} begin"));
    writer.execution(2, "request", Fault::Server);
    writer.line("app", 100, 0, &format!("tracing_mark_write: {traceparent} end"));
    let kernel = write(folder.path(), "kernel.txt", &writer.text);
    let spans = write(
        folder.path(),
        "spans.json",
        r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},
        "scopeSpans":[{"spans":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","name":"checkout",
        "kind":2,"startTimeUnixNano":"1768208400000000000","endTimeUnixNano":"1768208400010000000",
        "attributes":[{"key":"thread.id","value":{"intValue":"100"}}]}]}]}]}"#,
    );
    let report = json(&["path", &kernel, "--traces", &spans, "--span", "00f067aa0ba902b7"]);
    assert_eq!(report["executions"][0]["label"], "shop checkout");
    assert_eq!(report["waits"][0]["waker"], "db");
    let outcome = laggard(&["kernel", "path", &kernel, "--traces", &spans, "--span", "00000000000000ff"]);
    assert_eq!(outcome.status, 4);
    let plain = write(folder.path(), "plain.txt", &trace(12, every_third(Fault::None)));
    let outcome = laggard(&["kernel", "path", &plain, "--traces", &spans, "--span", "00f067aa0ba902b7"]);
    assert!(outcome.stderr.contains("calendar"), "the span tells its thread: {}", outcome.stderr);
}

#[test]
fn errors_suggest_a_fix() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "normal.txt", &trace(13, every_third(Fault::None)));
    let nothing = write(folder.path(), "nothing.bin", "\u{1}\u{2}not a trace\n");
    let cases: [(&[&str], u8, &str); 7] = [
        (&["path", &nothing], 3, "not a kernel trace"),
        (&["path", "/no/such/file"], 3, "/no/such/file"),
        (&["path", &file, "--thread", "nobody"], 4, ""),
        (&["path", &file, "--executions", "sometimes"], 2, "marker[:NAME]"),
        (&["path", &file, "--executions", "marker", "--execution", "99"], 2, "there are 30"),
        (&["diagnose", &file], 2, "--normal-label"),
        (&["diagnose", "--normal", &file], 2, "--sample"),
    ];
    for (arguments, status, message) in cases {
        let outcome = laggard(&[&["kernel"], arguments].concat());
        assert_eq!(i32::from(status), outcome.status, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{arguments:?}: {}", outcome.stderr);
    }
    let nobody = laggard(&["kernel", "path", &file, "--thread", "nobody"]);
    assert!(nobody.stdout.contains("has no thread called nobody"), "{}", nobody.stdout);
}

#[test]
fn too_few_executions_give_no_verdict_status() {
    let folder = tempfile::tempdir().unwrap();
    let one = write(folder.path(), "one.txt", &trace(14, (0..2).map(|_| Fault::None)));
    let outcome = laggard(&["kernel", "diagnose", "--normal", &one, "--sample", &one]);
    assert_eq!(outcome.status, 4, "{}", outcome.stdout);
}

#[test]
fn every_output_format_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let normal = write(folder.path(), "normal.txt", &trace(15, (0..30).map(|_| Fault::None)));
    let sample = write(folder.path(), "sample.txt", &trace(16, every_third(Fault::Quota)));
    for arguments in
        [&["path", &sample][..], &["stats", &sample], &["diagnose", "--normal", &normal, "--sample", &sample]]
    {
        for (form, first) in [("text", "["), ("markdown", "### Laggard"), ("html", "<!doctype html>")] {
            let outcome = laggard(&[&["kernel"], arguments, &["--output", form]].concat());
            assert!(outcome.status == 0 && outcome.stdout.starts_with(first), "{arguments:?} {form}");
        }
    }
}

#[test]
fn paths_are_exported_for_perfetto() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = write(folder.path(), "kernel.txt", &trace(17, (0..3).map(|_| Fault::Server)));
    let exported = folder.path().join("paths.pftrace");
    let exported = exported.to_str().unwrap();
    let report = json(&["path", &kernel, "--executions", "marker", "--perfetto", exported]);
    assert_eq!(report["executions"].as_array().unwrap().len(), 3);
    let bytes = std::fs::read(exported).unwrap();
    assert_eq!(bytes[0], 0x0A, "a packet");
    let contains = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    for name in ["request 0", "request 2", "db (tid 200): running", "waits for db (tid 200)", "CPU 1"] {
        assert!(contains(name), "{name}");
    }
    let none = folder.path().join("none.pftrace");
    let none_text = none.to_str().unwrap();
    let outcome = laggard(&["kernel", "path", &kernel, "--thread", "nobody", "--perfetto", none_text]);
    assert!(outcome.status == 4 && !none.exists(), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("No Perfetto trace was written"), "{}", outcome.stdout);
    let outcome = laggard(&["kernel", "path", &kernel, "--perfetto", "/no/such/folder/x.pftrace"]);
    assert!(
        outcome.status == 3 && outcome.stderr.contains("cannot write /no/such/folder"),
        "{}",
        outcome.stderr
    );
    let outcome = laggard(&["kernel", "path", &kernel, &kernel, "--perfetto", none_text]);
    assert!(outcome.status == 2 && outcome.stderr.contains("one clock"), "{}", outcome.stderr);
}
