//! Context switches: recorded ones, and those implied by other records.

use super::thread::{CpuId, SchedStatus, ThreadId};
use super::tracker::{EventOrigin, StateTracker};
use crate::path::WorkerState;
use laggard_model::{KernelEvent, KernelTime, PrevState};

/// Linux before 4.14 reports an exited thread with this bit; in later kernels it means "parked".
const ENDED_OR_PARKED: u32 = 0x40;

impl StateTracker {
    /// A recorded switch.
    pub(super) fn switch(
        &mut self,
        origin: EventOrigin,
        prev: ThreadId,
        prev_state: PrevState,
        next: ThreadId,
    ) {
        if prev == next {
            return;
        }
        if self.cpu_mut(origin.cpu).drop_hard_interrupts() {
            self.losses.unbalanced.add(origin.time);
        }
        let status = self.status_after(prev, prev_state, origin.time);
        self.switch_out(prev, origin, status);
        self.switch_in(next, origin);
    }

    /// The status of a thread after it is switched out in this state.
    fn status_after(&mut self, prev: ThreadId, state: PrevState, now: KernelTime) -> SchedStatus {
        let lead_ns_max = self.settings.early_waking_ns_max;
        let thread = self.thread_mut(prev);
        thread.is_assumed_woken = false;
        let has_ended = state.is_dead() || (thread.is_exiting && state.0 & ENDED_OR_PARKED != 0);
        if has_ended && !thread.is_idle() {
            return SchedStatus::Dead;
        }
        if state.is_runnable() {
            return SchedStatus::WaitCpu;
        }
        let early = thread.woken_early.filter(|&woken| now.since(woken) <= lead_ns_max);
        if early.is_none() {
            return SchedStatus::Blocked;
        }
        thread.is_assumed_woken = true;
        thread.woken = now;
        SchedStatus::WaitCpu
    }

    /// Switches a thread out of its CPU.
    fn switch_out(&mut self, thread: ThreadId, origin: EventOrigin, status: SchedStatus) {
        self.set_last_cpu(thread, origin.cpu);
        let leaving = self.thread_mut(thread);
        leaving.set(status);
        leaving.runs_on = None;
        leaving.woken_early = None;
        let state = leaving.previous.edge();
        self.append(thread, origin, Some(state));
        self.cpu_mut(origin.cpu).current = None;
    }

    /// Switches a thread in.
    fn switch_in(&mut self, thread: ThreadId, origin: EventOrigin) {
        self.cut_at_losses(thread);
        self.switch_out_unseen(thread, origin);
        let entering = self.thread_mut(thread);
        entering.set(SchedStatus::Running);
        entering.runs_on = Some(origin.cpu);
        entering.woken_early = None;
        entering.is_assumed_woken = false;
        let state = self.state_on_entry(thread, origin);
        self.append(thread, origin, state);
        self.set_last_cpu(thread, origin.cpu);
        self.cpu_mut(origin.cpu).current = Some(thread);
    }

    /// The state that ends when a thread is switched in. If no wake-up was recorded for a wait and events were lost,
    /// the state is unknown.
    fn state_on_entry(&mut self, thread: ThreadId, origin: EventOrigin) -> Option<WorkerState> {
        let entering = *self.thread(thread);
        if entering.previous != SchedStatus::Blocked || entering.is_idle() {
            return Some(entering.previous.edge());
        }
        self.losses.unknown_waker.add(origin.time);
        let since = entering.worker.and_then(|worker| self.graph.last(worker)).map(|vertex| vertex.time);
        let lost = self.hosts[origin.host as usize].last_loss;
        let contains_loss = since.is_some_and(|since| lost.is_some_and(|lost| lost > since));
        Some(if contains_loss { WorkerState::Unknown } else { WorkerState::Blocked })
    }

    /// If the thread was believed to run on another CPU, that CPU's switch was not recorded: switches it out there, at
    /// that CPU's last record.
    fn switch_out_unseen(&mut self, thread: ThreadId, origin: EventOrigin) {
        let Some(cpu) = self.thread(thread).runs_on else { return };
        self.losses.implied.add(origin.time);
        let last_record = self.cpu(cpu).last_record;
        let point = self.append_at(thread, last_record, cpu, Some(WorkerState::Running));
        self.graph.vertex_mut(point).set_implied();
        self.thread_mut(thread).set(SchedStatus::Unknown);
        self.thread_mut(thread).runs_on = None;
        self.cpu_mut(cpu).current = None;
    }

    /// Compares the thread that wrote the record with the one believed to be running. If they differ, a switch was not
    /// recorded.
    pub(super) fn compare_current(&mut self, origin: EventOrigin, event: &KernelEvent) {
        let Some(tid) = StateTracker::writer_of(event) else { return };
        let current = self.cpu(origin.cpu).current;
        if current.is_some() && current == self.find_thread(origin, tid) {
            return;
        }
        let thread = self.thread_of(origin, tid);
        let Some(current) = current else {
            self.switch_in(thread, origin);
            return;
        };
        self.losses.implied.add(origin.time);
        let time = self.implied_time(origin, current, thread);
        let then = EventOrigin { time, ..origin };
        let status =
            if self.thread(current).is_idle() { SchedStatus::WaitCpu } else { SchedStatus::WaitUnknown };
        self.switch_out(current, then, status);
        self.switch_in(thread, then);
        for moved in [current, thread] {
            self.mark_implied(moved);
        }
    }

    fn mark_implied(&mut self, thread: ThreadId) {
        let Some(worker) = self.thread(thread).worker else { return };
        if let Some(vertex) = self.graph.last_mut(worker) {
            vertex.set_implied();
        }
    }

    /// The estimated time of an unrecorded switch: a thread woken for an idle CPU ran at once, since otherwise the
    /// CPU's timer tick would have been recorded.
    fn implied_time(&self, origin: EventOrigin, current: ThreadId, next: ThreadId) -> KernelTime {
        let woken = self.thread(next);
        if !self.thread(current).is_idle() || woken.status != SchedStatus::WaitCpu {
            return origin.time;
        }
        let time = woken.woken.max(self.cpu(origin.cpu).last_record).min(origin.time);
        let is_far = origin.time.since(time) > self.settings.implied_back_ns_max;
        if is_far { origin.time } else { time }
    }

    /// Records the CPU a thread was last seen on.
    pub(super) fn set_last_cpu(&mut self, thread: ThreadId, cpu: CpuId) {
        let losses = self.cpu(cpu).losses.len();
        let seen = self.thread_mut(thread);
        seen.seen_on = Some(cpu);
        seen.losses_seen = u32::try_from(losses).unwrap_or(u32::MAX);
    }
}
