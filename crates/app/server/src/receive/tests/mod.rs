//! Receivers and well-behaved and hostile clients, over real connections.

mod encode;
mod grpc;
mod hostile;
mod hostile_streams;
mod http;
mod remote_write;
mod server;

/// Headers that a test adds to a request: names and values.
type Headers<'a> = &'a [(&'a str, &'a str)];
