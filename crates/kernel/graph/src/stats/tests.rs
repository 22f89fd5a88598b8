//! Statistics of hand-written events.

use super::*;
use laggard_model::{Cpu, EventKind, KernelEvent, KernelTexts, KernelTime, PrevState, TextId, Tid};

struct Trace {
    statistics: TraceStatistics,
    texts: KernelTexts,
}

impl Trace {
    fn new() -> Trace {
        Trace { statistics: TraceStatistics::default(), texts: KernelTexts::default() }
    }

    fn push(&mut self, time: u64, cpu: u16, recorded: Option<u32>, kind: EventKind) {
        let recorded = recorded.map(Tid);
        let event =
            KernelEvent { time: KernelTime::from_ns(time), cpu: Cpu(cpu), flags: None, recorded, kind };
        self.statistics.push(&event, &self.texts);
    }

    fn switch(&mut self, time: u64, cpu: u16, prev: u32, prev_state: PrevState, next: u32) {
        let next_name = self.texts.intern(&format!("thread-{next}"));
        let (prev, next) = (Tid(prev), Tid(next));
        let kind = EventKind::Switch { prev, prev_name: TextId::EMPTY, prev_state, next, next_name };
        self.push(time, cpu, Some(prev.0), kind);
    }

    fn waking(&mut self, time: u64, cpu: u16, by: u32, tid: u32) {
        let kind = EventKind::Waking { tid: Tid(tid), name: TextId::EMPTY, target: None };
        self.push(time, cpu, Some(by), kind);
    }

    fn summary(self) -> TraceSummary {
        let texts = self.texts.clone();
        self.statistics.finish(&texts, 10)
    }
}

#[test]
fn time_of_cpus_and_threads() {
    let mut trace = Trace::new();
    trace.switch(100, 0, 0, PrevState::RUNNABLE, 7);
    trace.switch(150, 0, 7, PrevState::SLEEPING, 8);
    trace.waking(160, 0, 8, 7);
    trace.switch(200, 0, 8, PrevState::RUNNABLE, 7);
    trace.switch(260, 0, 7, PrevState::SLEEPING, 0);
    trace.switch(300, 0, 0, PrevState::RUNNABLE, 8);
    let summary = trace.summary();
    assert_eq!(summary.window.map(|window| window.ns()), Some(200));
    assert_eq!((summary.events, summary.count("sched_switch"), summary.count("sched_waking")), (6, 5, 1));
    let cpu = &summary.cpus[0];
    assert_eq!((cpu.busy_ns, cpu.idle_ns, cpu.unknown_ns, cpu.switches), (160, 40, 0, 5));
    assert_eq!(cpu.utilization(), Some(0.8));
    let first = &summary.most_running[0];
    assert_eq!((first.tid, first.name.as_str(), first.running_ns), (Tid(7), "thread-7", 110));
    assert_eq!((first.preempted_ns, first.blocked_ns, first.wakeups, first.switches_in), (40, 10 + 40, 1, 2));
    // Thread 8 lost its CPU at 200 and got it back at 300.
    assert_eq!(summary.most_preempted[0].tid, Tid(8));
    assert_eq!(summary.most_preempted[0].preempted_ns, 100);
}

#[test]
fn switches_that_were_not_recorded_are_implied() {
    let mut trace = Trace::new();
    trace.switch(100, 1, 7, PrevState::SLEEPING, 0);
    trace.waking(200, 0, 8, 7);
    // Thread 7 writes on CPU 1 without a switch: it is assumed to run since its wake-up.
    trace.waking(260, 1, 7, 9);
    trace.switch(300, 1, 7, PrevState::SLEEPING, 0);
    let summary = trace.summary();
    let cpu = &summary.cpus[1];
    assert_eq!((cpu.implied_switches, cpu.busy_ns, cpu.idle_ns), (1, 100, 100));
}

#[test]
fn losses_make_time_unknown() {
    let mut trace = Trace::new();
    trace.switch(100, 0, 0, PrevState::RUNNABLE, 7);
    trace.waking(150, 0, 7, 9);
    trace.push(400, 0, None, EventKind::Lost { count: Some(12) });
    trace.switch(500, 0, 8, PrevState::SLEEPING, 7);
    trace.waking(600, 0, 7, 9);
    let summary = trace.summary();
    let cpu = &summary.cpus[0];
    assert_eq!((cpu.losses, cpu.lost_events), (1, 12));
    assert_eq!((cpu.busy_ns, cpu.idle_ns, cpu.unknown_ns), (50 + 100, 0, 250 + 100));
    assert_eq!(summary.most_running[0].running_ns, 150);
}

#[test]
fn an_empty_trace_has_nothing() {
    let summary = Trace::new().summary();
    assert_eq!((summary.window, summary.events, summary.threads), (None, 0, 0));
    assert!(summary.cpus.is_empty() && summary.kinds.is_empty() && summary.proposals.is_empty());
}

#[test]
fn ended_threads_are_threads_of_their_own() {
    let mut trace = Trace::new();
    let dead = PrevState(0x20);
    for begin in [0, 1000] {
        trace.switch(begin + 100, 0, 0, PrevState::RUNNABLE, 7);
        trace.switch(begin + 200, 0, 7, dead, 0);
    }
    let summary = trace.summary();
    assert_eq!(summary.threads, 2);
    assert!(summary.most_running.iter().all(|thread| thread.running_ns == 100));
}

#[test]
fn delays_are_from_the_first_wake_up_to_the_recorded_switch() {
    let mut trace = Trace::new();
    trace.switch(100, 0, 7, PrevState::SLEEPING, 8);
    trace.waking(110, 0, 8, 7);
    // Another record of the same wake-up.
    trace.waking(115, 0, 8, 7);
    trace.switch(140, 0, 8, PrevState::RUNNABLE, 7);
    // Preempted: no wake-up.
    trace.switch(200, 0, 7, PrevState::RUNNABLE, 8);
    trace.switch(290, 0, 8, PrevState::SLEEPING, 7);
    let summary = trace.summary();
    let [thread] = &summary.most_delayed[..] else { panic!("{:?}", summary.most_delayed) };
    let delays = thread.delays.unwrap();
    assert_eq!((thread.tid, summary.delayed), (Tid(7), 1));
    assert_eq!((delays.count, delays.median_ns, delays.p95_ns, delays.longest_ns), (1, 30, 30, 30));
    assert_eq!(delays.longest_from, KernelTime::from_ns(110));
    assert_eq!(thread.preempted_ns, 30 + 90);
}

#[test]
fn delays_around_losses_and_up_to_implied_switches_are_not_known() {
    let mut trace = Trace::new();
    trace.switch(100, 0, 7, PrevState::SLEEPING, 8);
    trace.waking(110, 0, 8, 7);
    // Thread 7 may have run on the other CPU meanwhile.
    trace.push(150, 1, None, EventKind::Lost { count: Some(9) });
    trace.switch(190, 0, 8, PrevState::SLEEPING, 7);
    trace.switch(200, 0, 7, PrevState::SLEEPING, 0);
    // Woken for a CPU whose switch out of the idle task is not recorded.
    trace.waking(210, 1, 9, 7);
    trace.waking(260, 0, 7, 9);
    let summary = trace.summary();
    assert!(summary.most_delayed.is_empty(), "{:?}", summary.most_delayed);
    let thread = summary.most_running.iter().find(|thread| thread.tid == Tid(7)).unwrap();
    assert_eq!((thread.wakeups, thread.delays), (2, None));
}
