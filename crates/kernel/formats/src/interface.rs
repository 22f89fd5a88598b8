//! Interface of a format of kernel traces.

use crate::error::KernelTraceError;
use crate::options::OpenOptions;
use crate::trace::KernelTrace;
use std::path::Path;

/// How tests turn arbitrary bytes into an input of a format: by a prefix, or as files of a folder.
#[derive(Clone, Copy, Debug)]
pub enum SampleShape {
    /// A file that begins with these bytes.
    File(&'static [u8]),
    /// A folder of files with these names: the bytes are split at the first four zero bytes.
    Folder([&'static str; 2]),
}

/// One kernel trace format: a row.
pub struct KernelFormat {
    /// The name users see and give.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// Path of its page in the manual, from the repository's root.
    pub manual: &'static str,
    /// How an input of any bytes becomes one of this format, for the fuzz target.
    pub sample: SampleShape,
    /// Whether a path has this format: arguments are the path and, for a file, its first bytes. Files compressed as a
    /// whole with gzip or zstd are unpacked before.
    pub(crate) recognize: fn(&Path, &[u8]) -> bool,
    pub(crate) open: fn(&Path, &OpenOptions) -> Result<KernelTrace, KernelTraceError>,
}
