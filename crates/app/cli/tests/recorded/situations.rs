//! Two situations that look like something else: memory that is too small looks like a slow disk, and an interpreter's lock like
//! a sleep.

use crate::program::{compiled, is_python_installed, main_call, marked_path};
use crate::recorder::{BusyLoop, SmallMemory, folder, machine};
use laggard_testkit::{Missing, skip};
use serde_json::Value;

/// Executions of each recording.
const EXECUTIONS: usize = 12;

/// Each execution reads 100 pages of a file that is mapped, in random order.
const READER: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
static void mark(int marker, const char *name, const char *side) {
    char text[100];
    snprintf(text, sizeof text, "%s %s", name, side);
    if (write(marker, text, strlen(text)) < 0) exit(3);
}
int main(int count, char **words) {
    int marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY), file = open(words[1], O_RDONLY);
    struct stat stat;
    if (count < 3 || marker < 0 || file < 0 || fstat(file, &stat)) return 2;
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    volatile const char *pages = mmap(0, stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    madvise((void *)pages, stat.st_size, MADV_RANDOM);
    int sum = 0;
    for (int n = 0; n < 12; n++) {
        mark(marker, words[2], "begin");
        for (int i = 0; i < 100; i++) sum += pages[rand() % (stat.st_size / 4096) * 4096];
        mark(marker, words[2], "end");
    }
    return sum == 1;
}
"#;

/// The causes of the waits in a call, the most time first, without those for a CPU, which are of the machine's other load.
fn causes(call: &Value) -> Vec<&str> {
    let causes = call["waits"].as_array().unwrap().iter().map(|wait| wait["cause"].as_str().unwrap());
    causes.filter(|cause| !cause.starts_with("cpu")).collect()
}

fn page_faults_are_waits_for_the_disk(load: &str) {
    let (folder, name) = (folder(), format!("pages{}-", std::process::id()));
    let Some(reader) = compiled(folder.path(), "reader", READER) else { return };
    let Some(group) = SmallMemory::new() else {
        return skip(Missing::Machine, "no control group limits memory here");
    };
    let data = folder.path().join("data");
    std::fs::write(&data, vec![7_u8; 96 << 20]).unwrap();
    std::fs::File::open(&data).unwrap().sync_all().unwrap();
    let script = format!(
        "echo $$ > {}/cgroup.procs && exec {} {} {name}",
        group.folder().display(),
        reader.display(),
        data.display()
    );
    let report = marked_path(folder.path(), &["--syscalls"], &name, &script);
    println!("{load}: {}", report["headline"]);
    assert_eq!(report["executions"].as_array().unwrap().len(), EXECUTIONS);
    let call = main_call(&report);
    assert_eq!(call["call"], "page fault", "{load}: {:#}", report["calls"]);
    assert_eq!(causes(&call)[0], "disk", "{load}: {call:#}");
    let wait = report["waits"].as_array().unwrap().iter().find(|wait| wait["call"] == "page fault").unwrap();
    assert!(wait["description"].as_str().unwrap().contains("page fault"), "{wait:#}");
}

#[test]
fn page_faults_under_a_memory_limit_are_named() {
    let Some(_machine) = machine() else { return };
    page_faults_are_waits_for_the_disk("as it is");
    let _loop = BusyLoop::start();
    page_faults_are_waits_for_the_disk("one CPU busy");
}

/// A thread that computes, and one whose executions give the interpreter's lock away and need it back.
const INTERPRETER: &str = r#"
import os, sys, threading, time
marker = os.open("/sys/kernel/tracing/trace_marker", os.O_WRONLY)
ended = False
def compute():
    while not ended:
        sum(range(100))
other = threading.Thread(target=compute)
other.start()
for _ in range(12):
    os.write(marker, f"{sys.argv[1]} begin".encode())
    time.sleep(0.001)
    os.write(marker, f"{sys.argv[1]} end".encode())
ended = True
other.join()
"#;

fn waits_for_the_interpreter_are_for_a_lock(load: &str) {
    let (folder, name) = (folder(), format!("lock{}-", std::process::id()));
    let program = folder.path().join("two_threads.py");
    std::fs::write(&program, INTERPRETER).unwrap();
    let script = format!("exec python3 {} {name}", program.display());
    let report = marked_path(folder.path(), &["--syscalls"], &name, &script);
    println!("{load}: {}", report["headline"]);
    assert_eq!(report["executions"].as_array().unwrap().len(), EXECUTIONS);
    let call = main_call(&report);
    assert_eq!(call["call"], "futex", "{load}: {:#}", report["calls"]);
    // Its timeout is no sleep.
    assert!(!causes(&call).contains(&"timer"), "{load}: {call:#}");
    assert!(["lock", "other_thread"].contains(&causes(&call)[0]), "{load}: {call:#}");
    // Most of these waits end by a timeout, so that there may be nobody who woke the thread; who did is of the same program.
    let waits = report["waits"].as_array().unwrap();
    let mut others = waits.iter().map(|wait| &wait["other"]).filter(|other| !other.is_null());
    let is_own = |other: &Value| other["is_namesake"] == true && other["kind"] == "same_process";
    assert!(others.all(is_own), "{load}: {waits:#?}");
}

#[test]
fn the_lock_of_an_interpreter_is_named() {
    let Some(_machine) = machine() else { return };
    if !is_python_installed() {
        return skip(Missing::Packages("python3"), "there is no python3");
    }
    waits_for_the_interpreter_are_for_a_lock("as it is");
    let _loop = BusyLoop::start();
    waits_for_the_interpreter_are_for_a_lock("one CPU busy");
}
