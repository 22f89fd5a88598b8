//! Real clients against a real server: the OpenTelemetry SDKs of Python, JavaScript and Rust, a Zipkin exporter, Prometheus, and a
//! telemetry agent in between. None of them knows Laggard.
//!
//! Needs Python with its `venv` module, Node with npm, and, for Prometheus, the program or Debian's package of it. Where one of them
//! is missing, its tests say so and pass, unless `LAGGARD_REQUIRE` names its package. What they use is installed below `target`, in
//! pinned versions, once; a registry that cannot be reached is a failure.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod arrived;
mod bookstore;
mod hop;
mod install;
mod live_demo;
mod outages;
mod plan;
mod prometheus;
mod sdks;
mod server;
