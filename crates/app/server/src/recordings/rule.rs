//! The operator's rule: which hosts record, and within which limits.

use crate::settings::{Length, RecordingSettings};
use laggard_kernel_graph::Glob;
use laggard_model::Nanos;
use std::fmt;

/// The operator's rule.
pub(crate) struct RecordingRule {
    hosts: Vec<Glob>,
    /// Most requests per hour.
    pub(super) per_hour: usize,
    /// Longest interval.
    pub(super) length: Length,
    /// Memory of a recorder, in bytes.
    pub(super) buffer_bytes: u64,
    /// Most CPU of a host, as a share.
    pub(super) cpu_share: f64,
    /// Most bytes of a recording.
    pub(crate) upload_bytes: u64,
    pub(super) keep_for: Nanos,
    pub(super) keep_bytes: u64,
}

impl RecordingRule {
    pub(super) fn new(settings: &RecordingSettings) -> RecordingRule {
        RecordingRule {
            hosts: settings.hosts.iter().map(|host| Glob::new(host.trim())).collect(),
            per_hour: settings.per_hour as usize,
            length: settings.length,
            buffer_bytes: settings.buffer.0,
            cpu_share: settings.cpu,
            upload_bytes: settings.upload.0,
            keep_for: settings.keep_for.nanos(),
            keep_bytes: settings.keep_bytes.0,
        }
    }

    /// Whether any host may record.
    pub(super) fn is_present(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Whether this host may record.
    pub(super) fn allows(&self, host: &str) -> bool {
        self.hosts.iter().any(|pattern| pattern.matches(host))
    }
}

/// Why a recording is not requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RecordingRequestError {
    /// The operator allows no recordings.
    NoRule,
    /// The operator does not allow this host to record.
    HostNotAllowed(String),
    /// No agent of this host polled lately.
    NoAgent(String),
    /// The agent of this host does not record; why.
    NotRecording(String, String),
    /// Not one or two hosts.
    Hosts(usize),
    /// An interval without length, too long, or in the future; in words.
    Interval(String),
    /// As many were requested within an hour as the operator allows.
    TooMany(usize),
    /// The request could not be written.
    Storage(String),
}

impl fmt::Display for RecordingRequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordingRequestError::NoRule => f.write_str(
                "nothing may be recorded: recordings.hosts of the server's configuration names no hosts",
            ),
            RecordingRequestError::HostNotAllowed(host) => write!(
                f,
                "{host:?} may not record: no entry of recordings.hosts of the server's configuration matches it"
            ),
            RecordingRequestError::NoAgent(host) => write!(
                f,
                "no agent of {host:?} polled within the last minute: run `laggard agent --host {host}` there"
            ),
            RecordingRequestError::NotRecording(host, note) => {
                write!(f, "the agent of {host:?} does not record")?;
                if note.is_empty() { Ok(()) } else { write!(f, ": {note}") }
            }
            RecordingRequestError::Hosts(count) => {
                write!(f, "{count} hosts; name one, or a culprit and a healthy peer")
            }
            RecordingRequestError::Interval(reason) => f.write_str(reason),
            RecordingRequestError::TooMany(most) => write!(
                f,
                "{most} recordings were requested within the last hour, as many as recordings.per_hour allows"
            ),
            RecordingRequestError::Storage(reason) => write!(f, "the request could not be stored: {reason}"),
        }
    }
}

impl std::error::Error for RecordingRequestError {}
