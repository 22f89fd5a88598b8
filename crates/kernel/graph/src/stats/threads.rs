//! Time of each thread.

use super::delays::{Delays, WakeupDelays};
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
    /// How long after its wake-ups it ran; `None` if no such delay is known.
    pub delays: Option<WakeupDelays>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum RunState {
    #[default]
    Unknown,
    Running,
    /// Since its wake-up.
    Woken(KernelTime),
    /// Since it lost its CPU.
    Preempted(KernelTime),
    Blocked(KernelTime),
}

#[derive(Clone, Debug, Default)]
struct ThreadTimes {
    name: TextId,
    state: RunState,
    running_ns: u64,
    preempted_ns: u64,
    blocked_ns: u64,
    switches_in: u64,
    wakeups: u64,
    delays: Delays,
}

/// How a switch is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SwitchEvidence {
    Recorded,
    /// By a later record of the thread; its time is estimated.
    Implied,
}

/// The times of all threads during counting. Exited threads are retained, one row per thread.
#[derive(Debug, Default)]
pub(crate) struct AllThreadTimes {
    alive: TidMap<ThreadTimes>,
    ended: Vec<(Tid, ThreadTimes)>,
    /// The last loss of events: switches before it may be missing.
    last_loss: Option<KernelTime>,
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
            RunState::Running | RunState::Woken(_) | RunState::Preempted(_) => return,
        }
        thread.wakeups += 1;
        thread.state = RunState::Woken(time);
    }

    /// Events were lost until this time.
    pub(crate) fn lost(&mut self, time: KernelTime) {
        self.last_loss = self.last_loss.max(Some(time));
    }

    /// When a thread became runnable, if it is waiting for a CPU.
    pub(crate) fn runnable_since(&self, tid: Tid) -> Option<KernelTime> {
        match self.alive.get(tid)?.state {
            RunState::Woken(since) | RunState::Preempted(since) => Some(since),
            RunState::Unknown | RunState::Running | RunState::Blocked(_) => None,
        }
    }

    pub(crate) fn switched_in(&mut self, tid: Tid, time: KernelTime, evidence: SwitchEvidence) {
        if tid == Tid::IDLE {
            return;
        }
        let thread = self.alive.entry(tid);
        match thread.state {
            RunState::Woken(since) | RunState::Preempted(since) => thread.preempted_ns += time.since(since),
            RunState::Blocked(since) => thread.blocked_ns += time.since(since),
            RunState::Running | RunState::Unknown => {}
        }
        if let RunState::Woken(since) = thread.state
            && evidence == SwitchEvidence::Recorded
            && self.last_loss.is_none_or(|lost| lost < since)
        {
            thread.delays.add(since, time);
        }
        thread.state = RunState::Running;
        thread.switches_in += 1;
    }

    pub(crate) fn switched_out(&mut self, tid: Tid, time: KernelTime, stays_runnable: bool) {
        if tid != Tid::IDLE {
            let state = if stays_runnable { RunState::Preempted(time) } else { RunState::Blocked(time) };
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
                RunState::Woken(since) | RunState::Preempted(since) => {
                    thread.preempted_ns += end.since(since)
                }
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
            delays: thread.delays.summary(),
        };
        self.ended.into_iter().map(thread_use).collect()
    }
}
