//! End-to-end tests of the program: arguments in; output, exit status, and files out.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod answers;
mod baseline;
mod capacity;
mod changes;
mod collect;
mod compare;
mod deployments;
mod determinism;
mod exit_status;
mod hosts;
mod inputs;
mod kernel;
mod kernel_calls;
mod kernel_evidence;
mod kernel_hosts;
mod lists;
mod losses;
mod mcp;
mod methods;
mod outcome;
#[cfg(target_os = "linux")]
mod packages;
#[cfg(target_os = "linux")]
mod pipelines;
mod real_data;
mod real_sites;
mod sample_inputs;
mod sampling;
#[cfg(target_os = "linux")]
mod serve;
mod server;
mod shop;
mod signature;
mod spill;
mod terminal;
mod threads;
mod trace_sources;
mod windows;
mod workshop;
