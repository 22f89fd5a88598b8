//! `laggard record` on machines with tracefs.

use crate::recorder::{
    LAGGARD, Tracefs, ended, folder, is_installed, machine, record, reported_events, stderr_text, until,
    workload,
};
use laggard_kernel_formats::{OpenOptions, open_with};
use laggard_model::EventKind;
use laggard_testkit::{Missing, skip};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Contents of a file according to Laggard's reader.
#[derive(Default)]
struct RecordedEvents {
    events: u64,
    switches: u64,
    lost: u64,
    markers: Vec<String>,
    others: Vec<String>,
}

fn read_back(path: &Path) -> RecordedEvents {
    let mut found = RecordedEvents::default();
    let options =
        OpenOptions { also: vec!["main".to_owned(), "main_return".to_owned()], ..OpenOptions::default() };
    let trace = open_with(path, &options).unwrap();
    let read = trace.read(|event, texts| {
        match event.kind {
            EventKind::Lost { count } => {
                found.lost += count.unwrap_or(1);
                return;
            }
            EventKind::Switch { .. } => found.switches += 1,
            EventKind::Marker { text } => found.markers.push(texts.text(text).to_owned()),
            EventKind::Other { name, .. } => found.others.push(texts.text(name).to_owned()),
            _ => {}
        }
        found.events += 1;
    });
    assert_eq!(read.facts.clock, "mono");
    let offset = read.facts.calendar.expect("a recording has the calendar time").offset_ns();
    let calendar =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
    let uptime: f64 =
        std::fs::read_to_string("/proc/uptime").unwrap().split(' ').next().unwrap().parse().unwrap();
    let expected = calendar - (uptime * 1e9) as i64;
    assert!((offset - expected).abs() < 5_000_000_000, "{offset} {expected}");
    found
}

/// Lines of `trace-cmd report`, which runs in its own mount namespace because it mounts tracefs.
fn reported(path: &Path) -> Vec<String> {
    let output =
        Command::new("unshare").args(["--mount", "trace-cmd", "report", "--nodate", "-t"]).arg(path).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", stderr_text(&output));
    let lines = String::from_utf8_lossy(&output.stdout);
    lines.lines().filter(|line| line.contains("] ") && line.contains(": ")).map(str::to_owned).collect()
}

#[test]
fn recordings_are_readable_by_laggard_and_trace_cmd() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    for form in ["v6", "v7"] {
        let file = folder.path().join(form);
        let output = record(&[
            "-o",
            file.to_str().unwrap(),
            "--format",
            form,
            "--",
            "sh",
            "-c",
            "sleep 0.05; sleep 0.05; exit 7",
        ]);
        assert_eq!(output.status.code(), Some(7), "{}", stderr_text(&output));
        let found = read_back(&file);
        assert!(found.switches > 4 && reported_events(&output) > 20, "{}", stderr_text(&output));
        assert_eq!((found.events, found.lost), (reported_events(&output), 0), "{form}");
        if is_installed("trace-cmd") {
            assert_eq!(reported(&file).len() as u64, found.events, "{form}");
        }
    }
}

/// More data than is buffered before a write, and faster than a reader is woken.
#[test]
fn many_pages_are_recorded_completely() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let file = folder.path().join("trace.dat");
    let workload = workload();
    let output =
        record(&["-o", file.to_str().unwrap(), "--", workload.to_str().unwrap(), "ping-pong", "20000"]);
    assert!(output.status.success(), "{}", stderr_text(&output));
    let found = read_back(&file);
    // Each round has two switches and two wake-ups, except for switches that this kernel does not record.
    assert!(found.events > 60_000, "{}", found.events);
    assert_eq!((found.events, found.lost), (reported_events(&output), 0));
}

#[test]
fn markers_are_recorded_exactly_once() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let file = folder.path().join("trace.dat");
    let text = format!("hello from {}", std::process::id());
    // A concurrent recording that mounted tracefs may end and unmount it before the command starts.
    let script = format!("echo '{text}' > /sys/kernel/tracing/trace_marker");
    let output = record(&["-o", file.to_str().unwrap(), "--marker", "--", "sh", "-c", &script]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    let markers = read_back(&file).markers;
    assert_eq!(markers.iter().filter(|marker| **marker == text).count(), 1, "{markers:?}");
}

#[test]
fn functions_of_programs_are_recorded_and_their_probes_removed() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let file = folder.path().join("trace.dat");
    let probe = format!("{LAGGARD}:main");
    let output = record(&["-o", file.to_str().unwrap(), "--uprobe", &probe, "--", LAGGARD, "formats"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    let others = read_back(&file).others;
    let count = |name: &str| others.iter().filter(|other| *other == name).count();
    // The guardian of another recording is the same program.
    assert!(count("main") >= 1 && count("main_return") >= 1, "{others:?}");
    assert!(!Tracefs::mount().text("uprobe_events").contains(&format!("laggard_{}_", std::process::id())));
    let output =
        record(&["-o", file.to_str().unwrap(), "--uprobe", "/bin/sh:no_such_function_", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr_text(&output).contains("no function"), "{}", stderr_text(&output));
}

#[test]
fn a_flight_recorder_keeps_the_latest_events_and_reports_overwritten_ones() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let file = folder.path().join("trace.dat");
    let workload = workload();
    let arguments = ["-o", file.to_str().unwrap(), "--overwrite", "--buffer", "1MiB", "--"];
    let output = record(&[&arguments[..], &[workload.to_str().unwrap(), "ping-pong", "30000"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("older events were overwritten"), "{}", stderr_text(&output));
    let found = read_back(&file);
    assert_eq!(found.events, reported_events(&output));
    assert!(std::fs::metadata(&file).unwrap().len() < 2 << 20);
}

fn begin(arguments: &[&str]) -> Child {
    Command::new(LAGGARD).arg("record").args(arguments).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_stopped_recorder_writes_its_file() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let (file, tracefs) = (folder.path().join("trace.dat"), Tracefs::mount());
    let recorder = begin(&["-o", file.to_str().unwrap(), "--all"]);
    let pid = recorder.id();
    until("recording", || tracefs.has_buffer_of(pid));
    std::thread::sleep(std::time::Duration::from_millis(100));
    Command::new("kill").args(["-TERM", &pid.to_string()]).status().unwrap();
    let output = ended(recorder);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    assert!(!tracefs.has_buffer_of(pid));
    assert_eq!(read_back(&file).events, reported_events(&output));
}

#[test]
fn a_recorder_started_with_ignored_signals_ends_by_each_of_them() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let tracefs = Tracefs::mount();
    for signal in ["INT", "TERM", "HUP"] {
        let file = folder.path().join(signal);
        let recorder = Command::new("sh")
            .args(["-c", "trap '' INT TERM HUP; exec \"$@\"", "sh", LAGGARD, "record", "--all", "-o"])
            .arg(&file)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = recorder.id();
        until("recording", || tracefs.has_buffer_of(pid));
        Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status().unwrap();
        let output = ended(recorder);
        assert_eq!(output.status.code(), Some(0), "{signal}: {}", stderr_text(&output));
        assert!(!tracefs.has_buffer_of(pid));
        assert_eq!(read_back(&file).events, reported_events(&output));
    }
}

#[test]
fn a_killed_recorder_leaves_nothing_behind() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let (file, tracefs) = (folder.path().join("trace.dat"), Tracefs::mount());
    let mut recorder = begin(&["-o", file.to_str().unwrap(), "--all"]);
    let pid = recorder.id();
    until("recording", || tracefs.has_buffer_of(pid));
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    until("the buffer is gone", || !tracefs.has_buffer_of(pid));
    until("its empty file is gone", || !file.exists());
}

#[test]
fn the_global_trace_buffer_is_unchanged_even_after_a_kill() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let (file, tracefs) = (folder.path().join("trace.dat"), Tracefs::mount());
    let trigger = "events/sched/sched_switch/trigger";
    let settings = || {
        ["trace_clock", "tracing_on", "set_event", "buffer_percent", trigger].map(|name| tracefs.text(name))
    };
    let before = settings();
    let arguments = ["-o", file.to_str().unwrap(), "--top-level", "--stacks"];
    let output = record(&[&arguments[..], &["--", "sleep", "0.05"]].concat());
    if stderr_text(&output).contains("is in use") {
        return skip(Missing::Machine, "somebody else traces this machine");
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    // The program's part of a stack is a record of its own, and of one event with the kernel's part.
    let read = read_back(&file).events;
    assert!((1..reported_events(&output)).contains(&read), "{read}");
    assert_eq!(settings(), before);
    let mut recorder = begin(&[&arguments[..], &["--all"]].concat());
    until("recording", || tracefs.text(trigger).contains("prev_state"));
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    until("everything is as it was", || settings() == before);
}

#[test]
fn printed_commands_record_with_trace_cmd_and_perf() {
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let output = record(&["--print-commands", "--", "sleep", "0.05"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for (program, begin, file) in
        [("trace-cmd", "unshare --mount", "trace.dat"), ("perf", "perf record", "perf.data")]
    {
        if !is_installed(program) {
            continue;
        }
        let line = text.lines().find(|line| line.starts_with(begin)).unwrap();
        // trace-cmd only uses the default mount point; the namespace is discarded.
        let script =
            format!("mountpoint -q /sys/kernel/tracing || mount -t tracefs t /sys/kernel/tracing; {line}");
        let shell = Command::new("unshare")
            .args(["--mount", "sh", "-c", &script])
            .current_dir(folder.path())
            .output();
        let shell = shell.unwrap();
        let path = folder.path().join(file);
        assert!(shell.status.success() && path.exists(), "{line}\n{}", stderr_text(&shell));
        let mut switches = 0;
        let trace = open_with(&path, &OpenOptions::default()).unwrap();
        trace.read(|event, _| switches += u64::from(matches!(event.kind, EventKind::Switch { .. })));
        assert!(switches > 4, "{program}: {switches}");
    }
}

#[test]
fn invalid_record_arguments_are_explained() {
    for (arguments, status, reason) in [
        (&[][..], 2, "how long is to be recorded"),
        (&["--pid", "1", "--all"], 2, "cannot be used with"),
        (&["--event", "../x", "--all"], 2, "is not an event"),
        (&["--duration", "3", "--all"], 2, "not a length of time"),
        (&["--buffer", "1", "--all"], 2, "too small"),
    ] {
        let output = record(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr_text(&output));
        assert!(stderr_text(&output).contains(reason), "{}", stderr_text(&output));
    }
    let Some(_machine) = machine() else { return };
    let folder = folder();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    std::fs::write(&old, "kept").unwrap();
    for (further, status, reason) in [
        (&["--", "/nonexistent/program"][..], 127, "No such file"),
        (&["--", "/etc/passwd"], 126, "Permission denied"),
        (&["--event", "no:such", "--", "true"], 2, "the kernel has no event no:such"),
        (&["--pid", "2147483647"], 2, "there is no process"),
    ] {
        for file in [&old, &new] {
            let output = record(&[&["-o", file.to_str().unwrap()], further].concat());
            assert_eq!(output.status.code(), Some(status), "{further:?}: {}", stderr_text(&output));
            assert!(stderr_text(&output).contains(reason), "{}", stderr_text(&output));
        }
    }
    assert_eq!(std::fs::read_to_string(old).unwrap(), "kept");
    assert!(!new.exists());
}
