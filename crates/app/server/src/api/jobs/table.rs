//! The table of jobs.

use super::{Ended, Job, JobId, JobLimits, JobState};
use laggard_model::Timestamp;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Jobs by id, and the size of their results.
#[derive(Default)]
pub(super) struct JobTable {
    jobs: BTreeMap<JobId, Arc<Job>>,
    bytes: usize,
    /// Jobs since the start.
    pub(super) submitted: u64,
}

impl JobTable {
    pub(super) fn insert(&mut self, job: Arc<Job>) {
        self.submitted += 1;
        self.jobs.insert(job.id, job);
    }

    pub(super) fn get(&self, id: JobId) -> Option<Arc<Job>> {
        self.jobs.get(&id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<Job>> {
        self.jobs.values().cloned().collect()
    }

    pub(super) fn states(&self) -> Vec<JobState> {
        self.jobs.values().map(|job| job.progress.progress().state).collect()
    }

    /// The latest first.
    pub(super) fn of_tenant(&self, tenant: &str) -> Vec<Arc<Job>> {
        let mut jobs: Vec<Arc<Job>> =
            self.jobs.values().filter(|job| &*job.tenant == tenant).cloned().collect();
        jobs.sort_by_key(|job| Reverse((job.created, job.id)));
        jobs
    }

    /// Records how a job ended; its state changes once the result can be fetched.
    pub(super) fn end(&mut self, job: &Job, ended: Ended, state: JobState) {
        let bytes = ended.bytes;
        if job.ended.set(ended).is_ok() {
            self.bytes += bytes;
            job.progress.set_state(state);
        }
    }

    /// Removes jobs that ended long ago, and the oldest beyond the limits.
    pub(super) fn expire(&mut self, limits: &JobLimits, now: Timestamp) {
        let mut ended: Vec<(Timestamp, JobId, usize)> = (self.jobs.values())
            .filter_map(|job| job.ended.get().map(|ended| (ended.at, job.id, ended.bytes)))
            .collect();
        ended.sort_unstable();
        let mut remaining = ended.len();
        for (ended_at, id, bytes) in ended {
            let old = now.since(ended_at).ns() > limits.stored_ns_max;
            // The latest stays, however large: it is about to be fetched.
            let surplus =
                remaining > limits.stored_max || (self.bytes > limits.stored_bytes_max && remaining > 1);
            if !old && !surplus {
                return;
            }
            self.jobs.remove(&id);
            self.bytes -= bytes;
            remaining -= 1;
        }
    }
}
