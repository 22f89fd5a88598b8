//! Events to a summary.

use super::cpus::{CpuClock, CpuUse};
use super::kinds::{KINDS, KindCount, index_of};
use super::threads::{ThreadClocks, ThreadUse};
use crate::executions::{DelimiterSurvey, Proposal};
use crate::path::Window;
use laggard_model::{Cpu, EventKind, KernelEvent, KernelTexts, KernelTime, Tid};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A switch that was not recorded lies at most this long before the record that shows it (10 ms: a running CPU
/// shows its tick).
const IMPLIED_BACK_NS_MAX: u64 = 10_000_000;

/// Collects what a trace holds, event by event, in memory of its threads and CPUs.
#[derive(Debug)]
pub struct TraceStatistics {
    window: Option<Window>,
    kinds: [u64; KINDS.len()],
    cpus: BTreeMap<Cpu, CpuClock>,
    threads: ThreadClocks,
    survey: DelimiterSurvey,
}

/// What a trace holds.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceSummary {
    /// From the first to the last event; `None` when there is none.
    pub window: Option<Window>,
    /// Events, losses excepted.
    pub events: u64,
    /// How many of each kind, those that occur, in a fixed order.
    pub kinds: Vec<KindCount>,
    /// What each CPU did, by number.
    pub cpus: Vec<CpuUse>,
    /// How many threads there are.
    pub threads: u64,
    /// Threads with the most time on CPUs, most first.
    pub most_running: Vec<ThreadUse>,
    /// Threads with the most time without a CPU although they could have run, most first.
    pub most_preempted: Vec<ThreadUse>,
    /// Delimiters that would find executions.
    pub proposals: Vec<Proposal>,
}

impl TraceSummary {
    /// How many events of a kind there are, by the kind's name.
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
            threads: ThreadClocks::default(),
            survey: DelimiterSurvey::default(),
        }
    }
}

impl TraceStatistics {
    /// Takes the next event.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        let window = self.window.get_or_insert(Window { from: event.time, to: event.time });
        window.to = window.to.max(event.time);
        let begin = window.from;
        self.kinds[index_of(&event.kind)] += 1;
        self.survey.push(event, texts);
        let cpu = self.cpus.entry(event.cpu).or_insert_with(|| CpuClock::new(event.cpu, begin));
        if let EventKind::Lost { count } = event.kind {
            lost(cpu, &mut self.threads, event.time, count);
            return;
        }
        cpu.use_so_far.events += 1;
        correct(cpu, &mut self.threads, event);
        match event.kind {
            EventKind::Switch { prev, prev_name, prev_state, next, next_name } => {
                self.threads.named(prev, prev_name);
                self.threads.named(next, next_name);
                cpu.use_so_far.switches += 1;
                switch(cpu, &mut self.threads, event.time, next);
                self.threads.switched_out(prev, event.time, prev_state.is_runnable());
                if prev_state.is_dead() {
                    self.threads.end(prev);
                }
            }
            EventKind::Waking { tid, name, .. }
            | EventKind::WakeupNew { tid, name, .. }
            | EventKind::TryToWakeUp { tid, name, .. }
            | EventKind::Wakeup { tid, name, .. } => {
                self.threads.named(tid, name);
                self.threads.woken(tid, event.time);
            }
            EventKind::Rename { tid, name }
            | EventKind::Fork { child: tid, child_name: name, .. }
            | EventKind::Statedump { tid, name, .. } => self.threads.named(tid, name),
            _ => {}
        }
        cpu.last = cpu.last.max(event.time);
    }

    /// The summary, with the `top` threads of each ranking.
    pub fn finish(mut self, texts: &KernelTexts, top: usize) -> TraceSummary {
        let end = self.window.map_or(KernelTime::default(), |window| window.to);
        for cpu in self.cpus.values_mut() {
            if let Some(time) = cpu.advance(end) {
                self.threads.ran(time.tid, time.ns);
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
            most_running: most(&threads, top, |thread| thread.running_ns),
            most_preempted: most(&threads, top, |thread| thread.preempted_ns),
            proposals: self.survey.finish(texts),
        }
    }
}

/// Threads by a time, most first; those with none are left out. Equal ones by number.
fn most(threads: &[ThreadUse], top: usize, time: impl Fn(&ThreadUse) -> u64) -> Vec<ThreadUse> {
    let mut ranked: Vec<&ThreadUse> = threads.iter().filter(|thread| time(thread) > 0).collect();
    ranked.sort_by_key(|thread| (Reverse(time(thread)), thread.tid));
    ranked.into_iter().take(top).cloned().collect()
}

/// What the CPU did up to now and until its next event is not known.
fn lost(cpu: &mut CpuClock, threads: &mut ThreadClocks, time: KernelTime, count: Option<u64>) {
    cpu.use_so_far.losses += 1;
    cpu.use_so_far.lost_events += count.unwrap_or(0);
    // Up to its last event the CPU's thread is known; behind it anything may have run.
    let last = cpu.last;
    if let Some(ran) = cpu.advance(last) {
        threads.ran(ran.tid, ran.ns);
        threads.forget(ran.tid);
    }
    cpu.running = None;
    cpu.advance(time);
    cpu.last = cpu.last.max(time);
}

fn switch(cpu: &mut CpuClock, threads: &mut ThreadClocks, time: KernelTime, next: Tid) {
    if let Some(ran) = cpu.advance(time) {
        threads.ran(ran.tid, ran.ns);
    }
    cpu.running = Some(next);
    threads.switched_in(next, time);
}

/// Some kernels leave out switches: a record by another thread than the one believed to run shows it.
fn correct(cpu: &mut CpuClock, threads: &mut ThreadClocks, event: &KernelEvent) {
    let writer = match event.kind {
        EventKind::Switch { prev, .. } => Some(prev),
        _ => event.recorded,
    };
    let Some(writer) = writer else { return };
    let Some(believed) = cpu.running else {
        cpu.advance(event.time);
        cpu.running = Some(writer);
        return;
    };
    if writer == believed {
        return;
    }
    cpu.use_so_far.implied_switches += 1;
    let time = implied_time(cpu, threads, event, believed, writer);
    if believed != Tid::IDLE {
        threads.forget(believed);
    }
    switch(cpu, threads, time, writer);
}

/// When the CPU was idle and the thread had been woken: the later of that and the CPU's last event, unless that
/// is long ago; otherwise now.
fn implied_time(
    cpu: &CpuClock,
    threads: &ThreadClocks,
    event: &KernelEvent,
    believed: Tid,
    writer: Tid,
) -> KernelTime {
    let woken = threads.runnable_since(writer).filter(|_| believed == Tid::IDLE);
    let back = woken.map(|woken| woken.max(cpu.last).min(event.time));
    back.filter(|back| event.time.since(*back) <= IMPLIED_BACK_NS_MAX).unwrap_or(event.time)
}
