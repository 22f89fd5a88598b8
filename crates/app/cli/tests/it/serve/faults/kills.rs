//! The running server is killed at random instants; the example `faults` does it as often as wanted.

use super::kill_run::Run;
use std::path::Path;

/// Kills in the test command, of every kind at least one.
const KILLS: u64 = 9;

#[test]
fn kills_of_the_server_lose_no_acknowledged_span() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::new(Path::new(env!("CARGO_BIN_EXE_laggard")), folder.path(), 1);
    for _ in 0..KILLS {
        run.kill_once();
    }
    let found = run.check();
    assert!(found.spans > 0, "{found}; {:?}", run.killed_in);
    // Once more after everything was looked at, and compacted by another start.
    let again = run.check();
    assert!(again.spans >= found.spans, "{again} after {found}");
    run.stop();
}
