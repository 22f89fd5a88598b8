//! Gaps in the chains of threads where events were lost.

use super::context::LossInterval;
use super::thread::{SchedStatus, ThreadId};
use super::tracker::{EventOrigin, StateTracker};

impl StateTracker {
    /// Records that events of a CPU were lost before this instant. Threads last seen there get a gap at their next
    /// event.
    pub(super) fn record_loss(&mut self, origin: EventOrigin) {
        let current = self.current(origin.cpu);
        let cpu = self.cpu_mut(origin.cpu);
        let before = if cpu.last_record.ns() == 0 { origin.time } else { cpu.last_record };
        cpu.losses.push(LossInterval { after: before, until: origin.time });
        cpu.clear_contexts();
        cpu.current = None;
        cpu.last_record = origin.time;
        self.hosts[origin.host as usize].last_loss = Some(origin.time);
        if let Some(current) = current {
            self.thread_mut(current).runs_on = None;
        }
    }

    /// Adds a gap to a thread's chain if events were lost on the CPU it was last seen on. Its state up to that CPU's
    /// last record is retained; a wait becomes unknown.
    pub(super) fn cut_at_losses(&mut self, thread: ThreadId) {
        let seen = *self.thread(thread);
        let Some(cpu) = seen.seen_on else { return };
        let losses = self.cpu(cpu).losses.get(seen.losses_seen as usize..).unwrap_or_default();
        let (Some(first), Some(last)) = (losses.first().copied(), losses.last().copied()) else { return };
        if matches!(seen.status, SchedStatus::Running | SchedStatus::Exit | SchedStatus::WaitCpu) {
            self.append_at(thread, first.after, cpu, Some(seen.status.edge()));
        }
        self.append_at(thread, last.until, cpu, None);
        self.set_last_cpu(thread, cpu);
        let cut = self.thread_mut(thread);
        cut.set(SchedStatus::Unknown);
        cut.set(SchedStatus::Unknown);
        cut.woken_early = None;
        cut.is_assumed_woken = false;
    }
}
