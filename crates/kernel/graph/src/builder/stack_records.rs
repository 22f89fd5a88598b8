//! Call stacks that follow switches and wake-ups.

use super::thread::StackOwner;
use super::tracker::{EventOrigin, StateTracker};
use laggard_model::{EventKind, TextId, Tid};

impl StateTracker {
    /// Applies a stack to the record before it on this CPU; of any other event, notes whose stack may follow.
    pub(super) fn handle_stack(&mut self, origin: EventOrigin, kind: &EventKind) {
        let owner = self.cpu_mut(origin.cpu).stack_owner.take();
        let next = match *kind {
            EventKind::Stack { frames } => return self.add_stack(owner, frames),
            EventKind::Switch { prev, prev_state, .. } if !prev_state.is_runnable() && prev != Tid::IDLE => {
                self.find_thread(origin, prev).map(|thread| StackOwner::Waits(thread, origin.time))
            }
            EventKind::Waking { tid, .. }
            | EventKind::Wakeup { tid, .. }
            | EventKind::TryToWakeUp { tid, .. } => self.find_thread(origin, tid).map(StackOwner::IsWoken),
            _ => None,
        };
        self.cpu_mut(origin.cpu).stack_owner = next;
    }

    fn add_stack(&mut self, owner: Option<StackOwner>, frames: TextId) {
        let Some(StackOwner::Waits(thread, _) | StackOwner::IsWoken(thread)) = owner else { return };
        let Some(worker) = self.thread(thread).worker else { return };
        match owner {
            Some(StackOwner::Waits(_, from)) => self.graph.stacks.push(worker, from, frames),
            _ => self.graph.stacks.wake(worker, frames),
        }
    }
}
