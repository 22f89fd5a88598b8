//! Hostile clients attack the running server; the example `faults` does it for any length of time.

use super::hostile::{MEMORY_MAX, besiege};
use std::path::Path;
use std::time::Duration;

#[test]
fn clients_are_served_and_memory_is_bounded_under_attack() {
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_laggard"));
    let outcome = besiege(binary, folder.path(), 1, Duration::from_secs(12));
    assert!(outcome.spans > 0 && outcome.attempts.values().all(|&attempts| attempts > 0), "{outcome}");
    assert!(outcome.memory_most < MEMORY_MAX, "{outcome}");
}
