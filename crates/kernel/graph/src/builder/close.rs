//! Finishes the graph at the end of the trace: last states, open calls, and names.

use super::thread::{SchedStatus, ThreadId};
use super::tracker::StateTracker;
use crate::graph::ExecutionGraph;
use laggard_model::Losses;

impl StateTracker {
    /// Extends every thread's last state to the last event of its host, and returns the graph. Adds what could not be
    /// followed to `losses`.
    pub(super) fn finish(mut self, losses: &mut Losses) -> ExecutionGraph {
        for index in 0..self.threads.len() {
            self.close_thread(ThreadId(index as u32));
        }
        self.close_calls();
        self.name_workers();
        self.losses.report(losses);
        self.graph.finish()
    }

    /// Gives the workers the last names of their threads.
    pub(super) fn name_workers(&mut self) {
        for thread in &self.threads {
            if let Some(worker) = thread.worker {
                self.graph.workers[worker.0 as usize].name = thread.name;
            }
        }
    }

    fn close_thread(&mut self, thread: ThreadId) {
        if self.thread(thread).worker.is_none() {
            return;
        }
        self.cut_at_losses(thread);
        let known = *self.thread(thread);
        let Some(cpu) = known.seen_on else { return };
        if matches!(known.status, SchedStatus::Dead | SchedStatus::Zombie | SchedStatus::Unknown) {
            return;
        }
        let end = self.hosts[known.host as usize].last_event;
        self.append_at(thread, end, cpu, Some(known.status.edge()));
    }
}
