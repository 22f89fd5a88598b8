//! Wake-ups: idle tasks are woken and wake others, and a thread that is not blocked can get an edge.

use crate::builder::thread::{SchedStatus, ThreadId};
use crate::builder::tracker::{EventOrigin, StateTracker};
use laggard_model::{TextId, Tid};

impl StateTracker {
    pub(super) fn wake_published(&mut self, origin: EventOrigin, tid: Tid, name: TextId) {
        let is_first = self.find_thread(origin, tid).is_none();
        let thread = self.named_thread(origin, tid, name);
        if is_first {
            self.thread_mut(thread).set(SchedStatus::Blocked);
        }
        self.set_woken_published(origin, thread);
        self.share_idle_worker(origin, thread);
        let waker = self.current(origin.cpu);
        match self.thread(thread).previous {
            SchedStatus::WaitFork => self.wake_new_thread(origin, thread, waker),
            SchedStatus::Blocked => self.wake_blocked(origin, thread, waker, None),
            _ => {}
        }
    }

    fn set_woken_published(&mut self, origin: EventOrigin, thread: ThreadId) {
        let is_current = self.current(origin.cpu) == Some(thread);
        let woken = self.thread_mut(thread);
        let may = matches!(woken.status, SchedStatus::Blocked | SchedStatus::WaitFork | SchedStatus::Unknown);
        if may && !is_current {
            woken.set(SchedStatus::WaitCpu);
        }
    }
}
