//! The process is killed at random instants; see `kill_run.rs`. `lab/experiments/examples/kill_target.rs` does it any number of times.

use crate::kill_run::{CHILD_VARIABLE, KillRun, child_from_environment};
use std::process::Command;

/// Number of kills in the test; the example does more.
const KILLS: u64 = 8;

#[test]
fn kills_neither_lose_nor_duplicate_acknowledged_spans() {
    if child_from_environment() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let this = std::env::current_exe().unwrap();
    let command = move || {
        let mut command = Command::new(&this);
        command.args(["--exact", "kill::kills_neither_lose_nor_duplicate_acknowledged_spans", "--nocapture"]);
        command
    };
    let mut run = KillRun::new(folder.path(), 1);
    for _ in 0..KILLS {
        run.kill_once(&mut command());
    }
    let found = run.check();
    assert!(found.acknowledged > 0, "{found:?}; {CHILD_VARIABLE} did not reach the child");
    // Each of the two senders of a child had one batch of 20 spans in flight.
    assert!(found.unacknowledged <= KILLS * 2 * 20, "{found:?}");
}
