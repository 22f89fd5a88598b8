//! The formats, and which one a path is in.

use crate::KERNEL_FORMATS;
use crate::error::KernelTraceError;
use crate::interface::KernelFormat;
use crate::options::OpenOptions;
use crate::trace::KernelTrace;
use crate::unpack::Compressor;
use std::path::Path;

/// How many bytes of a file the formats see to recognize it.
const HEAD_BYTES: u64 = 64 * 1024;

/// Opens a trace, whatever its format, for the events that have their own kind.
///
/// # Errors
/// When the path cannot be read, no format recognizes it, or its head is damaged or of a kind not read.
pub fn open(path: &Path) -> Result<KernelTrace, KernelTraceError> {
    open_with(path, &OpenOptions::default())
}

/// Opens a trace, whatever its format, with the given options.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, options: &OpenOptions) -> Result<KernelTrace, KernelTraceError> {
    let first = head(path).map_err(|source| KernelTraceError::Io { path: path.to_owned(), source })?;
    let Some(wrapping) = Compressor::recognize(&first) else {
        return open_plain(path, path, &first, options);
    };
    let unpacked = wrapping.unpack(path)?;
    let inner = wrapping.inner_path(path);
    let first =
        head(unpacked.path()).map_err(|source| KernelTraceError::Io { path: path.to_owned(), source })?;
    let mut trace =
        open_plain(unpacked.path(), &inner, &first, options).map_err(|error| error.with_path(path))?;
    trace.losses.merge(&unpacked.losses);
    trace.streams = trace.streams.into_iter().map(|stream| unpacked.keep(stream)).collect();
    Ok(trace)
}

/// The format of a file by its first bytes; `None` if no format recognizes it. Compressed files are not unpacked.
///
/// # Errors
/// When the file cannot be read.
pub fn format_of(path: &Path) -> std::io::Result<Option<&'static KernelFormat>> {
    let head = head(path)?;
    Ok(KERNEL_FORMATS.iter().find(|format| (format.recognize)(path, &head)))
}

/// Opens the trace at `path`, whose name is `name`.
fn open_plain(
    path: &Path,
    name: &Path,
    head: &[u8],
    options: &OpenOptions,
) -> Result<KernelTrace, KernelTraceError> {
    match KERNEL_FORMATS.iter().find(|format| (format.recognize)(name, head)) {
        Some(format) => (format.open)(path, options),
        None => Err(KernelTraceError::Unrecognized { path: path.to_owned() }),
    }
}

fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    if !path.is_dir() {
        std::fs::File::open(path)?.take(HEAD_BYTES).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
