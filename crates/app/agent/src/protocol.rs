//! The protocol between agent and server (`docs/manual/agent.md`).

use laggard_model::Timestamp;
use serde::{Deserialize, Serialize};

/// A poll.
#[derive(Serialize)]
pub(crate) struct Poll<'a> {
    pub(crate) host: &'a str,
    /// Whether the host records.
    pub(crate) recording: bool,
    /// Why it does not although it should, or only with pauses; empty without a reason.
    pub(crate) note: &'a str,
    /// Requests that cannot be met.
    pub(crate) missed: &'a [MissedRequest],
}

/// A request that cannot be met.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct MissedRequest {
    pub(crate) id: String,
    pub(crate) reason: String,
}

/// The answer to a poll.
#[derive(Deserialize)]
pub(crate) struct PollAnswer {
    /// Present if this host is to record.
    pub(crate) record: Option<RecordRule>,
    #[serde(default)]
    pub(crate) requests: Vec<RequestedInterval>,
    /// Time until the next poll.
    pub(crate) next_poll_ms: u64,
}

/// Within which limits a host records.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct RecordRule {
    /// Memory for events, in bytes.
    pub buffer_bytes: u64,
    /// Most of the host's CPU, as a share: 0.03 is 3 % of all CPUs.
    pub cpu_share: f64,
}

/// An interval that the server wants to have.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct RequestedInterval {
    pub(crate) id: String,
    since_ns: i64,
    until_ns: i64,
}

impl RequestedInterval {
    pub(crate) const fn since(&self) -> Timestamp {
        Timestamp::from_unix_ns(self.since_ns)
    }

    pub(crate) const fn until(&self) -> Timestamp {
        Timestamp::from_unix_ns(self.until_ns)
    }

    /// Whether its id has the server's format, since it becomes the name of a file.
    pub(crate) fn has_valid_id(&self) -> bool {
        self.id.len() == 32 && self.id.bytes().all(|byte| byte.is_ascii_hexdigit())
    }
}
