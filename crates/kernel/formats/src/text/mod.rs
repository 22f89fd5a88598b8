//! Kernel traces as text: `cat trace` of tracefs, `trace-cmd report` with any of its options, `perf script`.

mod events;
mod fields;
mod line;
mod stream;

use crate::error::KernelTraceError;
use crate::interface::{KernelFormat, SampleShape};
use crate::options::OpenOptions;
use crate::trace::{KernelTrace, TraceFacts};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

pub(crate) const FORMAT: KernelFormat = KernelFormat {
    name: "kernel-text",
    about: "text of tracefs (trace), trace-cmd report or perf script",
    manual: "docs/manual/formats/kernel-text.md",
    sample: SampleShape::File(b"# tracer: nop\n"),
    recognize,
    open,
};

/// Maximum number of lines examined for one event.
const LINES_LOOKED_AT: usize = 200;
/// Bytes read from the file at a time.
const BUFFER_BYTES: usize = 256 * 1024;

fn recognize(_path: &Path, head: &[u8]) -> bool {
    if head.contains(&0) {
        return false;
    }
    let text = String::from_utf8_lossy(head);
    text.starts_with("# tracer:")
        || text.lines().take(LINES_LOOKED_AT).any(|line| line::parse(line).is_some())
}

fn open(path: &Path, options: &OpenOptions) -> Result<KernelTrace, KernelTraceError> {
    let io_error = |source| KernelTraceError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io_error)?;
    let bytes = file.metadata().map_err(io_error)?.len();
    let input = BufReader::with_capacity(BUFFER_BYTES, file);
    Ok(KernelTrace {
        facts: TraceFacts { format: "text".to_owned(), bytes, ..TraceFacts::default() },
        losses: laggard_model::Losses::none(),
        streams: vec![Box::new(stream::TextStream::new(path.to_owned(), input, options.clone()))],
    })
}

#[cfg(test)]
mod tests;
