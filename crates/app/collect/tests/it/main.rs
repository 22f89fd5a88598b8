//! Rounds over hosts in this process that behave and misbehave.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod errors;
mod growing;
mod limits;
mod stand_in;
mod uploads;
mod whole_files;
