//! Kills a running server again and again while it takes spans, flushes, compacts, deletes and replays, and looks for
//! every acknowledged span: by its API, and in its files with DuckDB, if Python has it.
//!
//! ```text
//! cargo run -p laggard --example kill_server -- target/debug/laggard 200 [SEED]
//! ```

#[path = "../../tests/it/serve/faults/kill_run/mod.rs"]
mod kill_run;

use kill_run::Run;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kills between two looks at everything.
const CHECK_EVERY: u64 = 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let binary = PathBuf::from(arguments.next().expect("the path of laggard, kills, and perhaps a seed"));
    let mut numbers = arguments.map(|text| text.parse::<u64>().expect("a number"));
    let (kills, seed) = (numbers.next().unwrap_or(20), numbers.next().unwrap_or(1));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut run = Run::new(&binary, folder.path(), seed);
    for kill in 1..=kills {
        run.kill_once();
        if kill % CHECK_EVERY == 0 || kill == kills {
            let found = run.check();
            say(&format!(
                "{kill} kills: {} acknowledged spans are there once; {} messages were sent again; killed in {:?}",
                found.spans, found.repeated, run.killed_in
            ));
        }
    }
    let traces = run.stop();
    look_into_files(folder.path(), traces);
}

fn say(line: &str) {
    let line = format!("{line}\n");
    std::io::stdout().write_all(line.as_bytes()).expect("a terminal or a file");
}

/// Reads every segment with another program.
fn look_into_files(data: &Path, traces: [u64; 2]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/kill_server/segments.py");
    let mut python = Command::new("python3");
    python.arg(script).arg(data.join("tenants/default/segments"));
    python.args(traces.map(|count| count.to_string()));
    let ended = python.status();
    assert!(ended.as_ref().is_ok_and(|status| status.success()), "the files were not looked into: {ended:?}");
}
