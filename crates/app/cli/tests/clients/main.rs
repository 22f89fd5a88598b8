//! Real clients against a real server: the OpenTelemetry SDKs of Python, JavaScript and Rust, a Zipkin exporter, Prometheus, and a
//! telemetry agent in between; and the SDK of the Model Context Protocol. None of them is specific to Laggard.
//!
//! Needs Python with its `venv` module, Node with npm, and, for Prometheus, the program or Debian's package of it. Where one of them
//! is missing, its tests print that and pass, unless `LAGGARD_REQUIRE` names its package. Dependencies are installed below `target`, in
//! pinned versions, once; an unreachable registry is a failure.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod agent_relay;
mod bookstore;
mod delivered;
mod install;
mod live_demo;
mod mcp;
mod outages;
mod plan;
mod prometheus;
mod sdks;
mod server;
