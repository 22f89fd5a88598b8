//! Reporting and counting tests that cannot run on this machine.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;

/// The file that `cargo xtask test` reads afterwards: one line a skipped test.
const RECORD: &str = "LAGGARD_SKIPPED";

/// Debian packages that must be there; a test that lacks one of them fails.
const REQUIRED: &str = "LAGGARD_REQUIRE";

/// A missing prerequisite of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// Measured data, which is not part of the repository.
    Data,
    /// Programs, by the Debian packages that install them, separated by blanks.
    Packages(&'static str),
    /// Something of this machine that no package brings, such as a right or a device.
    Machine,
}

/// Prints on standard error that the running test, or a part of it, is skipped, and records it for `cargo xtask test`.
///
/// # Panics
/// When `LAGGARD_REQUIRE` names one of the missing packages.
#[expect(clippy::print_stderr, reason = "the output of tests must show what was skipped")]
pub fn skip(missing: Missing, reason: &str) {
    eprintln!("skipped: {reason}");
    let packages = match missing {
        Missing::Data => "data",
        Missing::Machine => "machine",
        Missing::Packages(packages) => packages,
    };
    let required = env::var(REQUIRED).unwrap_or_default();
    let demanded = packages.split(' ').find(|package| required.split(' ').any(|known| known == *package));
    assert!(demanded.is_none(), "{reason}; {REQUIRED} demands it");
    let Some(record) = env::var_os(RECORD) else { return };
    let thread = std::thread::current();
    let line = format!("{}\t{packages}\t{reason}\n", thread.name().unwrap_or("a test"));
    let file = OpenOptions::new().create(true).append(true).open(record);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("the record of skipped tests can be written");
}
