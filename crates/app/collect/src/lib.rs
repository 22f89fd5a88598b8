//! Files of hosts, fetched over HTTP in rounds, each byte once.
//!
//! ```text
//! hosts ─► fetch (from where it stopped) ─► whole lines ─► destination ─► state
//! ```
//!
//! The state file is written after the destination has stored a chunk. `docs/manual/collect.md` describes what a crash
//! at any point does.

mod client;
mod destination;
mod error;
mod fetch;
mod folder;
mod lines;
mod position;
mod round;
mod source;
mod state;
mod upload;
mod visit;

pub use client::ClientSettings;
pub use destination::{Chunk, ChunkPlacement, Delivered, Destination};
pub use error::CollectError;
pub use folder::Folder;
pub use round::{CollectSettings, Collector, Round, SourceStatus};
pub use source::{Source, parse_source};
pub use upload::{Upload, UploadSettings};
