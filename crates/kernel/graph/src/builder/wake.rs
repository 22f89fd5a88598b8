//! Wake-ups: which thread or interrupt ended a wait.

use super::context::InterruptContext;
use super::thread::{SchedStatus, ThreadId};
use super::tracker::{EventOrigin, StateTracker};
use crate::partial_graph::VertexHandle;
use crate::path::WorkerState;
use crate::vertex::VerticalKind;
use laggard_model::{ContextFlags, TextId, Tid};

/// A wake-up event of the selected kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct WakeEvent {
    pub(super) tid: Tid,
    pub(super) name: TextId,
    /// Whether it is the first wake-up of a new thread.
    pub(super) is_new: bool,
    pub(super) flags: Option<ContextFlags>,
}

/// Kind of wait implied by the context of a wake-up.
#[derive(Clone, Copy, Debug)]
enum WakeCause {
    /// The current thread woke it.
    Current,
    /// A packet was received.
    Packet { qualifier: TextId },
    /// An interrupt; `state` is the kind of wait it ends.
    Interrupt { state: WorkerState, qualifier: TextId },
}

impl StateTracker {
    /// Applies a wake-up event.
    pub(super) fn wake(&mut self, origin: EventOrigin, wake: WakeEvent) {
        if wake.tid == Tid::IDLE {
            return;
        }
        let thread = self.woken_thread(origin, wake);
        if !self.set_woken(origin, thread) {
            return;
        }
        let waker = self.waker(origin);
        match self.thread(thread).previous {
            SchedStatus::WaitFork => self.wake_new_thread(origin, thread, waker),
            SchedStatus::Blocked => self.wake_blocked(origin, thread, waker, wake.flags),
            _ => drop(self.append(thread, origin, Some(WorkerState::Unknown))),
        }
    }

    fn woken_thread(&mut self, origin: EventOrigin, wake: WakeEvent) -> ThreadId {
        let known = self.find_thread(origin, wake.tid);
        let is_expected = known.is_some_and(|known| self.thread(known).status == SchedStatus::WaitFork);
        let thread = if wake.is_new && !is_expected {
            self.new_thread(origin, wake.tid, wake.name)
        } else {
            self.named_thread(origin, wake.tid, wake.name)
        };
        if known != Some(thread) {
            self.thread_mut(thread).set(SchedStatus::Blocked);
        }
        thread
    }

    /// Whether the wake-up ends a wait.
    fn set_woken(&mut self, origin: EventOrigin, thread: ThreadId) -> bool {
        self.cut_at_losses(thread);
        let is_current = self.current(origin.cpu) == Some(thread);
        let woken = self.thread_mut(thread);
        match woken.status {
            _ if is_current => return false,
            SchedStatus::Running | SchedStatus::Exit => {
                woken.woken_early = Some(origin.time);
                return false;
            }
            SchedStatus::WaitCpu if !woken.is_assumed_woken => return false,
            // Runnable threads are not woken, so the thread had been blocked.
            SchedStatus::WaitCpu | SchedStatus::WaitUnknown => woken.set(SchedStatus::Blocked),
            _ => {}
        }
        woken.is_assumed_woken = false;
        woken.set(SchedStatus::WaitCpu);
        woken.woken = origin.time;
        true
    }

    pub(super) fn wake_new_thread(&mut self, origin: EventOrigin, thread: ThreadId, waker: Option<ThreadId>) {
        let waker = waker.map(|waker| self.extend(waker, origin));
        let state = self.thread(thread).previous.edge();
        let point = self.append(thread, origin, Some(state));
        if let Some(waker) = waker {
            self.graph.link(waker, point, VerticalKind::WakeUp);
        }
    }

    pub(super) fn wake_blocked(
        &mut self,
        origin: EventOrigin,
        thread: ThreadId,
        waker: Option<ThreadId>,
        flags: Option<ContextFlags>,
    ) {
        self.extend_fault(thread, origin.time);
        match self.cause(origin, flags) {
            WakeCause::Current => self.wake_by_current(origin, thread, waker),
            WakeCause::Packet { qualifier } => self.wake_by_packet(origin, thread, qualifier),
            WakeCause::Interrupt { state, qualifier } => {
                self.append_wait(origin, thread, state, qualifier);
            }
        }
    }

    /// The current thread as the waker. The idle task is never a waker: a switch or an interrupt was not recorded.
    pub(super) fn waker(&self, origin: EventOrigin) -> Option<ThreadId> {
        self.current(origin.cpu).filter(|&current| !self.thread(current).is_idle())
    }

    fn wake_by_current(&mut self, origin: EventOrigin, thread: ThreadId, waker: Option<ThreadId>) {
        let waker = waker.map(|waker| self.extend(waker, origin));
        let point = self.append_wait(origin, thread, WorkerState::Blocked, TextId::EMPTY);
        match waker {
            Some(waker) => self.graph.link(waker, point, VerticalKind::WakeUp),
            None => self.losses.unknown_waker.add(origin.time),
        }
    }

    fn wake_by_packet(&mut self, origin: EventOrigin, thread: ThreadId, qualifier: TextId) {
        let receiver = self.receiver(origin);
        let pending = receiver.and_then(|receiver| self.thread_mut(receiver).received.take());
        let point = self.append_wait(origin, thread, WorkerState::Network, qualifier);
        if let Some(pending) = pending {
            self.graph.link(pending.sent_at, point, VerticalKind::State(WorkerState::Network));
        }
    }

    fn append_wait(
        &mut self,
        origin: EventOrigin,
        thread: ThreadId,
        state: WorkerState,
        qualifier: TextId,
    ) -> VertexHandle {
        let point = self.append(thread, origin, Some(state));
        if qualifier != TextId::EMPTY {
            self.graph.qualify(point, qualifier);
        }
        point
    }

    fn cause(&mut self, origin: EventOrigin, flags: Option<ContextFlags>) -> WakeCause {
        let Some(context) = self.cpu(origin.cpu).innermost() else {
            return StateTracker::cause_by_flags(flags);
        };
        let (state, name) = match context {
            InterruptContext::Hrtimer => (WorkerState::Timer, "hrtimer"),
            InterruptContext::Ipi => (WorkerState::Ipi, ""),
            InterruptContext::Softirq { vector: 1 } => (WorkerState::Timer, "softirq TIMER"),
            InterruptContext::Softirq { vector: 8 } => (WorkerState::Timer, "softirq HRTIMER"),
            InterruptContext::Softirq { vector: 4 } => (WorkerState::BlockDevice, "softirq BLOCK"),
            InterruptContext::Softirq { vector: 5 } => (WorkerState::BlockDevice, "softirq IRQ_POLL"),
            InterruptContext::Softirq { vector: 2 | 3 } => {
                let qualifier = self.graph.text("softirq NET");
                return WakeCause::Packet { qualifier };
            }
            InterruptContext::Softirq { vector: 7 } => (WorkerState::Interrupted, "softirq SCHED"),
            InterruptContext::Softirq { vector: 0 } => (WorkerState::Blocked, "softirq HI"),
            InterruptContext::Softirq { vector: 6 } => (WorkerState::Blocked, "softirq TASKLET"),
            InterruptContext::Softirq { vector: 9 } => (WorkerState::Blocked, "softirq RCU"),
            InterruptContext::Softirq { .. } => (WorkerState::Blocked, "softirq"),
            InterruptContext::Irq { number, name } => return self.cause_by_irq(number, name),
            InterruptContext::Reception => {
                let is_thread = !self.cpu(origin.cpu).is_interrupted();
                let qualifier =
                    if is_thread { self.current_name(origin.cpu) } else { self.graph.text("softirq NET") };
                return WakeCause::Packet { qualifier };
            }
        };
        WakeCause::Interrupt { state, qualifier: self.graph.text(name) }
    }

    /// Without a context the current thread is the waker, unless the record's flags show an interrupt without a handler
    /// event. A softirq then is about to wake ksoftirqd.
    fn cause_by_flags(flags: Option<ContextFlags>) -> WakeCause {
        let flags = flags.unwrap_or_default();
        let state = match (flags.hard_irq(), flags.soft_irq()) {
            (true, _) => WorkerState::Ipi,
            (false, true) => WorkerState::Blocked,
            (false, false) => return WakeCause::Current,
        };
        WakeCause::Interrupt { state, qualifier: TextId::EMPTY }
    }

    fn cause_by_irq(&mut self, number: u32, name: TextId) -> WakeCause {
        match self.irq_names.state(name, &self.graph.texts) {
            Some(WorkerState::Network) => WakeCause::Packet { qualifier: name },
            Some(state) => WakeCause::Interrupt { state, qualifier: name },
            None if number == 0 => WakeCause::Interrupt { state: WorkerState::Interrupted, qualifier: name },
            None => WakeCause::Interrupt { state: WorkerState::Blocked, qualifier: name },
        }
    }
}
