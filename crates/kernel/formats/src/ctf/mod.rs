//! Common Trace Format: LTTng's, and that of perf's converter.
//!
//! ```text
//! metadata ─► tsdl | ctf2 ─► schema (field classes) ─► decoder (plans) ─┐
//! stream files ─► packets ──────────────────────────────────────────────┴─► events
//! ```

mod class;
mod ctf2;
mod decoder;
mod find;
mod kinds;
mod meaning;
mod namespaces;
mod open;
mod packet;
mod plan;
mod roles;
mod schema;
mod stream;
mod tsdl;
mod window;

use crate::interface::{KernelFormat, SampleShape};
use std::path::Path;

pub(crate) const FORMAT: KernelFormat = KernelFormat {
    name: "ctf",
    about: "CTF 1.8 and 2: folders of LTTng's kernel tracer and of `perf data convert --to-ctf`",
    manual: "docs/manual/formats/ctf.md",
    sample: SampleShape::Folder(["metadata", "stream"]),
    recognize,
    open: open::open,
};

/// A folder with a trace in it or deeper, or a file with metadata.
fn recognize(path: &Path, head: &[u8]) -> bool {
    if path.is_dir() {
        return !find::traces(path).is_empty();
    }
    path.file_name().is_some_and(|name| name == find::METADATA) && find::is_metadata(head)
}
