//! The pages embedded in the binary.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod browser;
mod fresh;
#[path = "../../sources.rs"]
mod sources;
mod units;
