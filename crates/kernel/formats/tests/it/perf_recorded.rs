//! perf.data that `perf record` makes while the tests run, against another reader and against `perf script`.

use laggard_kernel_formats::open;
use laggard_model::{EventKind, Loss};
use laggard_testkit::{Missing, skip};
use linux_perf_data::linux_perf_event_reader::EventRecord;
use linux_perf_data::{PerfFileReader, PerfFileRecord};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const EVENTS: &str = "sched:sched_switch,sched:sched_waking,irq:softirq_entry,irq:softirq_exit,sched:sched_process_fork,\
                      sched:sched_process_exec,sched:sched_process_exit,task:task_rename,raw_syscalls:sys_exit";

/// Makes a short recording; returns `false` and prints a message if perf is missing or not permitted.
fn record(path: &Path, further: &[&str]) -> bool {
    let workload = ["--", "sh", "-c", "for i in 1 2 3; do sleep 0.01; done"];
    let mut command = Command::new("perf");
    command.args(["record", "-q", "-a", "-k", "mono", "-m", "1M", "-e", EVENTS]).args(further).args(workload);
    let output = command.stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => {
            if further.contains(&"-") {
                std::fs::write(path, output.stdout).expect("room for it");
            }
            true
        }
        Ok(output) => {
            let reason = format!("perf record: {}", String::from_utf8_lossy(&output.stderr).trim());
            skip(Missing::Machine, &reason);
            false
        }
        Err(error) => {
            skip(Missing::Packages("linux-perf"), &format!("perf is not there: {error}"));
            false
        }
    }
}

/// How many events of each kind; only kinds that were recorded.
fn kinds(path: &Path) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    let trace = open(path).expect("a trace");
    assert_eq!(trace.facts.clock, "mono");
    assert!(trace.facts.calendar.is_some());
    assert!(trace.facts.threads.iter().any(|thread| thread.name == "perf"));
    let read = trace.read(|event, texts| {
        let kind = match event.kind {
            EventKind::Switch { next_name, .. } => {
                assert!(!texts.text(next_name).is_empty());
                "sched:sched_switch"
            }
            EventKind::Waking { .. } => "sched:sched_waking",
            EventKind::SoftirqEntry { vector } => {
                assert!(vector < 10);
                "irq:softirq_entry"
            }
            EventKind::SoftirqExit { .. } => "irq:softirq_exit",
            EventKind::Fork { .. } => "sched:sched_process_fork",
            EventKind::Exec { filename, .. } => {
                assert!(texts.text(filename).starts_with('/'));
                "sched:sched_process_exec"
            }
            EventKind::Exit { .. } => "sched:sched_process_exit",
            EventKind::Rename { .. } => "task:task_rename",
            EventKind::SyscallExit { .. } => "raw_syscalls:sys_exit",
            EventKind::Lost { .. } => "lost",
            other => panic!("{other:?} was not recorded"),
        };
        *counts.entry(kind).or_default() += 1;
    });
    // An interrupt may read the clock before and be written after the event it interrupted; this disorder is in the recording.
    let of_the_recording = [Loss::LostEvents, Loss::TimeWentBack];
    let summarize = read.losses.iter().filter(|(loss, _)| !of_the_recording.contains(loss)).count();
    assert_eq!(summarize, 0, "{:?}", read.losses);
    counts.remove("lost");
    counts
}

/// The same from another reader, which knows events by the name of their attribute.
fn reference_kinds(path: &Path) -> BTreeMap<String, u64> {
    let file = BufReader::new(File::open(path).expect("a file"));
    let PerfFileReader { mut perf_file, mut record_iter } =
        PerfFileReader::parse_file(file).expect("a perf.data");
    let names: Vec<String> =
        perf_file.event_attributes().iter().map(|event| event.name().unwrap_or("?").to_owned()).collect();
    let mut counts = BTreeMap::new();
    while let Some(record) = record_iter.next_record(&mut perf_file).expect("a record") {
        if let PerfFileRecord::EventRecord { attr_index, record } = record
            && let Ok(EventRecord::Sample(_)) = record.parse()
        {
            *counts.entry(names[attr_index].clone()).or_default() += 1;
        }
    }
    counts
}

/// Counts by the names that `perf script` prints.
fn script_kinds(path: &Path) -> BTreeMap<String, u64> {
    let output = Command::new("perf").args(["script", "-F", "event", "-i"]).arg(path).output().expect("perf");
    let mut counts = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        *counts.entry(line.trim().trim_end_matches(':').to_owned()).or_default() += 1;
    }
    counts
}

fn owned(counts: BTreeMap<&'static str, u64>) -> BTreeMap<String, u64> {
    counts.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect()
}

#[test]
fn files_have_the_events_that_another_reader_finds() {
    let folder = tempfile::tempdir().expect("a folder");
    for further in [&["-o"][..], &["-z", "-o"]] {
        let path = folder.path().join("perf.data");
        let mut arguments = further.to_vec();
        arguments.push(path.to_str().expect("a path of letters"));
        if !record(&path, &arguments) {
            return;
        }
        let counts = owned(kinds(&path));
        assert!(counts.len() > 5, "{counts:?}");
        assert_eq!(counts, reference_kinds(&path), "{further:?}");
        let mut packed =
            BufWriter::new(File::create(folder.path().join("complete.zst")).expect("room for it"));
        packed
            .write_all(&zstd::encode_all(File::open(&path).expect("a file"), 1).expect("memory"))
            .expect("room");
        drop(packed);
        assert_eq!(counts, owned(kinds(&folder.path().join("complete.zst"))));
    }
}

#[test]
fn a_folder_of_recording_threads_has_the_events_that_perf_script_prints() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("threads");
    if !record(&path, &["--threads=cpu", "-o", path.to_str().expect("a path of letters")]) {
        return;
    }
    let counts = owned(kinds(&path));
    assert!(counts.len() > 5, "{counts:?}");
    assert_eq!(counts, script_kinds(&path));
}

#[test]
fn the_pipe_form_has_the_events_that_perf_script_prints() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("perf.pipe");
    if !record(&path, &["-o", "-"]) {
        return;
    }
    let counts = owned(kinds(&path));
    assert!(counts.len() > 5, "{counts:?}");
    assert_eq!(counts, script_kinds(&path));
}
