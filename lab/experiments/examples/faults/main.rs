//! The tests of `serve/faults`, for any length of time.
//!
//! ```text
//! cargo run -p laggard-experiments --example faults -- kills target/debug/laggard 200 [SEED]
//! cargo run -p laggard-experiments --example faults -- incidents target/debug/laggard INCIDENTS [SEED]
//! cargo run -p laggard-experiments --example faults -- siege target/debug/laggard SECONDS [SEED]
//! ```
//!
//! `kills` kills a running server again and again while it ingests spans, flushes, compacts, deletes and replays, and
//! looks for every acknowledged span: by its API, and in its files with DuckDB (Python's package `duckdb`). `incidents`
//! kills it while incidents open, worsen, and end, and counts their messages. `siege` attacks a running server with hostile
//! clients while a good one sends.

#[path = "../../../../crates/app/cli/tests/it/serve/faults/hostile/mod.rs"]
mod hostile;
#[path = "../../../../crates/app/cli/tests/it/serve/faults/incident_kills/mod.rs"]
mod incident_kills;
#[path = "../../../../crates/app/cli/tests/it/serve/faults/kill_run/mod.rs"]
mod kill_run;

use hostile::besiege;
use incident_kills::{IncidentOutcome, kill_through_an_incident};
use kill_run::Run;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Number of kills between two checks.
const CHECK_EVERY: u64 = 20;

fn main() {
    let usage =
        "kills, incidents, or siege, the path of laggard, how often or how many seconds, and perhaps a seed";
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().expect(usage);
    let binary = PathBuf::from(arguments.next().expect(usage));
    let mut numbers = arguments.map(|text| text.parse::<u64>().expect(usage));
    let (count, seed) = (numbers.next().unwrap_or(20), numbers.next().unwrap_or(1));
    match what.as_str() {
        "kills" => kill(&binary, count, seed),
        "incidents" => kill_during_incidents(&binary, count, seed),
        "siege" => {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let found = besiege(&binary, folder.path(), seed, Duration::from_secs(count));
            say(&format!("{count} s: {found}"));
        }
        _ => panic!("{usage}"),
    }
}

fn kill(binary: &Path, kills: u64, seed: u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut run = Run::new(binary, folder.path(), seed);
    for kill in 1..=kills {
        run.kill_once();
        if kill % CHECK_EVERY == 0 || kill == kills {
            let found = run.check();
            say(&format!(
                "{kill} kills: {found}; killed in {:?}; {} second servers refused",
                run.killed_in, run.second_servers
            ));
        }
    }
    let traces = run.stop();
    look_into_files(folder.path(), traces);
}

fn kill_during_incidents(binary: &Path, incidents: u64, seed: u64) {
    let mut all = IncidentOutcome::default();
    for seed in seed..seed + incidents {
        let folder = tempfile::tempdir().expect("a temporary folder");
        all.add(kill_through_an_incident(binary, folder.path(), seed));
        say(&format!("to seed {seed}: {all}"));
    }
}

fn say(line: &str) {
    let line = format!("{line}\n");
    std::io::stdout().write_all(line.as_bytes()).expect("a terminal or a file");
}

/// Reads every segment with another program.
fn look_into_files(data: &Path, traces: [u64; 2]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/faults/segments.py");
    let mut python = Command::new("python3");
    python.arg(script).arg(data.join("tenants/default/segments"));
    python.args(traces.map(|count| count.to_string()));
    let ended = python.status();
    assert!(ended.as_ref().is_ok_and(|status| status.success()), "the files were not looked into: {ended:?}");
}
