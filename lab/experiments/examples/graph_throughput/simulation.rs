//! A scheduler with clients, servers that call servers, disks and timers, as a stream of kernel events.

use laggard_model::{
    ContextFlags, Cpu, EventKind, ExpiredTimer, KernelEvent, KernelTexts, KernelTime, PrevState, TextId, Tid,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const CPUS: usize = 8;
const CLIENTS: usize = 1000;
const THREADS: usize = 4000;
/// Number of runs of a client's execution.
const RUNS_PER_EXECUTION: u32 = 16;
const CALL_DEPTH_MAX: u32 = 5;

/// One execution of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedExecution {
    pub(crate) tid: Tid,
    pub(crate) from: KernelTime,
    pub(crate) to: KernelTime,
}

/// The reason a thread blocks.
#[derive(Clone, Copy)]
enum Wait {
    /// A thread it has woken.
    Server,
    /// The next request.
    Request,
    Disk,
    Timer,
}

#[derive(Clone, Copy, Default)]
struct SimulatedThread {
    /// Who waits for it, with the depth of calls.
    caller: Option<usize>,
    depth: u32,
    is_busy: bool,
    runs: u32,
    began: u64,
}

#[derive(Default)]
struct SimulatedCpu {
    clock: u64,
    /// 0 is the idle task, else a thread's place plus 1.
    current: usize,
    queue: VecDeque<usize>,
    plan: VecDeque<(EventKind, u8)>,
}

/// The whole machine.
pub(crate) struct Simulation {
    random: u64,
    threads: Vec<SimulatedThread>,
    cpus: Vec<SimulatedCpu>,
    /// Waits that an interrupt ends: when, whose, whether a disk's.
    interrupts: BinaryHeap<Reverse<(u64, usize, bool)>>,
    names: Vec<TextId>,
    disk: TextId,
    pub(crate) executions: Vec<SimulatedExecution>,
}

impl Simulation {
    pub(crate) fn new(texts: &mut KernelTexts) -> Simulation {
        let names = (0..=THREADS).map(|place| texts.intern(&format!("worker-{}", place % 64))).collect();
        let mut simulation = Simulation {
            random: 7,
            threads: vec![SimulatedThread::default(); THREADS],
            cpus: (0..CPUS).map(|_| SimulatedCpu { clock: 1_000, ..SimulatedCpu::default() }).collect(),
            interrupts: BinaryHeap::new(),
            names,
            disk: texts.intern("virtio1-req.0"),
            executions: Vec::new(),
        };
        for client in 0..CLIENTS {
            simulation.cpus[client % CPUS].queue.push_back(client + 1);
        }
        simulation
    }

    /// splitmix64, below `below`.
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % below
    }

    /// The next event, in time order.
    pub(crate) fn next_event(&mut self) -> KernelEvent {
        loop {
            let cpu = (0..CPUS).min_by_key(|&cpu| self.cpus[cpu].clock).expect("there are CPUs");
            if let Some((kind, flags)) = self.cpus[cpu].plan.pop_front() {
                return self.emit(cpu, kind, flags);
            }
            self.act(cpu);
        }
    }

    fn emit(&mut self, cpu: usize, kind: EventKind, flags: u8) -> KernelEvent {
        let state = &mut self.cpus[cpu];
        let (time, recorded) = (KernelTime::from_ns(state.clock), Tid(state.current as u32));
        state.clock += 400;
        if let EventKind::Waking { tid, target: Some(target), .. } = kind {
            self.cpus[usize::from(target.0)].queue.push_back(tid.0 as usize);
        }
        let state = &mut self.cpus[cpu];
        if let EventKind::Switch { prev, prev_state, next, .. } = kind {
            if prev_state.is_runnable() && prev != Tid::IDLE {
                state.queue.push_back(prev.0 as usize);
            }
            state.current = next.0 as usize;
            self.begin_run(next.0 as usize, time);
        }
        let flags = Some(ContextFlags(flags));
        KernelEvent { time, cpu: Cpu(cpu as u16), flags, recorded: Some(recorded), kind }
    }

    fn begin_run(&mut self, thread: usize, time: KernelTime) {
        if thread == 0 || thread > CLIENTS {
            return;
        }
        let client = &mut self.threads[thread - 1];
        client.runs += 1;
        if client.runs.is_multiple_of(RUNS_PER_EXECUTION) {
            let from = KernelTime::from_ns(client.began);
            self.executions.push(SimulatedExecution { tid: Tid(thread as u32), from, to: time });
            client.began = time.ns();
        }
    }

    /// Decides what a CPU does next.
    fn act(&mut self, cpu: usize) {
        let now = self.cpus[cpu].clock;
        if let Some(&Reverse((due, thread, is_disk))) = self.interrupts.peek()
            && due <= now
        {
            self.interrupts.pop();
            self.interrupt(cpu, thread, is_disk);
            return;
        }
        if self.cpus[cpu].current == 0 {
            let waiting =
                (0..CPUS).map(|other| (cpu + other) % CPUS).find(|&other| !self.cpus[other].queue.is_empty());
            match waiting.and_then(|other| self.cpus[other].queue.pop_front()) {
                Some(next) => self.plan_switch(cpu, 0, next),
                None => self.cpus[cpu].clock += 5_000,
            }
            return;
        }
        self.run(cpu);
    }

    fn run(&mut self, cpu: usize) {
        let slice = 3_000 + self.draw(30_000);
        self.cpus[cpu].clock += slice;
        let current = self.cpus[cpu].current;
        let index = current - 1;
        match self.draw(100) {
            0..10 if !self.cpus[cpu].queue.is_empty() => {
                let next = self.cpus[cpu].queue.pop_front().expect("the queue is not empty");
                self.plan_switch(cpu, 0, next);
            }
            10..35 => self.tick(cpu),
            35..50 => self.block(cpu, Wait::Disk),
            50..55 => self.block(cpu, Wait::Timer),
            55..80 if self.threads[index].depth < CALL_DEPTH_MAX => self.call(cpu, index),
            _ if index < CLIENTS => self.call(cpu, index),
            _ => self.reply(cpu, index),
        }
    }

    fn tick(&mut self, cpu: usize) {
        let plan = &mut self.cpus[cpu].plan;
        plan.push_back((EventKind::HrtimerEntry(ExpiredTimer::default()), 8));
        plan.push_back((EventKind::HrtimerExit, 8));
        plan.push_back((EventKind::SoftirqEntry { vector: 7 }, 16));
        plan.push_back((EventKind::SoftirqExit { vector: 7 }, 16));
    }

    fn call(&mut self, cpu: usize, caller: usize) {
        let servers = (THREADS - CLIENTS) as u64;
        let server = CLIENTS + self.draw(servers) as usize;
        if self.threads[server].is_busy {
            self.block(cpu, Wait::Timer);
            return;
        }
        let depth = self.threads[caller].depth + 1;
        let thread = &mut self.threads[server];
        (thread.caller, thread.depth, thread.is_busy) = (Some(caller), depth, true);
        self.wake(cpu, server + 1, 0);
        self.block(cpu, Wait::Server);
    }

    fn reply(&mut self, cpu: usize, server: usize) {
        let caller = self.threads[server].caller.take();
        self.threads[server].is_busy = false;
        if let Some(caller) = caller {
            self.wake(cpu, caller + 1, 0);
        }
        self.block(cpu, Wait::Request);
    }

    fn wake(&mut self, cpu: usize, thread: usize, flags: u8) {
        let target = self.draw(CPUS as u64) as usize;
        let (tid, name) = (Tid(thread as u32), self.names[thread]);
        let target_cpu = Some(Cpu(target as u16));
        self.cpus[cpu].plan.push_back((EventKind::Waking { tid, name, target: target_cpu }, flags));
    }

    fn interrupt(&mut self, cpu: usize, thread: usize, is_disk: bool) {
        let disk = self.disk;
        if is_disk {
            self.cpus[cpu].plan.push_back((EventKind::IrqEntry { irq: 36, name: disk }, 8));
            self.wake(cpu, thread, 8);
            self.cpus[cpu].plan.push_back((EventKind::IrqExit { irq: 36 }, 8));
        } else {
            self.cpus[cpu].plan.push_back((EventKind::HrtimerEntry(ExpiredTimer::default()), 8));
            self.wake(cpu, thread, 8);
            self.cpus[cpu].plan.push_back((EventKind::HrtimerExit, 8));
        }
    }

    fn block(&mut self, cpu: usize, wait: Wait) {
        let current = self.cpus[cpu].current;
        let now = self.cpus[cpu].clock;
        match wait {
            Wait::Disk => {
                let due = now + 50_000 + self.draw(400_000);
                self.interrupts.push(Reverse((due, current, true)));
            }
            Wait::Timer => {
                let longest = if current <= CLIENTS { 300_000_000 } else { 1_000_000 };
                let due = now + 50_000 + self.draw(longest);
                self.interrupts.push(Reverse((due, current, false)));
            }
            Wait::Server | Wait::Request => {}
        }
        let next = self.cpus[cpu].queue.pop_front().unwrap_or(0);
        self.plan_switch(cpu, 1, next);
    }

    fn plan_switch(&mut self, cpu: usize, state: u32, next: usize) {
        let prev = self.cpus[cpu].current;
        let kind = EventKind::Switch {
            prev: Tid(prev as u32),
            prev_name: self.names[prev],
            prev_state: PrevState(state),
            next: Tid(next as u32),
            next_name: self.names[next],
        };
        self.cpus[cpu].plan.push_back((kind, 1));
    }
}
