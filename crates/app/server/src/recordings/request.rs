//! A request for a recording, and what became of it.

use laggard_model::{Fingerprint, Timestamp};
use laggard_params::Window;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request for the recording of a host, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct RecordingRequest {
    /// Its id, which is that of the recording.
    pub(crate) id: String,
    /// The host, as its agent names it.
    pub(crate) host: String,
    /// The recorded interval's beginning, in nanoseconds since the Unix epoch by the clock of the host.
    pub(crate) since_ns: i64,
    /// Its end.
    pub(crate) until_ns: i64,
    /// When it was requested, by the clock of the server.
    pub(crate) requested_ns: i64,
    /// The incident it is evidence of; absent for a request by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) incident: Option<String>,
    /// Why it was requested, in words.
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(flatten)]
    pub(crate) state: RecordingState,
}

/// State of a requested recording.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum RecordingState {
    /// Its agent does not have it yet, or has not sent the recording yet.
    Pending,
    /// The recording is here.
    Stored {
        /// Its size.
        bytes: u64,
        /// When it arrived.
        stored_ns: i64,
    },
    /// There is none.
    Missed {
        /// Why.
        why: String,
    },
    /// It was here, and was deleted because of its age or the limit on all of them.
    Deleted,
}

/// Why a recording is requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RecordingReason {
    /// The id of an incident: each host is requested at most once for it.
    pub(crate) incident: Option<String>,
    /// In words.
    pub(crate) text: String,
}

impl RecordingRequest {
    pub(super) fn new(
        host: &str,
        window: Window,
        reason: &RecordingReason,
        now: Timestamp,
    ) -> RecordingRequest {
        let (since_ns, until_ns, requested_ns) =
            (window.since.unix_ns(), window.until.unix_ns(), now.unix_ns());
        let incident = reason.incident.as_deref().unwrap_or_default();
        let identity = format!("{host}\n{since_ns}\n{until_ns}\n{requested_ns}\n{incident}");
        RecordingRequest {
            id: Fingerprint::from_bytes(identity.as_bytes()).to_string(),
            host: host.to_owned(),
            since_ns,
            until_ns,
            requested_ns,
            incident: reason.incident.clone(),
            reason: reason.text.clone(),
            state: RecordingState::Pending,
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        self.state == RecordingState::Pending
    }

    pub(super) const fn until(&self) -> Timestamp {
        Timestamp::from_unix_ns(self.until_ns)
    }

    /// Bytes on disk.
    pub(super) const fn bytes(&self) -> u64 {
        match self.state {
            RecordingState::Stored { bytes, .. } => bytes,
            _ => 0,
        }
    }

    /// Whether a window asks for the same.
    pub(super) fn is_of(&self, host: &str, window: Window) -> bool {
        self.host == host
            && (self.since_ns, self.until_ns) == (window.since.unix_ns(), window.until.unix_ns())
    }
}
