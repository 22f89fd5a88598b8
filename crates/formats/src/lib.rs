//! Readers for trace formats: bytes in chunks of any size to span and call records.
//!
//! ```text
//! file / folder / glob / stdin ─► decompress ─► sniff ─► Reader::push ─► Sink
//! ```
//!
//! A new format is one module, one row in [`FORMATS`], a sample with its expected records, a fuzz target
//! and a page in the manual.

mod attributes_json;
mod conventions;
mod jaeger;
mod json_sniff;
mod json_stream;
mod lax_json;
mod otlp_frames;
mod otlp_json;
mod otlp_protobuf;
mod pending;
#[cfg(test)]
mod real_data;
mod registry;
#[cfg(test)]
mod sample_checks;
mod wire;
mod zipkin;

pub use registry::{FORMATS, Format, FormatError, Reader, ReaderOptions, Sniff};
