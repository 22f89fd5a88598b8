//! Call stacks in the kernel: where a thread waited, and where it was woken from.

use crate::worker::WorkerId;
use laggard_model::{KernelTime, TextId};

/// The stacks of one wait, as texts of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordedStacks {
    /// When the thread was switched out.
    pub(crate) from: KernelTime,
    pub(crate) waiting: TextId,
    /// Empty if the wake-up has no stack.
    pub(crate) waking: TextId,
}

/// The stacks of every worker's waits, in time order. Needs 16 bytes per wait.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    by_worker: Vec<Vec<RecordedStacks>>,
    pub(crate) count: usize,
}

impl Stacks {
    /// Adds the stack of a thread that is switched out.
    pub(crate) fn push(&mut self, worker: WorkerId, from: KernelTime, waiting: TextId) {
        let index = worker.0 as usize;
        if self.by_worker.len() <= index {
            self.by_worker.resize_with(index + 1, Vec::new);
        }
        self.by_worker[index].push(RecordedStacks { from, waiting, waking: TextId::EMPTY });
        self.count += 1;
    }

    /// Adds the stack of whoever ends a worker's last wait.
    pub(crate) fn wake(&mut self, worker: WorkerId, waking: TextId) {
        let last = self.by_worker.get_mut(worker.0 as usize).and_then(|stacks| stacks.last_mut());
        if let Some(last) = last.filter(|last| last.waking == TextId::EMPTY) {
            last.waking = waking;
        }
    }

    /// The stacks of a worker's last wait that began until then.
    pub(crate) fn before(&self, worker: WorkerId, time: KernelTime) -> Option<&RecordedStacks> {
        let stacks = self.by_worker.get(worker.0 as usize)?;
        let begun = stacks.partition_point(|stacks| stacks.from <= time);
        stacks.get(begun.checked_sub(1)?)
    }
}

/// Call stacks of a wait: functions of the kernel separated by blanks, the innermost first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WaitStacks<'g> {
    /// Where the thread waited.
    pub waiting: &'g str,
    /// Where it was woken from; empty if that was not recorded.
    pub waking: &'g str,
}
