//! Spans that do not fit in `--memory` are in a temporary file meanwhile; the answers are those of enough memory.

use crate::outcome::{Outcome, command, finish, input_count, laggard};
use crate::workshop::{RANDOM_DEVICE, THREAD_POOL, incident};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Answers with little memory, which must have been too little, and with enough.
#[track_caller]
fn both(arguments: &[&str], inputs: &[&str]) -> [Value; 2] {
    let folder = tempfile::tempdir().unwrap();
    let spill = ["--memory", "1MiB", "--spill-folder", folder.path().to_str().unwrap()];
    let answer = |further: &[&str]| {
        let run = laggard(&[arguments, &["--output", "json"], further].concat());
        assert!([0, 4].contains(&run.status), "{}", run.stderr);
        assert_eq!(run.stderr, "");
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    let (mut little, enough) = (answer(&spill), answer(&[]));
    for input in inputs {
        let input = little.pointer_mut(input).unwrap().as_object_mut().unwrap();
        let spilled = input.remove("spilled_bytes").expect("the memory is not enough");
        assert!(spilled.as_u64().unwrap() > 100_000, "{spilled}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
    [little, enough]
}

#[test]
fn reports_are_those_of_enough_memory() {
    for (format, files) in [("span-csv", "1"), ("span-csv", "7"), ("call-log", "1"), ("otlp-proto", "3")] {
        let incident = incident(RANDOM_DEVICE, &["--format", format, "--files", files]);
        let traces = incident.traces();
        let [little, enough] = both(&["diagnose", traces.to_str().unwrap()], &["/input"]);
        assert!(input_count(&enough, "spans") * 64 > 1 << 20, "{format}");
        assert_eq!(little.to_string(), enough.to_string(), "{format} in {files} files");
    }
}

#[test]
fn a_baseline_and_both_sets_of_a_comparison_spill() {
    let [before, after] = [THREAD_POOL, RANDOM_DEVICE].map(|recipe| incident(recipe, &[]).traces());
    let [before, after] = [before.to_str().unwrap(), after.to_str().unwrap()];
    let [little, enough] = both(&["diagnose", after, "--baseline", before], &["/input"]);
    assert_eq!(little.to_string(), enough.to_string());
    let [little, enough] = both(&["compare", before, after], &["/before/input", "/after/input"]);
    assert_eq!(little.to_string(), enough.to_string());
}

#[test]
fn samples_of_spans_are_those_of_all_spans() {
    let traces = incident(RANDOM_DEVICE, &[]).traces();
    let [little, enough] = both(&["changes", traces.to_str().unwrap()], &["/input"]);
    assert_eq!(little.to_string(), enough.to_string());
}

#[test]
fn the_report_states_what_was_written() {
    let traces = incident(RANDOM_DEVICE, &[]).traces();
    let diagnose = |further: &[&str]| {
        laggard(&[&["diagnose", traces.to_str().unwrap(), "--output", "markdown"], further].concat()).text()
    };
    let (little, enough) = (diagnose(&["--memory", "1MiB"]), diagnose(&[]));
    let from = little.find(" The spans did not fit in memory: ").expect("it is in the input section");
    let until = from + little[from..].find(" were written to a temporary file meanwhile.").unwrap();
    let until = until + " were written to a temporary file meanwhile.".len();
    assert_eq!(format!("{}{}", &little[..from], &little[until..]), enough);
}

fn diagnosis_with_folder(traces: &Path, folder: &str) -> Outcome {
    laggard(&["diagnose", traces.to_str().unwrap(), "--memory", "1MiB", "--spill-folder", folder])
}

#[test]
fn a_folder_that_cannot_be_used_is_an_error() {
    let traces = incident(RANDOM_DEVICE, &[]).traces();
    let words = ["/nowhere/at/all", "--spill-folder", "--beyond-memory thin"];
    diagnosis_with_folder(&traces, "/nowhere/at/all").fails(3, &words);
}

/// A limit on the size of files has the same effect as a full disk: writing fails.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_leaves_nothing() {
    let (traces, folder) = (incident(RANDOM_DEVICE, &[]).traces(), tempfile::tempdir().unwrap());
    let program = command(&[
        "diagnose",
        traces.to_str().unwrap(),
        "--memory",
        "1MiB",
        "--spill-folder",
        folder.path().to_str().unwrap(),
    ]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\""]);
    limited.arg(program.get_program()).args(program.get_args()).stdin(Stdio::null());
    let words = ["writing to a temporary file", folder.path().to_str().unwrap(), "File too large"];
    finish(&mut limited).fails(3, &words);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}
