//! Kills a process that ingests, flushes, compacts and retains, again and again, and looks for every span.
//!
//! ```text
//! cargo run --release -p laggard-experiments --example kill_target -- 200 [SEED]
//! ```

#[path = "../../../crates/traces/store/tests/it/kill_run.rs"]
mod kill_run;

use kill_run::{KillRun, child_from_environment};
use std::io::Write;
use std::process::Command;

/// Number of kills between two checks.
const CHECK_EVERY: u64 = 20;

fn main() {
    if child_from_environment() {
        return;
    }
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let (kills, seed) = (arguments.next().unwrap_or(20), arguments.next().unwrap_or(1));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let this = std::env::current_exe().expect("this program has a path");
    let mut run = KillRun::new(folder.path(), seed);
    for kill in 1..=kills {
        run.kill_once(&mut Command::new(&this));
        if kill % CHECK_EVERY == 0 || kill == kills {
            let found = run.check();
            let line = format!(
                "{kill} kills: {} acknowledged spans are there once, and {} that were not acknowledged\n",
                found.acknowledged, found.unacknowledged
            );
            std::io::stdout().write_all(line.as_bytes()).expect("a terminal or a file");
        }
    }
}
