//! The rules of the published reference, including its mistakes; for comparison ([`GraphMode::Compat`]).
//!
//! Only what differs is here: switches, wake-ups, state dumps, and the workers of idle tasks and interrupts. Record flags,
//! buffer addresses, interrupt names, lost events, and tids that are used again are ignored, and no thread's state is
//! extended to the end of the trace.
//!
//! [`GraphMode::Compat`]: super::GraphMode::Compat

mod sharing;
mod switch;
mod wake;

use super::context::InterruptContext;
use super::settings::GraphSettings;
use super::thread::{SchedStatus, ThreadId};
use super::tracker::{EventOrigin, StateTracker};
use crate::graph::ExecutionGraph;
use laggard_model::{EventKind, KernelEvent, Losses, Socket};

impl StateTracker {
    /// A tracker without rules for interrupt names.
    pub(super) fn new_published(settings: GraphSettings) -> StateTracker {
        StateTracker::new(GraphSettings { irq_names: Vec::new(), ..settings })
    }

    /// As [`StateTracker::follow`], by the published rules.
    pub(super) fn follow_published(&mut self, host: u32, event: &KernelEvent) {
        self.share_workers(host, event.cpu);
        let Some(origin) = self.origin(host, event) else { return };
        match event.kind {
            EventKind::Switch { prev, prev_name, prev_state, next, next_name } => {
                let prev = self.named_thread(origin, prev, prev_name);
                let next = self.named_thread(origin, next, next_name);
                self.switch_published(origin, prev, prev_state, next);
            }
            EventKind::Waking { tid, name, .. }
            | EventKind::Wakeup { tid, name, .. }
            | EventKind::WakeupNew { tid, name, .. }
            | EventKind::TryToWakeUp { tid, name, .. } => self.wake_published(origin, tid, name),
            EventKind::PacketSent(Socket::Buffer(_)) | EventKind::PacketReceived(Socket::Buffer(_)) => {}
            EventKind::PacketSent(socket) => {
                if let Some(sender) = self.sender_published(origin) {
                    self.send_from(sender, origin, socket);
                }
            }
            EventKind::PacketReceived(socket) => self.receive(origin, socket),
            EventKind::Fork { child, child_name, .. } => {
                let child = self.named_thread(origin, child, child_name);
                self.thread_mut(child).set(SchedStatus::WaitFork);
            }
            EventKind::Statedump { tid, name, status, .. } => {
                let thread = self.named_thread(origin, tid, name);
                self.thread_mut(thread).set(match status.into() {
                    // The next event with this tid belongs to the same thread.
                    SchedStatus::Dead => SchedStatus::Zombie,
                    status => status,
                });
            }
            _ if self.handle_context(origin, &event.kind) => {}
            _ => self.handle_lifetime(origin, &event.kind),
        }
        self.cpu_mut(origin.cpu).last_record = origin.time;
    }

    fn sender_published(&self, origin: EventOrigin) -> Option<ThreadId> {
        let cpu = self.cpu(origin.cpu);
        match cpu.innermost() {
            Some(InterruptContext::Softirq { vector: 2 | 3 }) => Some(cpu.interrupts),
            Some(_) => None,
            None => cpu.current,
        }
    }

    /// As [`StateTracker::finish`], by the published rules: the graph does not separate the idle tasks of CPUs.
    pub(super) fn finish_published(mut self, losses: &mut Losses) -> ExecutionGraph {
        self.name_workers();
        self.losses.report(losses);
        let mut graph = self.graph.finish();
        graph.idle.clear();
        graph
    }
}
