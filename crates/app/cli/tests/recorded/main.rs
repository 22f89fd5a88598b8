//! `laggard record` for real, where tracefs is to be had, and diagnoses of what was recorded: one test at a time, and no other
//! tests beside them, since what else the machine does is recorded too.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]
#![expect(clippy::print_stdout, reason = "what was measured is printed")]

mod agent;
mod calls;
mod kinds;
mod quota;
mod record;
mod recorder;
