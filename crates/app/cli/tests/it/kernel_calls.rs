//! Waits with their system calls and wakers, in traces in the text format of tracefs.

use crate::kernel::{Writer, json, write};
use crate::outcome::laggard;
use serde_json::Value;

const APP: (&str, u32) = ("app", 100);
const KWORKER: (&str, u32) = ("kworker/1:0", 9);
const HOLDER: (&str, u32) = ("app", 101);
const OTHER: (&str, u32) = ("batch", 300);
const IDLE: [(&str, u32); 2] = [("swapper/0", 0), ("swapper/1", 0)];

/// Calls of `app` with their waits, each in its own execution.
struct Calls {
    writer: Writer,
    executions: u32,
}

impl Calls {
    fn new() -> Calls {
        Calls { writer: Writer::new(5), executions: 0 }
    }

    fn execution(&mut self, number: u32, call: impl FnOnce(&mut Writer)) {
        self.executions += 1;
        let marker = |what: &str, number: u32| format!("tracing_mark_write: {what} request {number}");
        self.writer.line("app", 100, 0, &marker("begin", self.executions));
        self.writer.pass(100);
        self.writer.line("app", 100, 0, &format!("sys_enter: NR {number} (3, 0, 0, 0, 0, 0)"));
        self.writer.pass(20);
        call(&mut self.writer);
        self.writer.pass(20);
        self.writer.line("app", 100, 0, &format!("sys_exit: NR {number} = 0"));
        self.writer.pass(100);
        self.writer.line("app", 100, 0, &marker("end", self.executions));
        self.writer.pass(50);
    }

    /// A kernel worker writes and waits for the disk.
    fn fsync(&mut self) {
        self.execution(74, |writer| {
            writer.wake(0, APP, KWORKER, 1);
            writer.switch(1, IDLE[1], "R", KWORKER);
            writer.switch(0, APP, "D", IDLE[0]);
            writer.pass(100);
            writer.switch(1, KWORKER, "D", IDLE[1]);
            writer.pass(3_000);
            writer.line("swapper/1", 0, 1, "irq_handler_entry: irq=27 name=virtio1-req.0");
            writer.wake(1, IDLE[1], KWORKER, 1);
            writer.line("swapper/1", 0, 1, "irq_handler_exit: irq=27 ret=handled");
            writer.switch(1, IDLE[1], "R", KWORKER);
            writer.pass(50);
            writer.wake(1, KWORKER, APP, 0);
            writer.switch(0, IDLE[0], "R", APP);
            writer.switch(1, KWORKER, "S", IDLE[1]);
        });
    }

    /// A lock wait that times out after 5 ms and is repeated.
    fn lock_timeout(&mut self) {
        self.execution(202, |writer| {
            writer.switch(0, APP, "S", IDLE[0]);
            writer.pass(5_000);
            let timer = "hrtimer_expire_entry: hrtimer=00000000aa function=hrtimer_wakeup now=1";
            writer.line("swapper/0", 0, 0, timer);
            writer.wake(0, IDLE[0], APP, 0);
            writer.line("swapper/0", 0, 0, "hrtimer_expire_exit: hrtimer=00000000aa");
            writer.switch(0, IDLE[0], "R", APP);
        });
    }

    /// Another thread of the same name holds the lock and is preempted twice before it releases it.
    fn lock_held(&mut self) {
        self.execution(202, |writer| {
            writer.wake(0, APP, HOLDER, 1);
            writer.switch(1, IDLE[1], "R", HOLDER);
            writer.switch(0, APP, "S", IDLE[0]);
            for _ in 0..2 {
                writer.pass(1_000);
                writer.switch(1, HOLDER, "R", OTHER);
                writer.pass(2_000);
                writer.switch(1, OTHER, "S", HOLDER);
            }
            writer.pass(1_000);
            writer.wake(1, HOLDER, APP, 0);
            writer.switch(0, IDLE[0], "R", APP);
            writer.switch(1, HOLDER, "S", IDLE[1]);
        });
    }

    fn report(&self) -> Value {
        let folder = tempfile::tempdir().unwrap();
        let file = write(folder.path(), "trace.txt", &self.writer.text);
        json(&["path", &file, "--executions", "marker"])
    }
}

/// The rows of a list as strings of some of their fields.
fn rows(report: &Value, list: &str, members: &[&str]) -> Vec<String> {
    let text = |row: &Value, member: &&str| match &row[*member] {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let rows = report[list].as_array().unwrap().iter();
    rows.map(|row| members.iter().map(|member| text(row, member)).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn waits_for_kernel_workers_are_attributed_to_the_system_call() {
    let mut calls = Calls::new();
    (0..5).for_each(|_| calls.fsync());
    let report = calls.report();
    let first = &report["calls"][0];
    assert_eq!((&first["call"], &first["count"]), (&"fsync".into(), &5.into()), "{report:#}");
    assert_eq!((&first["waits"][0]["cause"], &first["waker"]), (&"disk".into(), &"kworker/1:0".into()));
    let disk_ns = first["waits"][0]["total_ns"].as_u64().unwrap();
    assert!((15_000_000..17_000_000).contains(&disk_ns), "{disk_ns}");
    let sum = |list: &str| -> u64 {
        report[list].as_array().unwrap().iter().map(|row| row["total_ns"].as_u64().unwrap()).sum()
    };
    assert_eq!(sum("calls"), sum("causes"));
    let waits = rows(&report, "waits", &["thread", "call", "cause", "waker", "count"]);
    assert_eq!(waits[..2], ["app fsync disk kworker/1:0 5", "app fsync other_thread kworker/1:0 5"]);
    let headline = report["headline"].as_str().unwrap();
    assert!(headline.contains("`app` was in `fsync` 5 times for "), "{headline}");
    assert!(headline.contains("of it waiting for a disk."), "{headline}");
}

#[test]
fn a_lock_wait_is_not_a_sleep_and_names_the_holder() {
    let mut calls = Calls::new();
    (0..4).for_each(|_| calls.lock_timeout());
    let report = calls.report();
    assert_eq!(rows(&report, "waits", &["call", "cause"])[0], "futex lock");
    let description = report["waits"][0]["description"].as_str().unwrap();
    assert!(description.ends_with("in `futex` for a lock or a condition, until a timeout"), "{description}");
    assert!(rows(&report, "causes", &["cause"]).iter().all(|cause| cause != "timer"), "{report:#}");

    let mut calls = Calls::new();
    (0..4).for_each(|_| calls.lock_held());
    let report = calls.report();
    let waits = rows(&report, "waits", &["call", "cause", "waker", "count"]);
    // Four waits, although the path has three segments in each.
    assert_eq!(waits[..2], ["futex cpu_busy app 4", "futex other_thread app 4"]);
    let description = report["waits"][1]["description"].as_str().unwrap();
    assert!(description.contains("in `futex` for `app` (tid 101), which ran"), "{description}");
    assert_eq!(report["waits"][0]["cpu_users"][0]["thread"], "batch");
    assert_eq!(report["calls"][0]["waker"], "app");
    // The longest wait includes all its segments.
    let longest_ns = report["waits"][0]["longest_ns"].as_u64().unwrap();
    assert!(longest_ns > 4_000_000, "{longest_ns}");
}

#[test]
fn a_trace_without_system_calls_has_one_caution() {
    let mut calls = Calls::new();
    (0..5).for_each(|_| calls.fsync());
    let lines = calls.writer.text.lines().filter(|line| !line.contains(": sys_"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "trace.txt", &text);
    let report = json(&["path", &file, "--executions", "marker"]);
    let cautions = report["cautions"].as_array().unwrap().iter();
    let matching = cautions.filter(|caution| caution.as_str().unwrap().contains("record --syscalls")).count();
    assert_eq!((matching, &report["calls"]), (1, &Value::Array(Vec::new())));
    assert_eq!(report["waits"][0]["call"], Value::Null);
    assert!(calls.report()["cautions"].as_array().unwrap().is_empty());
    let outcome = laggard(&["kernel", "path", &file, "--executions", "marker"]);
    assert!(!outcome.stdout.contains("By system call"), "{}", outcome.stdout);
}
