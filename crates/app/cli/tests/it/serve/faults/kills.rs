//! Kills the running server at random instants; the example `faults` does it for any number of kills.

use super::kill_run::Run;
use std::path::Path;

/// Number of kills in the test, at least one of every kind.
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
    // Checks again after a restart with compaction.
    let again = run.check();
    assert!(again.spans >= found.spans, "{again} after {found}");
    run.stop();
}
