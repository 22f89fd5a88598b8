//! Who woke whom.

use super::context::Context;
use super::follow::{Follower, Place};
use super::thread::{Status, ThreadId};
use crate::path::PieceState;
use crate::sketch::Point;
use crate::vertex::VerticalKind;
use laggard_model::{ContextFlags, TextId, Tid};

/// A wake-up event of the kind that was chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wake {
    pub(super) tid: Tid,
    pub(super) name: TextId,
    /// The thread's first.
    pub(super) is_new: bool,
    pub(super) flags: Option<ContextFlags>,
}

/// What a wake-up out of some context says of the wait.
#[derive(Clone, Copy, Debug)]
enum Cause {
    /// The current thread woke it.
    Current,
    /// A packet was received.
    Packet { qualifier: TextId },
    /// An interrupt that says what was waited for, or not.
    Interrupt { state: PieceState, qualifier: TextId },
}

impl Follower {
    /// A wake-up.
    pub(super) fn wake(&mut self, at: Place, wake: Wake) {
        if wake.tid == Tid::IDLE && self.is_modern() {
            return;
        }
        let thread = self.woken_thread(at, wake);
        let woken =
            if self.is_modern() { self.set_woken(at, thread) } else { self.set_woken_compat(at, thread) };
        if !woken {
            return;
        }
        match self.thread(thread).previous {
            Status::WaitFork => self.wake_newborn(at, thread),
            Status::Blocked => self.wake_blocked(at, thread, wake.flags),
            _ if self.is_modern() => drop(self.append(thread, at, Some(PieceState::Unknown))),
            _ => {}
        }
    }

    fn woken_thread(&mut self, at: Place, wake: Wake) -> ThreadId {
        let known = self.find_thread(at, wake.tid);
        let is_expected = known.is_some_and(|known| self.thread(known).status == Status::WaitFork);
        let thread = if wake.is_new && !is_expected {
            self.newborn(at, wake.tid, wake.name)
        } else {
            self.named(at, wake.tid, wake.name)
        };
        if known != Some(thread) {
            self.thread_mut(thread).set(Status::Blocked);
        }
        thread
    }

    /// Whether the graph gets an edge: by the rules as published even a wake-up of a thread that is not blocked.
    fn set_woken_compat(&mut self, at: Place, thread: ThreadId) -> bool {
        let is_current = self.current(at.cpu) == Some(thread);
        let woken = self.thread_mut(thread);
        let may = matches!(woken.status, Status::Blocked | Status::WaitFork | Status::Unknown);
        if may && !is_current {
            woken.set(Status::WaitCpu);
        }
        matches!(woken.previous, Status::WaitFork | Status::Blocked)
    }

    /// Whether the wake-up ends a wait.
    fn set_woken(&mut self, at: Place, thread: ThreadId) -> bool {
        self.cut_at_losses(thread);
        let is_current = self.current(at.cpu) == Some(thread);
        let woken = self.thread_mut(thread);
        match woken.status {
            _ if is_current => return false,
            Status::Running | Status::Exit => {
                woken.woken_early = Some(at.time);
                return false;
            }
            Status::WaitCpu if !woken.is_assumed_woken => return false,
            // A thread that is runnable is not woken: it was blocked after all.
            Status::WaitCpu | Status::WaitUnknown => woken.set(Status::Blocked),
            _ => {}
        }
        woken.is_assumed_woken = false;
        woken.set(Status::WaitCpu);
        woken.woken = at.time;
        true
    }

    fn wake_newborn(&mut self, at: Place, thread: ThreadId) {
        let waker = self.waker(at).map(|current| self.extend(current, at));
        let state = self.thread(thread).previous.edge();
        let point = self.append(thread, at, Some(state));
        if let Some(waker) = waker {
            self.sketch.link(waker, point, VerticalKind::WakeUp);
        }
    }

    fn wake_blocked(&mut self, at: Place, thread: ThreadId, flags: Option<ContextFlags>) {
        match self.cause(at, flags) {
            Cause::Current => self.wake_by_current(at, thread),
            Cause::Packet { qualifier } => self.wake_by_packet(at, thread, qualifier),
            Cause::Interrupt { state, qualifier } => drop(self.append_wait(at, thread, state, qualifier)),
        }
    }

    /// The current thread as a waker. The idle task never is one: there is a switch missing, or an interrupt.
    fn waker(&self, at: Place) -> Option<ThreadId> {
        self.current(at.cpu).filter(|&current| !(self.is_modern() && self.thread(current).is_idle()))
    }

    fn wake_by_current(&mut self, at: Place, thread: ThreadId) {
        let waker = self.waker(at).map(|current| self.extend(current, at));
        let point = self.append_wait(at, thread, PieceState::Blocked, TextId::EMPTY);
        match waker {
            Some(waker) => self.sketch.link(waker, point, VerticalKind::WakeUp),
            None => self.tally.unknown_waker.add(at.time),
        }
    }

    fn wake_by_packet(&mut self, at: Place, thread: ThreadId, qualifier: TextId) {
        let receiver = self.receiver(at);
        let held = receiver.and_then(|receiver| self.thread_mut(receiver).received.take());
        let point = self.append_wait(at, thread, PieceState::Network, qualifier);
        if let Some(held) = held {
            self.sketch.link(held.sent_at, point, VerticalKind::State(PieceState::Network));
        }
    }

    fn append_wait(&mut self, at: Place, thread: ThreadId, state: PieceState, qualifier: TextId) -> Point {
        let point = self.append(thread, at, Some(state));
        if qualifier != TextId::EMPTY {
            self.sketch.qualify(point, qualifier);
        }
        point
    }

    fn cause(&mut self, at: Place, flags: Option<ContextFlags>) -> Cause {
        let Some(context) = self.cpu(at.cpu).innermost() else { return self.cause_by_flags(flags) };
        let (state, name) = match context {
            Context::Hrtimer => (PieceState::Timer, "hrtimer"),
            Context::Ipi => (PieceState::Ipi, ""),
            Context::Softirq { vector: 1 } => (PieceState::Timer, "softirq TIMER"),
            Context::Softirq { vector: 8 } => (PieceState::Timer, "softirq HRTIMER"),
            Context::Softirq { vector: 4 } => (PieceState::BlockDevice, "softirq BLOCK"),
            Context::Softirq { vector: 5 } => (PieceState::BlockDevice, "softirq IRQ_POLL"),
            Context::Softirq { vector: 2 | 3 } => {
                let qualifier = self.sketch.text("softirq NET");
                return Cause::Packet { qualifier };
            }
            Context::Softirq { vector: 7 } => (PieceState::Interrupted, "softirq SCHED"),
            Context::Softirq { vector: 0 } => (PieceState::Blocked, "softirq HI"),
            Context::Softirq { vector: 6 } => (PieceState::Blocked, "softirq TASKLET"),
            Context::Softirq { vector: 9 } => (PieceState::Blocked, "softirq RCU"),
            Context::Softirq { .. } => (PieceState::Blocked, "softirq"),
            Context::Irq { number, name } => return self.cause_by_irq(number, name),
            Context::Reception => {
                let is_thread = !self.cpu(at.cpu).is_interrupted();
                let qualifier =
                    if is_thread { self.current_name(at.cpu) } else { self.sketch.text("softirq NET") };
                return Cause::Packet { qualifier };
            }
        };
        Cause::Interrupt { state, qualifier: self.sketch.text(name) }
    }

    /// Without a context the current thread is the waker, unless the record was written in an interrupt that has no
    /// handler event. A soft one then is about to wake ksoftirqd.
    fn cause_by_flags(&self, flags: Option<ContextFlags>) -> Cause {
        let flags = flags.filter(|_| self.is_modern()).unwrap_or_default();
        let state = match (flags.hard_irq(), flags.soft_irq()) {
            (true, _) => PieceState::Ipi,
            (false, true) => PieceState::Blocked,
            (false, false) => return Cause::Current,
        };
        Cause::Interrupt { state, qualifier: TextId::EMPTY }
    }

    fn cause_by_irq(&mut self, number: u32, name: TextId) -> Cause {
        let named = if self.is_modern() { self.irq_names.state(name, &self.sketch.texts) } else { None };
        match named {
            Some(PieceState::Network) => Cause::Packet { qualifier: name },
            Some(state) => Cause::Interrupt { state, qualifier: name },
            None if number == 0 => Cause::Interrupt { state: PieceState::Interrupted, qualifier: name },
            None => Cause::Interrupt { state: PieceState::Blocked, qualifier: name },
        }
    }
}
