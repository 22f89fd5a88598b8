//! `laggard record` on machines with tracefs, and diagnoses of the recordings. Tests run one at a time and without any other
//! tests, since all activity of the machine is recorded.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]
#![expect(clippy::print_stdout, reason = "what was measured is printed")]

mod agent;
mod calls;
mod causes;
mod kinds;
mod program;
mod quota;
mod record;
mod recorder;
mod situations;
mod stacks;
mod uprobes;
