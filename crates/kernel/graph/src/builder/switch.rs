//! Who runs where: recorded switches, and those the records imply.

use super::follow::{Follower, Place};
use super::thread::{CpuId, Status, ThreadId};
use crate::path::PieceState;
use laggard_model::{KernelEvent, KernelTime, PrevState};

/// Linux before 4.14 reports a thread that has ended with this bit; later kernels mean "parked" by it.
const ENDED_OR_PARKED: u32 = 0x40;

impl Follower {
    /// A recorded switch.
    pub(super) fn switch(&mut self, at: Place, prev: ThreadId, prev_state: PrevState, next: ThreadId) {
        if self.is_modern() {
            self.switch_modern(at, prev, prev_state, next);
            return;
        }
        let left = if prev_state.0 & 3 == 0 { Status::WaitCpu } else { Status::Blocked };
        self.thread_mut(next).set(Status::Running);
        self.thread_mut(prev).set(left);
        for thread in [prev, next] {
            let state = self.thread(thread).previous.edge();
            self.append(thread, at, Some(state));
        }
        self.cpu_mut(at.cpu).current = Some(next);
    }

    fn switch_modern(&mut self, at: Place, prev: ThreadId, prev_state: PrevState, next: ThreadId) {
        if prev == next {
            return;
        }
        if self.cpu_mut(at.cpu).drop_hard() {
            self.tally.unbalanced.add(at.time);
        }
        let status = self.status_after(prev, prev_state, at.time);
        self.leave(prev, at, status);
        self.enter(next, at);
    }

    /// What a thread is that leaves its CPU in this state.
    fn status_after(&mut self, prev: ThreadId, state: PrevState, now: KernelTime) -> Status {
        let lead_ns_max = self.settings.early_waking_ns_max;
        let thread = self.thread_mut(prev);
        thread.is_assumed_woken = false;
        let has_ended = state.is_dead() || (thread.is_exiting && state.0 & ENDED_OR_PARKED != 0);
        if has_ended && !thread.is_idle() {
            return Status::Dead;
        }
        if state.is_runnable() {
            return Status::WaitCpu;
        }
        let early = thread.woken_early.filter(|&woken| now.since(woken) <= lead_ns_max);
        if early.is_none() {
            return Status::Blocked;
        }
        thread.is_assumed_woken = true;
        thread.woken = now;
        Status::WaitCpu
    }

    /// A thread leaves its CPU.
    fn leave(&mut self, thread: ThreadId, at: Place, status: Status) {
        self.see_on(thread, at.cpu);
        let leaving = self.thread_mut(thread);
        leaving.set(status);
        leaving.runs_on = None;
        leaving.woken_early = None;
        let state = leaving.previous.edge();
        self.append(thread, at, Some(state));
        self.cpu_mut(at.cpu).current = None;
    }

    /// A thread gets a CPU.
    fn enter(&mut self, thread: ThreadId, at: Place) {
        self.cut_at_losses(thread);
        self.leave_unseen(thread, at);
        let entering = self.thread_mut(thread);
        entering.set(Status::Running);
        entering.runs_on = Some(at.cpu);
        entering.woken_early = None;
        entering.is_assumed_woken = false;
        let state = self.state_on_entry(thread, at);
        self.append(thread, at, state);
        self.see_on(thread, at.cpu);
        self.cpu_mut(at.cpu).current = Some(thread);
    }

    /// The state that ends when a thread gets a CPU. A wait that nobody was seen to end may have been ended in what
    /// was lost.
    fn state_on_entry(&mut self, thread: ThreadId, at: Place) -> Option<PieceState> {
        let entering = *self.thread(thread);
        if entering.previous != Status::Blocked || entering.is_idle() {
            return Some(entering.previous.edge());
        }
        self.tally.unknown_waker.add(at.time);
        let since = entering.worker.and_then(|worker| self.sketch.last(worker)).map(|vertex| vertex.time);
        let lost = self.hosts[at.host as usize].last_loss;
        let contains_loss = since.is_some_and(|since| lost.is_some_and(|lost| lost > since));
        Some(if contains_loss { PieceState::Unknown } else { PieceState::Blocked })
    }

    /// A thread that gets a CPU while another is believed to run it has left that one unseen, after its last record.
    fn leave_unseen(&mut self, thread: ThreadId, at: Place) {
        let Some(cpu) = self.thread(thread).runs_on else { return };
        self.tally.implied.add(at.time);
        let last_record = self.cpu(cpu).last_record;
        let point = self.append_at(thread, last_record, cpu, Some(PieceState::Running));
        self.sketch.vertex_mut(point).set_implied();
        self.thread_mut(thread).set(Status::Unknown);
        self.thread_mut(thread).runs_on = None;
        self.cpu_mut(cpu).current = None;
    }

    /// Compares the thread that wrote the record with the one believed to run. When they differ, a switch was not
    /// recorded.
    pub(super) fn compare_current(&mut self, at: Place, event: &KernelEvent) {
        let Some(tid) = Follower::writer_of(event) else { return };
        let current = self.cpu(at.cpu).current;
        if current.is_some() && current == self.find_thread(at, tid) {
            return;
        }
        let thread = self.thread_of(at, tid);
        let Some(current) = current else {
            self.enter(thread, at);
            return;
        };
        self.tally.implied.add(at.time);
        let time = self.implied_time(at, current, thread);
        let then = Place { time, ..at };
        let status = if self.thread(current).is_idle() { Status::WaitCpu } else { Status::WaitUnknown };
        self.leave(current, then, status);
        self.enter(thread, then);
        for moved in [current, thread] {
            self.mark_implied(moved);
        }
    }

    fn mark_implied(&mut self, thread: ThreadId) {
        let Some(worker) = self.thread(thread).worker else { return };
        if let Some(vertex) = self.sketch.last_mut(worker) {
            vertex.set_implied();
        }
    }

    /// When a switch that was not recorded happened: a thread woken for an idle CPU ran at once, or else the CPU's
    /// tick would have shown.
    fn implied_time(&self, at: Place, current: ThreadId, next: ThreadId) -> KernelTime {
        let woken = self.thread(next);
        if !self.thread(current).is_idle() || woken.status != Status::WaitCpu {
            return at.time;
        }
        let time = woken.woken.max(self.cpu(at.cpu).last_record).min(at.time);
        let is_far = at.time.since(time) > self.settings.implied_back_ns_max;
        if is_far { at.time } else { time }
    }

    /// Notes where a thread was seen last.
    pub(super) fn see_on(&mut self, thread: ThreadId, cpu: CpuId) {
        let losses = self.cpu(cpu).losses.len();
        let seen = self.thread_mut(thread);
        seen.seen_on = Some(cpu);
        seen.losses_seen = u32::try_from(losses).unwrap_or(u32::MAX);
    }
}
