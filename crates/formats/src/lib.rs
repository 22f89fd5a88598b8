//! Readers for trace formats: bytes in chunks of any size to span and call records.
//!
//! ```text
//! file / folder / glob / stdin ─► decompress ─► sniff ─► Reader::push ─► Sink
//! ```
//!
//! A new format is one module, one row in [`FORMATS`], a sample with its expected records, a fuzz target
//! and a page in the manual.

mod registry;

pub use registry::{FORMATS, Format, FormatError, Reader, ReaderOptions, Sniff};
