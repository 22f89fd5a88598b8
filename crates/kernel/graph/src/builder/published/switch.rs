//! Context switches: every state with neither of the two lowest bits counts as runnable.

use crate::builder::thread::{SchedStatus, ThreadId};
use crate::builder::tracker::{EventOrigin, StateTracker};
use laggard_model::PrevState;

impl StateTracker {
    pub(super) fn switch_published(
        &mut self,
        origin: EventOrigin,
        prev: ThreadId,
        prev_state: PrevState,
        next: ThreadId,
    ) {
        let prev_status = if prev_state.0 & 3 == 0 { SchedStatus::WaitCpu } else { SchedStatus::Blocked };
        self.thread_mut(next).set(SchedStatus::Running);
        self.thread_mut(prev).set(prev_status);
        for thread in [prev, next] {
            self.share_idle_worker(origin, thread);
            let state = self.thread(thread).previous.edge();
            self.append(thread, origin, Some(state));
        }
        self.cpu_mut(origin.cpu).current = Some(next);
    }
}
