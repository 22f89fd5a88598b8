//! Kernel recordings of hosts: requested within the operator's rule, sent by agents, stored per tenant.
//!
//! ```text
//! incident, POST /api/v1/recordings ─► request (rule, agents) ─► pending ─► poll of the agent ─► upload ─► stored
//!                                                                                     └► missed            └► report
//! ```

mod agents;
mod kernel_evidence;
mod request;
mod request_list;
mod rule;
mod storage;
#[cfg(test)]
mod tests;

pub(crate) use agents::AgentStatus;
pub(crate) use kernel_evidence::{ExamineLimits, RecordedTrace, recorded_comparison, recorded_path};
pub(crate) use request::{RecordingReason, RecordingRequest, RecordingState};
pub(crate) use rule::RecordingRequestError;

use crate::settings::RecordingSettings;
use agents::AgentList;
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;
use request_list::RequestList;
use rule::RecordingRule;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use storage::RecordingStorage;

/// The recordings of one tenant.
pub(crate) struct TenantRecordings {
    rule: RecordingRule,
    state: Mutex<RecordingsState>,
}

struct RecordingsState {
    list: RequestList,
    storage: RecordingStorage,
    agents: AgentList,
}

/// Response to a poll.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PollReply {
    /// Memory in bytes and share of the CPUs, if the host may record.
    pub(crate) record: Option<(u64, f64)>,
    /// The host's pending requests.
    pub(crate) requests: Vec<RecordingRequest>,
}

/// Outcome of an upload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UploadResult {
    /// It is stored now.
    Stored,
    /// It was stored already.
    Known,
    /// The request has ended without it.
    Ended,
    /// There is no such request.
    Unknown,
}

impl TenantRecordings {
    /// Opens the recordings in the folder of a tenant.
    ///
    /// # Errors
    /// When they cannot be read or repaired.
    pub(crate) fn open(folder: &Path, settings: &RecordingSettings) -> io::Result<TenantRecordings> {
        let (storage, list) = RecordingStorage::open(folder)?;
        let state = RecordingsState { list, storage, agents: AgentList::default() };
        Ok(TenantRecordings { rule: RecordingRule::new(settings), state: Mutex::new(state) })
    }

    /// Length of the longest recording that the operator allows.
    pub(crate) fn length_max(&self) -> Nanos {
        self.rule.length.nanos()
    }

    /// Requests the recordings of a host, or of a culprit and a healthy peer: all of them or none. Each host is requested
    /// once for an incident; a repetition returns what became of the first request. The window is by the clocks of the hosts,
    /// and should be the last seconds: agents hold no more. Blocks; when this returns, the requests survive a loss of power.
    ///
    /// # Errors
    /// When the operator's rule or the state of an agent does not allow one of them, or it cannot be stored.
    pub(crate) fn request(
        &self,
        hosts: &[String],
        window: Window,
        reason: &RecordingReason,
        now: Timestamp,
    ) -> Result<Vec<RecordingRequest>, RecordingRequestError> {
        let mut state = self.state();
        let mut list = state.list.clone();
        list.expire(&self.rule, now);
        let requested = list.request((&self.rule, &state.agents), hosts, (window, reason), now)?;
        state.replace(list).map_err(|error| RecordingRequestError::Storage(error.to_string()))?;
        Ok(requested)
    }

    /// Notes the poll of an agent and what it cannot deliver: ids and reasons.
    pub(crate) fn poll(&self, status: AgentStatus, missed: Vec<(String, String)>) -> PollReply {
        let (host, now) = (status.host.clone(), Timestamp::from_unix_ns(status.polled_ns));
        let mut state = self.state();
        let is_known = state.agents.polled(status);
        // Most polls change nothing, and there are many.
        if !missed.is_empty() || !state.list.is_settled(&self.rule, now) {
            let mut list = state.list.clone();
            list.expire(&self.rule, now);
            for (id, why) in missed {
                if list.get(&id).is_some_and(|request| request.host == host) {
                    list.end(&id, RecordingState::Missed { why });
                }
            }
            if let Err(error) = state.replace(list) {
                tracing::error!(%error, "the index of recordings could not be written; this is tried again");
            }
        }
        let allowed = is_known && self.rule.allows(&host);
        let record = allowed.then_some((self.rule.buffer_bytes, self.rule.cpu_share));
        PollReply { record, requests: state.list.pending(&host) }
    }

    /// Stores the recording of a request, once: a repetition changes nothing. `uploaded` is a complete file on the disk of the
    /// data, which is moved. Blocks; when this returns, the recording survives a loss of power.
    ///
    /// # Errors
    /// When it cannot be stored: then the upload may be repeated.
    pub(crate) fn store(&self, id: &str, uploaded: &Path, now: Timestamp) -> io::Result<UploadResult> {
        let mut state = self.state();
        match state.list.get(id).map(|request| &request.state) {
            None => return Ok(UploadResult::Unknown),
            Some(RecordingState::Stored { .. }) => return Ok(UploadResult::Known),
            Some(RecordingState::Missed { .. } | RecordingState::Deleted) => return Ok(UploadResult::Ended),
            Some(RecordingState::Pending) => {}
        }
        let bytes = std::fs::metadata(uploaded)?.len();
        state.storage.accept(id, uploaded)?;
        let mut list = state.list.clone();
        list.end(id, RecordingState::Stored { bytes, stored_ns: now.unix_ns() });
        list.expire(&self.rule, now);
        state.replace(list)?;
        Ok(UploadResult::Stored)
    }

    /// Most bytes of a recording.
    pub(crate) fn upload_bytes_max(&self) -> u64 {
        self.rule.upload_bytes
    }

    /// The file of a stored recording, and its request.
    pub(crate) fn stored(&self, id: &str) -> Option<(PathBuf, RecordingRequest)> {
        let state = self.state();
        let request = state.list.get(id).filter(|request| request.bytes() > 0)?;
        Some((state.storage.path(id), request.clone()))
    }

    /// Requests whose intervals overlap a window, the latest first; of one host if it is named.
    pub(crate) fn list(&self, host: Option<&str>, window: Window) -> Vec<RecordingRequest> {
        let state = self.state();
        let (since, until) = (window.since.unix_ns(), window.until.unix_ns());
        let matching = state.list.requests.iter().filter(|request| {
            host.is_none_or(|host| request.host == host)
                && request.until_ns >= since
                && request.since_ns <= until
        });
        let mut matching: Vec<RecordingRequest> = matching.cloned().collect();
        matching.sort_by(|a, b| (b.since_ns, &b.host, &b.id).cmp(&(a.since_ns, &a.host, &a.id)));
        matching
    }

    /// Agents that polled within the last hour, by host.
    pub(crate) fn agents(&self, now: Timestamp) -> Vec<AgentStatus> {
        self.state().agents.list(now)
    }

    fn state(&self) -> MutexGuard<'_, RecordingsState> {
        self.state.lock().expect("no thread panics while it holds the lock")
    }
}

impl RecordingsState {
    /// Makes a list durable, then the one that counts, then deletes the files it no longer has.
    fn replace(&mut self, list: RequestList) -> io::Result<()> {
        if list == self.list {
            return Ok(());
        }
        self.storage.save(&list)?;
        let has_deleted = self
            .list
            .requests
            .iter()
            .any(|old| old.bytes() > 0 && list.get(&old.id).is_none_or(|request| request.bytes() == 0));
        self.list = list;
        if has_deleted && let Err(error) = self.storage.delete_all_but(&self.list) {
            tracing::warn!(%error, "a recording could not be deleted; the next start tries again");
        }
        Ok(())
    }
}
