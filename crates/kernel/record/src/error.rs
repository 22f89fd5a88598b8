//! Why nothing can be recorded, with advice.

use std::fmt;
use std::path::PathBuf;

/// A recording that could not be made. Its text names what is missing and how to get it.
#[derive(Debug)]
pub enum RecordError {
    /// The machine does not run Linux.
    NotLinux,
    /// A right is missing.
    Permission {
        /// The action that failed.
        what: String,
        /// The error of the kernel.
        source: std::io::Error,
    },
    /// The kernel has no tracefs, or none that can be mounted.
    NoTracefs {
        /// The error of the kernel.
        source: std::io::Error,
    },
    /// Events without which no path can be computed.
    NoEvents {
        /// The events.
        missing: Vec<String>,
    },
    /// The top-level buffer is needed, but is in use.
    Busy {
        /// The resource that is in use.
        what: String,
    },
    /// The request is invalid.
    Impossible {
        /// What, and what to do instead.
        reason: String,
    },
    /// The kernel refuses something else.
    Kernel {
        /// The action that failed.
        what: String,
        /// The error of the kernel.
        source: std::io::Error,
    },
    /// The command cannot be run.
    Command {
        /// The program.
        program: PathBuf,
        /// The error of the kernel.
        source: std::io::Error,
    },
    /// The file cannot be written.
    Output {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::NotLinux => {
                f.write_str("recording needs Linux; traces made there can be read anywhere")
            }
            RecordError::Permission { what, source } => write!(
                f,
                "{what}: {source}. Recording the kernel needs root, or CAP_SYS_ADMIN and the right to write to \
                 tracefs: try `sudo laggard record …`. In a container, run it on the host, or start the container \
                 with --privileged. Without root, perf can record where /proc/sys/kernel/perf_event_paranoid is -1: \
                 `laggard record --print-commands` shows how"
            ),
            RecordError::NoTracefs { source } => write!(
                f,
                "there is no tracefs: {source}. The kernel must be built with CONFIG_FTRACE and CONFIG_TRACING (those \
                 of all large distributions are), and a container must be allowed to mount it: run it on the host, or \
                 mount it there (`mount -t tracefs tracefs /sys/kernel/tracing`) and pass it into the container"
            ),
            RecordError::NoEvents { missing } => write!(
                f,
                "the kernel has no {}: without it, waits cannot be analyzed. It must be built with \
                 CONFIG_EVENT_TRACING and CONFIG_SCHED_TRACER or CONFIG_FTRACE",
                missing.join(", ")
            ),
            RecordError::Busy { what } => write!(
                f,
                "the machine's own trace buffer is in use ({what}), and it is needed here. Stop the other recording \
                 (`trace-cmd reset` if it is a forgotten one), or record without --marker and --top-level"
            ),
            RecordError::Impossible { reason } => f.write_str(reason),
            RecordError::Kernel { what, source } => write!(f, "{what}: {source}"),
            RecordError::Command { program, source } => write!(f, "{}: {source}", program.display()),
            RecordError::Output { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RecordError::Permission { source, .. }
            | RecordError::NoTracefs { source }
            | RecordError::Kernel { source, .. }
            | RecordError::Command { source, .. }
            | RecordError::Output { source, .. } => Some(source),
            _ => None,
        }
    }
}
