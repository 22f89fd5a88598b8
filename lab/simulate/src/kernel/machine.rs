//! CPUs, their threads, and what happens next.

use super::log::{EventContext, Log};
use super::programs::{Action, Planned, ThreadRole, plan};
use super::scenario::{KernelFault, KernelRun, KernelScenario, TimeSpent, TrueExecution};
use laggard_model::{EventKind, ExpiredTimer, KernelEvent, KernelTexts, PrevState, TextId, Tid};
use laggard_simulate::{Random, Stream};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A thread runs this long before another one gets its turn.
const SLICE_NS: u64 = 3_000_000;
/// The period of a CPU quota.
pub(super) const PERIOD_NS: u64 = 100_000_000;
/// The clock at the beginning: a machine that has been up for a while.
const START_NS: u64 = 1_000_000_000_000;
/// Number of the first thread.
const FIRST_TID: u32 = 1000;

/// State of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ThreadActivity {
    Running,
    Runnable,
    Disk,
    Timer,
    Lock,
    /// Waiting for the server's answer, or, as the server, for a question.
    Message,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) tid: u32,
    pub(super) name: TextId,
    pub(super) role: ThreadRole,
    pub(super) actions: VecDeque<Action>,
    /// Rest of the present computation, nanoseconds.
    pub(super) left_ns: u64,
    pub(super) activity: ThreadActivity,
    /// Since when, by the log.
    pub(super) since: u64,
    pub(super) spent: TimeSpent,
    /// The CPU it last ran on.
    pub(super) cpu: usize,
    /// The next of its executions, if it is a client.
    pub(super) next: usize,
    pub(super) begun: u64,
}

#[derive(Debug, Default)]
pub(super) struct CpuState {
    pub(super) running: Option<usize>,
    pub(super) queue: VecDeque<usize>,
    /// Since when the running thread's work is counted.
    counted: u64,
    slice_end: u64,
    /// Distinguishes an outdated [`TimedEvent::Work`] from the current one.
    token: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum TimedEvent {
    Work { cpu: usize, token: u64 },
    Schedule { cpu: usize },
    Timer { thread: usize },
    Disk { thread: usize },
    Refill,
}

pub(super) struct Machine<F> {
    pub(super) scenario: KernelScenario,
    pub(super) random: Random,
    pub(super) planned: Vec<Planned>,
    pub(super) now: u64,
    pub(super) log: Log<F>,
    pub(super) cpus: Vec<CpuState>,
    pub(super) threads: Vec<Thread>,
    pending: BinaryHeap<Reverse<(u64, u64, TimedEvent)>>,
    number: u64,
    pub(super) disk_free: u64,
    pub(super) lock_holder: Option<usize>,
    pub(super) lock_queue: VecDeque<usize>,
    /// Requests to the server: the client thread, and the amount of work.
    pub(super) questions: VecDeque<(usize, u64)>,
    pub(super) buffers: u64,
    /// Rest of the clients' quota; `None` without one.
    quota_left: Option<u64>,
    throttled: Vec<usize>,
    pub(super) done: Vec<TrueExecution>,
}

/// Simulates until all executions have ended; `each` sees the events in time order. The same scenario gives the same
/// events everywhere.
///
/// # Panics
/// When the scenario has no kind, no client, or more than 64 CPUs.
pub fn simulate_kernel(scenario: &KernelScenario, each: impl FnMut(&KernelEvent, &KernelTexts)) -> KernelRun {
    assert!(!scenario.kinds.is_empty() && scenario.clients > 0, "something must be executed");
    assert!((1..=64).contains(&scenario.cpus), "1 to 64 CPUs");
    let mut machine = Machine::new(scenario.clone(), each);
    machine.start();
    while machine.done.len() < machine.planned.len() {
        let Some(Reverse((time, _, pending))) = machine.pending.pop() else { break };
        machine.now = time;
        machine.log.flush(time);
        machine.handle(pending);
    }
    let (events, texts) = machine.log.finish();
    KernelRun { executions: machine.done, events, texts }
}

impl<F: FnMut(&KernelEvent, &KernelTexts)> Machine<F> {
    fn new(scenario: KernelScenario, each: F) -> Machine<F> {
        let cpus = usize::from(scenario.cpus);
        let planned = plan(&scenario, &mut Random::new(scenario.seed, Stream::Kernel, &[0]));
        let quota_left = match scenario.fault {
            KernelFault::CpuQuota { ns } => Some(ns),
            _ => None,
        };
        Machine {
            random: Random::new(scenario.seed, Stream::Kernel, &[1]),
            planned,
            now: START_NS,
            log: Log::new(cpus, each),
            cpus: std::iter::repeat_with(CpuState::default).take(cpus).collect(),
            threads: Vec::new(),
            pending: BinaryHeap::new(),
            number: 0,
            disk_free: START_NS,
            lock_holder: None,
            lock_queue: VecDeque::new(),
            questions: VecDeque::new(),
            buffers: 0,
            quota_left,
            throttled: Vec::new(),
            done: Vec::new(),
            scenario,
        }
    }

    fn start(&mut self) {
        self.add("server", ThreadRole::Server);
        self.add("logger", ThreadRole::Logger);
        for _ in 0..self.scenario.noise_threads {
            self.add("noise", ThreadRole::Noise);
        }
        for client in 0..self.scenario.clients {
            self.add("client", ThreadRole::Client(client));
        }
        if self.quota_left.is_some() {
            self.at(self.now + PERIOD_NS, TimedEvent::Refill);
        }
    }

    /// A new thread: its first wake-up, by CPU 0.
    fn add(&mut self, name: &str, role: ThreadRole) {
        let index = self.threads.len();
        let tid = FIRST_TID + index as u32;
        let name = self.log.name(name);
        let next = match role {
            ThreadRole::Client(client) => client as usize,
            _ => 0,
        };
        let kind = EventKind::WakeupNew { tid: Tid(tid), name, target: None };
        let since = self.log.write(self.now, 0, 0, EventContext::Thread, kind);
        self.threads.push(Thread {
            tid,
            name,
            role,
            actions: VecDeque::new(),
            left_ns: 0,
            activity: ThreadActivity::Runnable,
            since,
            spent: TimeSpent::default(),
            cpu: index % self.cpus.len(),
            next,
            begun: 0,
        });
        self.enqueue(index, since);
    }

    pub(super) fn at(&mut self, time: u64, pending: TimedEvent) {
        self.number += 1;
        self.pending.push(Reverse((time, self.number, pending)));
    }

    fn handle(&mut self, pending: TimedEvent) {
        match pending {
            TimedEvent::Work { cpu, token } if self.cpus[cpu].token == token => self.work(cpu),
            TimedEvent::Work { .. } => {}
            TimedEvent::Schedule { cpu } => self.schedule(cpu),
            TimedEvent::Timer { thread } => self.timer_expires(thread),
            TimedEvent::Disk { thread } => self.disk_completes(thread),
            TimedEvent::Refill => self.refill(),
        }
    }

    /// The number a record of this CPU carries: its thread's, or 0.
    pub(super) fn writer(&self, cpu: usize) -> u32 {
        self.cpus[cpu].running.map_or(0, |thread| self.threads[thread].tid)
    }

    /// Puts a thread on the queue of an idle CPU, else of its own, and reschedules that CPU.
    pub(super) fn enqueue(&mut self, thread: usize, time: u64) {
        let own = self.threads[thread].cpu;
        let is_free = |cpu: &CpuState| cpu.running.is_none() && cpu.queue.is_empty();
        let free = self.cpus.iter().position(is_free);
        let cpu = if is_free(&self.cpus[own]) { own } else { free.unwrap_or(own) };
        self.cpus[cpu].queue.push_back(thread);
        let is_idle = self.cpus[cpu].running.is_none();
        let delay = if is_idle { 3_000 + self.random.below(25_000) } else { 4_000 };
        self.at(time + delay, TimedEvent::Schedule { cpu });
    }

    /// Gives an idle CPU its next thread; a thread that has had a quarter of its slice is preempted by a woken one.
    fn schedule(&mut self, cpu: usize) {
        if self.cpus[cpu].queue.is_empty() {
            return;
        }
        let has_had_enough = self.now + SLICE_NS - SLICE_NS / 4 >= self.cpus[cpu].slice_end;
        if self.cpus[cpu].running.is_none() {
            self.switch(cpu, PrevState::RUNNABLE);
        } else if has_had_enough {
            self.count_work(cpu);
            self.leave(cpu);
        }
    }

    /// The running thread goes to the end of the queue.
    fn leave(&mut self, cpu: usize) {
        let Some(thread) = self.cpus[cpu].running else { return };
        self.cpus[cpu].queue.push_back(thread);
        self.switch(cpu, PrevState::RUNNABLE);
    }

    /// Counts the work of the running thread up to now.
    fn count_work(&mut self, cpu: usize) {
        let Some(thread) = self.cpus[cpu].running else { return };
        let worked = self.now.saturating_sub(self.cpus[cpu].counted);
        self.cpus[cpu].counted = self.now.max(self.cpus[cpu].counted);
        let thread = &mut self.threads[thread];
        thread.left_ns = thread.left_ns.saturating_sub(worked);
        if let (Some(quota), ThreadRole::Client(_)) = (&mut self.quota_left, thread.role) {
            *quota = quota.saturating_sub(worked);
        }
    }

    /// The running thread's work, slice or quota is at its end.
    fn work(&mut self, cpu: usize) {
        self.count_work(cpu);
        let Some(thread) = self.cpus[cpu].running else { return };
        if self.has_no_quota(thread) {
            self.throttled.push(thread);
            return self.switch(cpu, PrevState::RUNNABLE);
        }
        if self.threads[thread].left_ns == 0 && !self.act(cpu, thread) {
            return;
        }
        if self.now >= self.cpus[cpu].slice_end && !self.cpus[cpu].queue.is_empty() {
            return self.leave(cpu);
        }
        self.plan_work(cpu);
    }

    fn has_no_quota(&self, thread: usize) -> bool {
        matches!(self.threads[thread].role, ThreadRole::Client(_)) && self.quota_left == Some(0)
    }

    /// Decides when the running thread is looked at again.
    fn plan_work(&mut self, cpu: usize) {
        let Some(thread) = self.cpus[cpu].running else { return };
        let mut ns = self.threads[thread].left_ns;
        if self.now >= self.cpus[cpu].slice_end {
            self.cpus[cpu].slice_end = self.now + SLICE_NS;
        }
        ns = ns.min(self.cpus[cpu].slice_end - self.now);
        if let (Some(quota), ThreadRole::Client(_)) = (self.quota_left, self.threads[thread].role) {
            ns = ns.min(quota);
        }
        self.cpus[cpu].token += 1;
        let token = self.cpus[cpu].token;
        let from = self.cpus[cpu].counted.max(self.now);
        self.at(from + ns, TimedEvent::Work { cpu, token });
    }

    /// Takes the CPU from its thread, which has been put where it belongs, and gives it to the next.
    pub(super) fn switch(&mut self, cpu: usize, prev_state: PrevState) {
        let prev = self.cpus[cpu].running.take();
        let mut next = self.cpus[cpu].queue.pop_front();
        while let Some(thread) = next.filter(|&thread| self.has_no_quota(thread)) {
            self.throttled.push(thread);
            next = self.cpus[cpu].queue.pop_front();
        }
        self.cpus[cpu].running = next;
        self.cpus[cpu].token += 1;
        if prev == next {
            return self.plan_work(cpu);
        }
        let named = |thread: Option<usize>| match thread {
            Some(thread) => (Tid(self.threads[thread].tid), self.threads[thread].name),
            None => (Tid::IDLE, TextId::EMPTY),
        };
        let ((prev_tid, prev_name), (next_tid, next_name)) = (named(prev), named(next));
        let kind = EventKind::Switch { prev: prev_tid, prev_name, prev_state, next: next_tid, next_name };
        let time = self.log.write(self.now, cpu, prev_tid.0, EventContext::Thread, kind);
        if let Some(prev) = prev.filter(|_| prev_state.is_runnable()) {
            self.turn(prev, ThreadActivity::Runnable, time);
        }
        let Some(next) = next else { return };
        self.turn(next, ThreadActivity::Running, time);
        self.threads[next].cpu = cpu;
        self.cpus[cpu].counted = time;
        self.cpus[cpu].slice_end = self.now + SLICE_NS;
        self.plan_work(cpu);
    }

    /// Counts a thread's time up to an instant of the log, from which on it does something else.
    pub(super) fn turn(&mut self, thread: usize, activity: ThreadActivity, time: u64) {
        let thread = &mut self.threads[thread];
        let ns = time.saturating_sub(thread.since);
        let spent = &mut thread.spent;
        *match thread.activity {
            ThreadActivity::Running => &mut spent.running,
            ThreadActivity::Runnable => &mut spent.runnable,
            ThreadActivity::Disk => &mut spent.disk,
            ThreadActivity::Timer => &mut spent.timer,
            ThreadActivity::Lock => &mut spent.lock,
            ThreadActivity::Message => &mut spent.answer,
        } += ns;
        thread.activity = activity;
        thread.since = thread.since.max(time);
    }

    /// A new period: everybody who was throttled may run again.
    fn refill(&mut self) {
        let KernelFault::CpuQuota { ns } = self.scenario.fault else { return };
        self.quota_left = Some(ns);
        let writer = self.writer(0);
        self.log.write(
            self.now,
            0,
            writer,
            EventContext::HardInterrupt,
            EventKind::HrtimerEntry(ExpiredTimer::default()),
        );
        let time = self.log.write(self.now, 0, writer, EventContext::HardInterrupt, EventKind::HrtimerExit);
        for thread in std::mem::take(&mut self.throttled) {
            self.enqueue(thread, time);
        }
        self.at(self.now + PERIOD_NS, TimedEvent::Refill);
        for cpu in 0..self.cpus.len() {
            self.count_work(cpu);
            self.plan_work(cpu);
        }
    }
}
