//! Work that waits for a thread: clients are served in turn.

use super::{Job, JobLimits, Work};
use crate::api::client_id::ClientId;
use crate::api::running::JobSize;
use crate::operations::ProcessMemory;
use std::collections::VecDeque;
use std::sync::Arc;

/// A job with its work.
pub(super) struct QueuedJob {
    pub(super) job: Arc<Job>,
    pub(super) client: ClientId,
    pub(super) size: JobSize,
    pub(super) work: Work,
}

/// Jobs that wait, by client. The client that was served last comes last.
#[derive(Default)]
pub(super) struct FairQueue {
    clients: VecDeque<ClientQueue>,
}

struct ClientQueue {
    client: ClientId,
    waiting: VecDeque<QueuedJob>,
    /// Its long jobs that run.
    running: usize,
}

impl FairQueue {
    /// Whether another job of a client can wait.
    pub(super) fn has_room(&self, client: ClientId, limits: &JobLimits) -> bool {
        let of_client = self.clients.iter().find(|queue| queue.client == client);
        self.len() < limits.waiting_max
            && of_client.is_none_or(|queue| queue.waiting.len() < limits.waiting_of_client_max)
    }

    pub(super) fn push(&mut self, queued: QueuedJob) {
        let client = queued.client;
        match self.clients.iter_mut().find(|queue| queue.client == client) {
            Some(queue) => queue.waiting.push_back(queued),
            None => self.clients.push_back(ClientQueue { client, waiting: [queued].into(), running: 0 }),
        }
    }

    /// The next job for a thread. Long jobs of one client leave a thread to others. While memory is tight, one long job runs at a
    /// time, and short ones on their own thread only.
    pub(super) fn pop(
        &mut self,
        only_short: bool,
        limits: &JobLimits,
        memory: &ProcessMemory,
    ) -> Option<QueuedJob> {
        let is_tight = memory.is_tight();
        let is_running = self.clients.iter().any(|queue| queue.running > 0);
        let no_long = only_short || is_running && is_tight;
        let of_client_max = limits.threads.saturating_sub(1).max(1);
        let may_run = |queue: &ClientQueue, size: JobSize| match size {
            JobSize::Short => only_short || !is_tight,
            JobSize::Long => !no_long && queue.running < of_client_max,
        };
        let position_in =
            |queue: &ClientQueue| queue.waiting.iter().position(|queued| may_run(queue, queued.size));
        let (index, position) = (self.clients.iter().enumerate())
            .find_map(|(index, queue)| position_in(queue).map(|position| (index, position)))?;
        let mut queue = self.clients.remove(index)?;
        let queued = queue.waiting.remove(position)?;
        queue.running += usize::from(queued.size == JobSize::Long);
        self.clients.push_back(queue);
        Some(queued)
    }

    /// A job that [`FairQueue::pop`] returned has ended.
    pub(super) fn end(&mut self, client: ClientId, size: JobSize) {
        if let Some(queue) = self.clients.iter_mut().find(|queue| queue.client == client) {
            queue.running -= usize::from(size == JobSize::Long);
        }
        self.clients.retain(|queue| queue.running > 0 || !queue.waiting.is_empty());
    }

    /// Removes a waiting job; whether it was there.
    pub(super) fn remove(&mut self, job: &Job) -> bool {
        let before = self.len();
        self.clients.iter_mut().for_each(|queue| queue.waiting.retain(|queued| queued.job.id != job.id));
        self.clients.retain(|queue| queue.running > 0 || !queue.waiting.is_empty());
        self.len() < before
    }

    pub(super) fn is_empty(&self) -> bool {
        self.clients.iter().all(|queue| queue.waiting.is_empty())
    }

    fn len(&self) -> usize {
        self.clients.iter().map(|queue| queue.waiting.len()).sum()
    }
}
