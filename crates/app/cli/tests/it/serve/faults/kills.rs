//! Kills the running server at random instants; the example `faults` does it for any number of kills.

use super::incident_kills::{IncidentOutcome, kill_through_an_incident};
use super::kill_run::Run;
use std::path::Path;

/// Number of kills in the test, at least one of every kind.
const KILLS: u64 = 14;
/// Number of incidents that are opened, worsened, and ended under kills.
const INCIDENTS: u64 = 2;

#[test]
fn kills_of_the_server_lose_no_acknowledged_span() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::new(Path::new(env!("CARGO_BIN_EXE_laggard")), folder.path(), 1);
    for _ in 0..KILLS {
        run.kill_once();
    }
    let found = run.check();
    assert!(found.spans > 0, "{found}; {:?}", run.killed_in);
    assert!(run.second_servers > 1, "two servers were started");
    // Checks again after a restart with compaction.
    let again = run.check();
    assert!(again.spans >= found.spans, "{again} after {found}");
    run.stop();
}

#[test]
fn kills_of_a_server_with_segments_below_a_url_lose_no_acknowledged_span() {
    let [folder, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let url = format!("store.url=file://{}", elsewhere.path().display());
    let logs = ["logs.form=json", "logs.level=info,laggard_store=debug"];
    let store =
        [&url, "store.slice=2s", "store.idle=300ms", "store.upkeep=150ms", "store.delete_after=500ms"];
    let binary = Path::new(env!("CARGO_BIN_EXE_laggard"));
    let mut run = Run::with_settings(binary, folder.path(), 1, &[&logs[..], &store].concat());
    for _ in 0..KILLS {
        run.kill_once();
    }
    let found = run.check();
    assert!(found.spans > 0, "{found}; {:?}", run.killed_in);
    run.stop();
    assert!(!folder.path().join("tenants/default/segments").exists(), "segments are elsewhere");
}

#[test]
fn kills_during_an_incident_lose_and_duplicate_no_message() {
    let mut found = IncidentOutcome::default();
    for seed in 1..=INCIDENTS {
        let folder = tempfile::tempdir().unwrap();
        found.add(kill_through_an_incident(Path::new(env!("CARGO_BIN_EXE_laggard")), folder.path(), seed));
    }
    assert_eq!((found.lost, found.duplicates, found.needless), (0, 0, 0), "{found}");
    assert!(found.kills.iter().all(|&kills| kills > 0) && found.repeated > 0, "{found}");
}
