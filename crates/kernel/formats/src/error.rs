//! Why a trace cannot be read at all.

use std::fmt;
use std::path::{Path, PathBuf};

/// A trace that cannot be read as what it is.
#[derive(Debug)]
pub enum KernelTraceError {
    /// A file system error.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// No format recognizes it.
    Unrecognized {
        /// The file or folder.
        path: PathBuf,
    },
    /// A format recognizes it, but its head cannot be read.
    Damaged {
        /// The file or folder.
        path: PathBuf,
        /// The error, in words.
        reason: String,
    },
    /// The file is intact, but not supported; the reason suggests what to do.
    Unsupported {
        /// The file or folder.
        path: PathBuf,
        /// The kind of file, and how to get one that can be read.
        reason: String,
    },
}

impl KernelTraceError {
    /// The same error for another path: that of the named file instead of the unpacked one.
    pub(crate) fn with_path(mut self, named: &Path) -> KernelTraceError {
        let (KernelTraceError::Io { path, .. }
        | KernelTraceError::Unrecognized { path }
        | KernelTraceError::Damaged { path, .. }
        | KernelTraceError::Unsupported { path, .. }) = &mut self;
        named.clone_into(path);
        self
    }
}

impl fmt::Display for KernelTraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelTraceError::Io { path, source } => write!(f, "{}: {source}", path.display()),
            KernelTraceError::Unrecognized { path } => write!(
                f,
                "{}: not a kernel trace that is read here (trace.dat, perf.data, a CTF folder, Perfetto, or the text \
                 of trace-cmd report, perf script or tracefs)",
                path.display()
            ),
            KernelTraceError::Damaged { path, reason } | KernelTraceError::Unsupported { path, reason } => {
                write!(f, "{}: {reason}", path.display())
            }
        }
    }
}

impl std::error::Error for KernelTraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            KernelTraceError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
