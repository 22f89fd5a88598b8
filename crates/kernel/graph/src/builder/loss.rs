//! Cuts where events were lost.

use super::context::LostStretch;
use super::follow::{Follower, Place};
use super::thread::{Status, ThreadId};

impl Follower {
    /// Events of a CPU were lost before this instant. Threads seen there last are cut when they are met again.
    pub(super) fn lose(&mut self, at: Place) {
        let current = self.current(at.cpu);
        let cpu = self.cpu_mut(at.cpu);
        let before = if cpu.last_record.ns() == 0 { at.time } else { cpu.last_record };
        cpu.losses.push(LostStretch { before, at: at.time });
        cpu.clear_contexts();
        cpu.current = None;
        cpu.last_record = at.time;
        self.hosts[at.host as usize].last_loss = Some(at.time);
        if let Some(current) = current {
            self.thread_mut(current).runs_on = None;
        }
    }

    /// When events of the CPU a thread was last seen on were lost since, its chain gets a gap: what it did up to the
    /// CPU's last record stays, a wait is not known any more.
    pub(super) fn cut_at_losses(&mut self, thread: ThreadId) {
        let seen = *self.thread(thread);
        let Some(cpu) = seen.seen_on else { return };
        let losses = self.cpu(cpu).losses.get(seen.losses_seen as usize..).unwrap_or_default();
        let (Some(first), Some(last)) = (losses.first().copied(), losses.last().copied()) else { return };
        if matches!(seen.status, Status::Running | Status::Exit | Status::WaitCpu) {
            self.append_at(thread, first.before, cpu, Some(seen.status.edge()));
        }
        self.append_at(thread, last.at, cpu, None);
        self.see_on(thread, cpu);
        let cut = self.thread_mut(thread);
        cut.set(Status::Unknown);
        cut.set(Status::Unknown);
        cut.woken_early = None;
        cut.is_assumed_woken = false;
    }
}
