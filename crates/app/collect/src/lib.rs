//! Files of hosts, fetched over HTTP in rounds, each byte once.
//!
//! ```text
//! hosts ─► fetch (from where it stopped) ─► whole lines ─► destination ─► state
//! ```
//!
//! A piece counts as taken when the state file says so, which is written after the destination has the piece. What a crash
//! at any point does is told in `docs/manual/collect.md`.

mod client;
mod destination;
mod failure;
mod fetch;
mod folder;
mod known;
mod lines;
mod round;
mod source;
mod state;
mod upload;
mod visit;

pub use client::ClientSettings;
pub use destination::{Chunk, ChunkPlacement, Delivered, Destination};
pub use failure::CollectError;
pub use folder::Folder;
pub use round::{CollectSettings, Collector, Round, SourceStatus};
pub use source::{Source, parse_source};
pub use upload::{Upload, UploadSettings};
