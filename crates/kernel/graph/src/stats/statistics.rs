//! Computes a summary of a trace from its events.

use super::cpus::{CpuTimes, CpuUsage};
use super::kinds::{KINDS, KindCount, index_of};
use super::threads::{AllThreadTimes, SwitchEvidence, ThreadUsage};
use crate::executions::{DelimiterProposal, DelimiterSurvey};
use crate::path::Window;
use laggard_model::{Cpu, EventKind, KernelEvent, KernelTexts, KernelTime, Tid};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum time between an unrecorded switch and the record that reveals it (10 ms: a busy CPU records timer ticks).
const IMPLIED_BACK_NS_MAX: u64 = 10_000_000;

/// Collects the statistics of a trace, event by event. Memory: proportional to its threads and CPUs.
#[derive(Debug)]
pub struct TraceStatistics {
    window: Option<Window>,
    kinds: [u64; KINDS.len()],
    cpus: BTreeMap<Cpu, CpuTimes>,
    threads: AllThreadTimes,
    survey: DelimiterSurvey,
}

/// Statistics of a trace.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceSummary {
    /// From the first to the last event; `None` when there is none.
    pub window: Option<Window>,
    /// Events, losses excepted.
    pub events: u64,
    /// Number of events of each kind that occurs, in a fixed order.
    pub kinds: Vec<KindCount>,
    /// Use of each CPU, by number.
    pub cpus: Vec<CpuUsage>,
    /// Number of threads.
    pub threads: u64,
    /// Threads with the most time on CPUs, in descending order.
    pub most_running: Vec<ThreadUsage>,
    /// Threads with the most time runnable without a CPU, in descending order.
    pub most_preempted: Vec<ThreadUsage>,
    /// Threads with the most time between wake-ups and switches in, in descending order.
    pub most_delayed: Vec<ThreadUsage>,
    /// Number of threads for which such a delay is known.
    pub delayed: u64,
    /// Delimiters that would find executions.
    pub proposals: Vec<DelimiterProposal>,
}

impl TraceSummary {
    /// Number of events of a kind, by the kind's name.
    pub fn count(&self, name: &str) -> u64 {
        self.kinds.iter().find(|kind| kind.name == name).map_or(0, |kind| kind.count)
    }
}

impl Default for TraceStatistics {
    fn default() -> TraceStatistics {
        TraceStatistics {
            window: None,
            kinds: [0; KINDS.len()],
            cpus: BTreeMap::new(),
            threads: AllThreadTimes::default(),
            survey: DelimiterSurvey::default(),
        }
    }
}

impl TraceStatistics {
    /// Adds the next event.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        let window = self.window.get_or_insert(Window { from: event.time, to: event.time });
        window.to = window.to.max(event.time);
        let begin = window.from;
        self.kinds[index_of(&event.kind)] += 1;
        self.survey.push(event, texts);
        let cpu = self.cpus.entry(event.cpu).or_insert_with(|| CpuTimes::new(event.cpu, begin));
        if let EventKind::Lost { count } = event.kind {
            record_loss(cpu, &mut self.threads, event.time, count);
            return;
        }
        cpu.use_so_far.events += 1;
        imply_switch(cpu, &mut self.threads, event);
        match event.kind {
            EventKind::Switch { prev, prev_name, prev_state, next, next_name } => {
                self.threads.set_name(prev, prev_name);
                self.threads.set_name(next, next_name);
                cpu.use_so_far.switches += 1;
                switch(cpu, &mut self.threads, event.time, next, SwitchEvidence::Recorded);
                self.threads.switched_out(prev, event.time, prev_state.is_runnable());
                if prev_state.is_dead() {
                    self.threads.end(prev);
                }
            }
            EventKind::Waking { tid, name, .. }
            | EventKind::WakeupNew { tid, name, .. }
            | EventKind::TryToWakeUp { tid, name, .. }
            | EventKind::Wakeup { tid, name, .. } => {
                self.threads.set_name(tid, name);
                self.threads.woken(tid, event.time);
            }
            EventKind::Rename { tid, name }
            | EventKind::Fork { child: tid, child_name: name, .. }
            | EventKind::Statedump { tid, name, .. } => self.threads.set_name(tid, name),
            _ => {}
        }
        cpu.last = cpu.last.max(event.time);
    }

    /// The summary, with the `top` threads of each ranking.
    pub fn finish(mut self, texts: &KernelTexts, top: usize) -> TraceSummary {
        let end = self.window.map_or(KernelTime::default(), |window| window.to);
        for cpu in self.cpus.values_mut() {
            if let Some(time) = cpu.advance(end) {
                self.threads.add_running(time.tid, time.ns);
            }
        }
        let kinds = KINDS.iter().zip(self.kinds).map(|(&name, count)| KindCount { name, count });
        let kinds: Vec<KindCount> = kinds.filter(|kind| kind.count > 0).collect();
        let threads = self.threads.finish(end, texts);
        TraceSummary {
            window: self.window,
            events: self.cpus.values().map(|cpu| cpu.use_so_far.events).sum(),
            kinds,
            cpus: self.cpus.into_values().map(|cpu| cpu.use_so_far).collect(),
            threads: threads.len() as u64,
            most_running: top_threads(&threads, top, |thread| thread.running_ns),
            most_preempted: top_threads(&threads, top, |thread| thread.preempted_ns),
            most_delayed: top_threads(&threads, top, |thread| {
                thread.delays.map_or(0, |delays| delays.total_ns)
            }),
            delayed: threads
                .iter()
                .filter(|thread| thread.delays.is_some_and(|delays| delays.total_ns > 0))
                .count() as u64,
            proposals: self.survey.finish(texts),
        }
    }
}

/// The threads with the most time, in descending order, then by tid; those without any are omitted.
fn top_threads(threads: &[ThreadUsage], top: usize, time: impl Fn(&ThreadUsage) -> u64) -> Vec<ThreadUsage> {
    let mut ranked: Vec<&ThreadUsage> = threads.iter().filter(|thread| time(thread) > 0).collect();
    ranked.sort_by_key(|thread| (Reverse(time(thread)), thread.tid));
    ranked.into_iter().take(top).cloned().collect()
}

/// Handles lost events: the CPU's state is unknown until its next event.
fn record_loss(cpu: &mut CpuTimes, threads: &mut AllThreadTimes, time: KernelTime, count: Option<u64>) {
    cpu.use_so_far.losses += 1;
    cpu.use_so_far.lost_events += count.unwrap_or(0);
    threads.lost(time);
    // The CPU's thread is known up to its last event, not after it.
    let last = cpu.last;
    if let Some(add_running) = cpu.advance(last) {
        threads.add_running(add_running.tid, add_running.ns);
        threads.set_unknown(add_running.tid);
    }
    cpu.running = None;
    cpu.advance(time);
    cpu.last = cpu.last.max(time);
}

fn switch(
    cpu: &mut CpuTimes,
    threads: &mut AllThreadTimes,
    time: KernelTime,
    next: Tid,
    evidence: SwitchEvidence,
) {
    if let Some(add_running) = cpu.advance(time) {
        threads.add_running(add_running.tid, add_running.ns);
    }
    cpu.running = Some(next);
    threads.switched_in(next, time, evidence);
}

/// Some kernels omit switches: a record by a thread other than the expected one implies a switch.
fn imply_switch(cpu: &mut CpuTimes, threads: &mut AllThreadTimes, event: &KernelEvent) {
    let writer = match event.kind {
        EventKind::Switch { prev, .. } => Some(prev),
        _ => event.recorded,
    };
    let Some(writer) = writer else { return };
    let Some(expected) = cpu.running else {
        cpu.advance(event.time);
        cpu.running = Some(writer);
        return;
    };
    if writer == expected {
        return;
    }
    cpu.use_so_far.implied_switches += 1;
    let time = implied_time(cpu, threads, event, expected, writer);
    if expected != Tid::IDLE {
        threads.set_unknown(expected);
    }
    switch(cpu, threads, time, writer, SwitchEvidence::Implied);
}

/// When the CPU was idle and the thread had been woken: the later of that and the CPU's last event, unless that
/// is long ago; otherwise now.
fn implied_time(
    cpu: &CpuTimes,
    threads: &AllThreadTimes,
    event: &KernelEvent,
    expected: Tid,
    writer: Tid,
) -> KernelTime {
    let woken = threads.runnable_since(writer).filter(|_| expected == Tid::IDLE);
    let back = woken.map(|woken| woken.max(cpu.last).min(event.time));
    back.filter(|back| event.time.since(*back) <= IMPLIED_BACK_NS_MAX).unwrap_or(event.time)
}
