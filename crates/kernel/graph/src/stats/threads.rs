//! Time of each thread.

use crate::tid_map::TidMap;
use laggard_model::{KernelTexts, KernelTime, TextId, Tid};

/// The use of CPUs by one thread. Threads with the same tid are added up unless the thread's exit was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadUsage {
    /// Its number.
    pub tid: Tid,
    /// Its last name; empty if unknown.
    pub name: String,
    /// Nanoseconds on a CPU.
    pub running_ns: u64,
    /// Nanoseconds runnable without a CPU: preempted, or woken and not yet switched in.
    pub preempted_ns: u64,
    /// Nanoseconds blocked, from being switched out to the recorded wake-up.
    pub blocked_ns: u64,
    /// Number of times it was switched in.
    pub switches_in: u64,
    /// Number of wake-ups while it was neither running nor runnable.
    pub wakeups: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum RunState {
    #[default]
    Unknown,
    Running,
    Runnable(KernelTime),
    Blocked(KernelTime),
}

#[derive(Clone, Copy, Debug, Default)]
struct ThreadTimes {
    name: TextId,
    state: RunState,
    running_ns: u64,
    preempted_ns: u64,
    blocked_ns: u64,
    switches_in: u64,
    wakeups: u64,
}

/// The times of all threads during counting. Exited threads are retained, one row per thread.
#[derive(Debug, Default)]
pub(crate) struct AllThreadTimes {
    alive: TidMap<ThreadTimes>,
    ended: Vec<(Tid, ThreadTimes)>,
}

impl AllThreadTimes {
    pub(crate) fn set_name(&mut self, tid: Tid, name: TextId) {
        if tid != Tid::IDLE && name != TextId::EMPTY {
            self.alive.entry(tid).name = name;
        }
    }

    pub(crate) fn add_running(&mut self, tid: Tid, ns: u64) {
        if tid != Tid::IDLE {
            self.alive.entry(tid).running_ns += ns;
        }
    }

    pub(crate) fn woken(&mut self, tid: Tid, time: KernelTime) {
        let thread = self.alive.entry(tid);
        match thread.state {
            RunState::Blocked(since) => thread.blocked_ns += time.since(since),
            RunState::Unknown => {}
            // The second event of the same wake-up, or a wake-up without effect.
            RunState::Running | RunState::Runnable(_) => return,
        }
        thread.wakeups += 1;
        thread.state = RunState::Runnable(time);
    }

    /// When a thread became runnable, if it is waiting for a CPU.
    pub(crate) fn runnable_since(&self, tid: Tid) -> Option<KernelTime> {
        match self.alive.get(tid)?.state {
            RunState::Runnable(since) => Some(since),
            _ => None,
        }
    }

    pub(crate) fn switched_in(&mut self, tid: Tid, time: KernelTime) {
        if tid == Tid::IDLE {
            return;
        }
        let thread = self.alive.entry(tid);
        match thread.state {
            RunState::Runnable(since) => thread.preempted_ns += time.since(since),
            RunState::Blocked(since) => thread.blocked_ns += time.since(since),
            RunState::Running | RunState::Unknown => {}
        }
        thread.state = RunState::Running;
        thread.switches_in += 1;
    }

    pub(crate) fn switched_out(&mut self, tid: Tid, time: KernelTime, stays_runnable: bool) {
        if tid != Tid::IDLE {
            let state = if stays_runnable { RunState::Runnable(time) } else { RunState::Blocked(time) };
            self.alive.entry(tid).state = state;
        }
    }

    /// Sets the state of a thread to unknown.
    pub(crate) fn set_unknown(&mut self, tid: Tid) {
        if tid != Tid::IDLE {
            self.alive.entry(tid).state = RunState::Unknown;
        }
    }

    pub(crate) fn end(&mut self, tid: Tid) {
        self.ended.extend(self.alive.remove(tid).map(|thread| (tid, thread)));
    }

    /// All threads by tid, exited ones first, including their waits up to the end of the trace.
    pub(crate) fn finish(mut self, end: KernelTime, texts: &KernelTexts) -> Vec<ThreadUsage> {
        for (tid, mut thread) in std::mem::take(&mut self.alive).sorted() {
            match thread.state {
                RunState::Runnable(since) => thread.preempted_ns += end.since(since),
                RunState::Blocked(since) => thread.blocked_ns += end.since(since),
                RunState::Running | RunState::Unknown => {}
            }
            self.ended.push((tid, thread));
        }
        let thread_use = |(tid, thread): (Tid, ThreadTimes)| ThreadUsage {
            tid,
            name: texts.text(thread.name).to_owned(),
            running_ns: thread.running_ns,
            preempted_ns: thread.preempted_ns,
            blocked_ns: thread.blocked_ns,
            switches_in: thread.switches_in,
            wakeups: thread.wakeups,
        };
        self.ended.into_iter().map(thread_use).collect()
    }
}
