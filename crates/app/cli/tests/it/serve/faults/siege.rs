//! Hostile clients against the running server; the example `faults` does it for as long as wanted.

use super::hostile::besiege;
use std::path::Path;
use std::time::Duration;

/// Memory that the server may have at most under all attacks, bytes: what messages in flight may take (256 MiB), what
/// they become (a few times as much while they are read), and the store's.
const MEMORY_MAX: u64 = 1 << 30;

#[test]
fn others_are_served_and_memory_is_bounded_under_siege() {
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_laggard"));
    let found = besiege(binary, folder.path(), 1, Duration::from_secs(12));
    assert!(found.spans > 0 && found.attempts.values().all(|&attempts| attempts > 0), "{found}");
    assert!(found.memory_most < MEMORY_MAX, "{found}");
}
