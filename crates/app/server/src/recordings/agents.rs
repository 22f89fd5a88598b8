//! Which agents polled lately. In memory: after a restart they poll again within seconds.

use super::rule::RecordingRequestError;
use laggard_model::{Nanos, Timestamp};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

// Limit: hosts with an agent, per tenant | further agents get no rule: they record nothing
/// Most agents of a tenant.
const AGENTS_MAX: usize = 10_000;

/// How long an agent counts as running after a poll: several poll intervals.
const POLLED_WITHIN: Nanos = Nanos::from_secs(60);

/// An agent is forgotten this long after its last poll.
const FORGET_AFTER: Nanos = Nanos::from_secs(3_600);

/// The last poll of an agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub(crate) struct AgentStatus {
    /// The host's name.
    pub(crate) host: String,
    /// When it polled last, in nanoseconds since the Unix epoch.
    pub(crate) polled_ns: i64,
    /// Whether it records.
    pub(crate) recording: bool,
    /// Why it does not although it should, or only with pauses; empty without a reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
}

/// All agents of a tenant, by host.
#[derive(Default)]
pub(super) struct AgentList {
    by_host: BTreeMap<String, AgentStatus>,
}

impl AgentList {
    /// Notes a poll; false if there are too many agents.
    pub(super) fn polled(&mut self, status: AgentStatus) -> bool {
        let now = Timestamp::from_unix_ns(status.polled_ns);
        if !self.by_host.contains_key(&status.host) && self.by_host.len() >= AGENTS_MAX {
            let limit = now.minus(FORGET_AFTER).unix_ns();
            self.by_host.retain(|_, agent| agent.polled_ns >= limit);
            if self.by_host.len() >= AGENTS_MAX {
                return false;
            }
        }
        self.by_host.insert(status.host.clone(), status);
        true
    }

    /// Checks that a host has an agent that records.
    pub(super) fn check(&self, host: &str, now: Timestamp) -> Result<(), RecordingRequestError> {
        let agent = self.by_host.get(host);
        let agent = agent.filter(|agent| agent.polled_ns >= now.minus(POLLED_WITHIN).unix_ns());
        match agent {
            None => Err(RecordingRequestError::NoAgent(host.to_owned())),
            Some(agent) if !agent.recording => {
                Err(RecordingRequestError::NotRecording(host.to_owned(), agent.note.clone()))
            }
            Some(_) => Ok(()),
        }
    }

    /// Those that polled within the last hour, by host.
    pub(super) fn list(&self, now: Timestamp) -> Vec<AgentStatus> {
        let limit = now.minus(FORGET_AFTER).unix_ns();
        self.by_host.values().filter(|agent| agent.polled_ns >= limit).cloned().collect()
    }
}
