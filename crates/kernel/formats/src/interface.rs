//! What a format of kernel traces provides.

use crate::error::KernelTraceError;
use crate::options::OpenOptions;
use crate::trace::KernelTrace;
use std::path::Path;

/// One kernel trace format: a row.
pub struct KernelFormat {
    /// The name users see and give.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Whether a path has this format: arguments are the path and, for a file, its first bytes. Files compressed as a
    /// whole with gzip or zstd are unpacked before.
    pub(crate) recognize: fn(&Path, &[u8]) -> bool,
    pub(crate) open: fn(&Path, &OpenOptions) -> Result<KernelTrace, KernelTraceError>,
}
