//! What threads did.

use crate::tid_map::TidMap;
use laggard_model::{KernelTexts, KernelTime, TextId, Tid};

/// What one thread did. Numbers that are used again are added up unless the thread's end was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadUse {
    /// Its number.
    pub tid: Tid,
    /// Its last name; empty when never told.
    pub name: String,
    /// Nanoseconds on a CPU.
    pub running_ns: u64,
    /// Nanoseconds in which it could have run but had no CPU: pre-empted, or woken and not yet switched in.
    pub preempted_ns: u64,
    /// Nanoseconds blocked, from a switch-out to the wake-up that was seen.
    pub blocked_ns: u64,
    /// How often it got a CPU.
    pub switches_in: u64,
    /// How often it was woken while it did not run or wait for a CPU.
    pub wakeups: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Unknown,
    Running,
    Runnable(KernelTime),
    Blocked(KernelTime),
}

#[derive(Clone, Copy, Debug, Default)]
struct ThreadClock {
    name: TextId,
    state: State,
    running_ns: u64,
    preempted_ns: u64,
    blocked_ns: u64,
    switches_in: u64,
    wakeups: u64,
}

/// All threads while events come. Threads that ended are kept, one row a life.
#[derive(Debug, Default)]
pub(crate) struct ThreadClocks {
    alive: TidMap<ThreadClock>,
    ended: Vec<(Tid, ThreadClock)>,
}

impl ThreadClocks {
    pub(crate) fn named(&mut self, tid: Tid, name: TextId) {
        if tid != Tid::IDLE && name != TextId::EMPTY {
            self.alive.entry(tid).name = name;
        }
    }

    pub(crate) fn ran(&mut self, tid: Tid, ns: u64) {
        if tid != Tid::IDLE {
            self.alive.entry(tid).running_ns += ns;
        }
    }

    pub(crate) fn woken(&mut self, tid: Tid, time: KernelTime) {
        let thread = self.alive.entry(tid);
        match thread.state {
            State::Blocked(since) => thread.blocked_ns += time.since(since),
            State::Unknown => {}
            // The second event of the same wake-up, or one that wakes nobody.
            State::Running | State::Runnable(_) => return,
        }
        thread.wakeups += 1;
        thread.state = State::Runnable(time);
    }

    /// When a thread became runnable, if it waits for a CPU.
    pub(crate) fn runnable_since(&self, tid: Tid) -> Option<KernelTime> {
        match self.alive.get(tid)?.state {
            State::Runnable(since) => Some(since),
            _ => None,
        }
    }

    pub(crate) fn switched_in(&mut self, tid: Tid, time: KernelTime) {
        if tid == Tid::IDLE {
            return;
        }
        let thread = self.alive.entry(tid);
        match thread.state {
            State::Runnable(since) => thread.preempted_ns += time.since(since),
            State::Blocked(since) => thread.blocked_ns += time.since(since),
            State::Running | State::Unknown => {}
        }
        thread.state = State::Running;
        thread.switches_in += 1;
    }

    pub(crate) fn switched_out(&mut self, tid: Tid, time: KernelTime, stays_runnable: bool) {
        if tid != Tid::IDLE {
            let state = if stays_runnable { State::Runnable(time) } else { State::Blocked(time) };
            self.alive.entry(tid).state = state;
        }
    }

    /// What a thread does is no longer known.
    pub(crate) fn forget(&mut self, tid: Tid) {
        if tid != Tid::IDLE {
            self.alive.entry(tid).state = State::Unknown;
        }
    }

    pub(crate) fn end(&mut self, tid: Tid) {
        self.ended.extend(self.alive.remove(tid).map(|thread| (tid, thread)));
    }

    /// All threads, by number, those that ended first; with what they wait for at the end of the trace.
    pub(crate) fn finish(mut self, end: KernelTime, texts: &KernelTexts) -> Vec<ThreadUse> {
        for (tid, mut thread) in std::mem::take(&mut self.alive).sorted() {
            match thread.state {
                State::Runnable(since) => thread.preempted_ns += end.since(since),
                State::Blocked(since) => thread.blocked_ns += end.since(since),
                State::Running | State::Unknown => {}
            }
            self.ended.push((tid, thread));
        }
        let thread_use = |(tid, thread): (Tid, ThreadClock)| ThreadUse {
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
