//! Receivers of telemetry: one file a protocol.
//!
//! ```text
//!  otlp_grpc ────┐                                                           ┌─► IngestResult ─► response
//!  otlp_http ────┼─► body ─► decompress ─► MessageReader ─► Batch ─► store ──┤
//!  zipkin ───────┤    └── in_flight: memory permit ──┘                       └─► ReceiveError ─► response
//!  remote_write ─┘
//! ```
//!
//! A message is acknowledged once it would survive a loss of power. Until then it holds a memory permit, so that
//! memory stays bounded however many senders there are; when none is free, senders wait a little and then get an
//! error with a time to retry after.

mod body;
mod counters;
mod decompress;
mod error;
mod in_flight;
mod ingest;
mod otlp_grpc;
mod otlp_http;
mod receivers;
mod remote_write;
mod response;
mod settings;
#[cfg(test)]
mod tests;
mod zipkin;

pub(crate) use counters::Receiver;
pub(crate) use otlp_grpc::routes as otlp_grpc_routes;
pub(crate) use otlp_http::routes as otlp_http_routes;
pub(crate) use receivers::Receivers;
pub(crate) use remote_write::routes as remote_write_routes;
pub(crate) use zipkin::routes as zipkin_routes;
