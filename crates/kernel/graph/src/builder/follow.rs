//! Follows the events one by one: status, interrupt context, graph.

use super::context::{Context, CpuState};
use super::host::{Host, TID_MAX};
use super::irq_names::IrqNames;
use super::packets::PacketTable;
use super::settings::{GraphMode, GraphSettings};
use super::tally::Tally;
use super::thread::{CpuId, Status, Thread, ThreadId};
use super::wake::Wake;
use crate::path::PieceState;
use crate::sketch::{GraphSketch, Point};
use crate::vertex::VerticalKind;
use crate::worker::{WorkerId, WorkerKind};
use laggard_model::{Cpu, EventKind, KernelEvent, KernelTime, TextId, Tid};

/// All that is known at the present instant, and the graph so far.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) settings: GraphSettings,
    pub(super) sketch: GraphSketch,
    pub(super) hosts: Vec<Host>,
    pub(super) threads: Vec<Thread>,
    pub(super) cpus: Vec<CpuState>,
    pub(super) irq_names: IrqNames,
    pub(super) packets: PacketTable,
    pub(super) tally: Tally,
}

/// Where and when the event at hand happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) host: u32,
    pub(super) cpu: CpuId,
    pub(super) time: KernelTime,
}

impl Follower {
    pub(super) fn new(mut settings: GraphSettings) -> Follower {
        let irq_names = IrqNames::new(std::mem::take(&mut settings.irq_names));
        let shares_idle = settings.mode == GraphMode::Compat;
        Follower {
            settings,
            sketch: GraphSketch { shares_idle, ..GraphSketch::default() },
            hosts: Vec::new(),
            threads: Vec::new(),
            cpus: Vec::new(),
            irq_names,
            packets: PacketTable::default(),
            tally: Tally::default(),
        }
    }

    pub(super) fn is_modern(&self) -> bool {
        self.settings.mode == GraphMode::Modern
    }

    /// One event, its names already the graph's.
    pub(super) fn follow(&mut self, host: u32, event: &KernelEvent) {
        if self.sketch.vertices >= self.settings.vertices_max {
            self.tally.beyond_limit.add(event.time);
            return;
        }
        let last = self.hosts[host as usize].last_event;
        if event.time < last {
            self.tally.time_went_back.add(event.time);
        }
        let time = event.time.max(last);
        self.hosts[host as usize].last_event = time;
        let at = Place { host, cpu: self.cpu_of(host, event.cpu), time };
        if self.is_modern() {
            if matches!(event.kind, EventKind::Lost { .. }) {
                self.lose(at);
                return;
            }
            self.compare_current(at, event);
        }
        self.handle(at, event);
        self.cpu_mut(at.cpu).last_record = time;
    }

    fn handle(&mut self, at: Place, event: &KernelEvent) {
        match event.kind {
            EventKind::Switch { prev, prev_name, prev_state, next, next_name } => {
                let prev = self.named(at, prev, prev_name);
                let next = self.named(at, next, next_name);
                self.switch(at, prev, prev_state, next);
            }
            EventKind::Waking { tid, name, .. }
            | EventKind::Wakeup { tid, name, .. }
            | EventKind::TryToWakeUp { tid, name, .. } => {
                self.wake(at, Wake { tid, name, is_new: false, flags: event.flags });
            }
            EventKind::WakeupNew { tid, name, .. } => {
                self.wake(at, Wake { tid, name, is_new: true, flags: event.flags });
            }
            EventKind::PacketSent(socket) => self.send(at, socket),
            EventKind::PacketReceived(socket) => self.receive(at, socket),
            _ if self.handle_context(at, &event.kind) => {}
            _ => self.handle_life(at, &event.kind),
        }
    }

    /// Entries and exits of interrupts; false for other events.
    fn handle_context(&mut self, at: Place, kind: &EventKind) -> bool {
        match *kind {
            EventKind::IrqEntry { irq, name } => {
                let known = self.hosts[at.host as usize].irq_names.get(&irq).copied();
                let name = if name == TextId::EMPTY { known.unwrap_or_default() } else { name };
                self.cpu_mut(at.cpu).push(Context::Irq { number: irq, name });
            }
            EventKind::SoftirqEntry { vector } => {
                self.cpu_mut(at.cpu).push(Context::Softirq { vector });
                if matches!(vector, 2 | 3) {
                    let side = self.interrupts_of(at.cpu);
                    self.append(side, at, None);
                }
            }
            EventKind::HrtimerEntry => self.cpu_mut(at.cpu).push(Context::Hrtimer),
            EventKind::IpiEntry(_) => self.cpu_mut(at.cpu).push(Context::Ipi),
            EventKind::ReceptionEntry => self.cpu_mut(at.cpu).push(Context::Reception),
            EventKind::IrqExit { irq } => {
                self.leave_context(at, Context::Irq { number: irq, name: TextId::EMPTY })
            }
            EventKind::SoftirqExit { vector } => self.leave_context(at, Context::Softirq { vector }),
            EventKind::HrtimerExit => self.leave_context(at, Context::Hrtimer),
            EventKind::IpiExit(_) => self.leave_context(at, Context::Ipi),
            EventKind::ReceptionExit => self.leave_context(at, Context::Reception),
            _ => return false,
        }
        true
    }

    fn leave_context(&mut self, at: Place, kind: Context) {
        if !self.cpu_mut(at.cpu).pop(kind) {
            self.tally.unbalanced.add(at.time);
        }
    }

    /// Births, deaths, names.
    fn handle_life(&mut self, at: Place, kind: &EventKind) {
        match *kind {
            EventKind::Fork { child, child_name, .. } => {
                let child = self.newborn(at, child, child_name);
                self.threads[child.0 as usize].set(Status::WaitFork);
            }
            EventKind::Exit { tid } => {
                let thread = self.thread_of(at, tid);
                let thread = &mut self.threads[thread.0 as usize];
                thread.set(Status::Exit);
                thread.is_exiting = true;
            }
            EventKind::Exec { tid, filename } => {
                let name = self.program_name(filename);
                self.named(at, tid, name);
            }
            EventKind::Rename { tid, name } => drop(self.named(at, tid, name)),
            EventKind::Statedump { tid, name, status, .. } => {
                let thread = self.named(at, tid, name);
                self.dump(thread, status.into());
            }
            EventKind::InterruptName { irq, name, .. } => {
                self.hosts[at.host as usize].irq_names.insert(irq, name);
            }
            _ => {}
        }
    }

    /// The state dump tells of threads that nothing else has told of; in compatible mode of all.
    fn dump(&mut self, thread: ThreadId, status: Status) {
        let modern = self.is_modern();
        let thread = &mut self.threads[thread.0 as usize];
        if modern && (thread.worker.is_some() || thread.status != Status::Unknown) {
            return;
        }
        thread.set(if modern && status == Status::Running { Status::Unknown } else { status });
    }

    /// The kernel's short name of a program: the last part of its path, 15 bytes.
    fn program_name(&mut self, path: TextId) -> TextId {
        let path = self.sketch.texts.text(path);
        let file = path.rsplit('/').next().unwrap_or(path);
        let end = (0..=file.len().min(15)).rev().find(|&end| file.is_char_boundary(end)).unwrap_or(0);
        let name = file[..end].to_owned();
        self.sketch.texts.intern(&name)
    }

    pub(super) fn cpu(&self, cpu: CpuId) -> &CpuState {
        &self.cpus[cpu.0 as usize]
    }

    pub(super) fn cpu_mut(&mut self, cpu: CpuId) -> &mut CpuState {
        &mut self.cpus[cpu.0 as usize]
    }

    pub(super) fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.0 as usize]
    }

    pub(super) fn thread_mut(&mut self, thread: ThreadId) -> &mut Thread {
        &mut self.threads[thread.0 as usize]
    }

    fn cpu_of(&mut self, host: u32, number: Cpu) -> CpuId {
        if let Some(cpu) = self.hosts[host as usize].cpu(number) {
            return cpu;
        }
        let modern = self.is_modern();
        let told = if modern { number } else { Cpu(0) };
        let idle = self.add_thread(host, WorkerKind::Idle(told), TextId::EMPTY);
        let other = self.hosts[host as usize].cpus.iter().flatten().next().copied().filter(|_| !modern);
        let interrupts = other.map(|other| self.cpu(other).interrupts).unwrap_or_else(|| {
            let side = self.add_thread(host, WorkerKind::Interrupts(told), TextId::EMPTY);
            self.thread_mut(side).set(Status::Running);
            side
        });
        let id = CpuId(u32::try_from(self.cpus.len()).expect("at most 2^16 CPUs of 2^16 hosts"));
        self.cpus.push(CpuState::new(number, idle, interrupts));
        self.hosts[host as usize].set_cpu(number, id);
        id
    }

    pub(super) fn add_thread(&mut self, host: u32, kind: WorkerKind, name: TextId) -> ThreadId {
        let id = ThreadId(u32::try_from(self.threads.len()).expect("fewer than 2^32 threads"));
        self.threads.push(Thread::new(host, kind, name));
        id
    }

    pub(super) fn find_thread(&self, at: Place, tid: Tid) -> Option<ThreadId> {
        match tid {
            Tid::IDLE => Some(self.cpu(at.cpu).idle),
            tid => self.hosts[at.host as usize].threads.get(tid),
        }
    }

    /// The thread of a number, made on first sight; a new one when the last of that number has ended.
    pub(super) fn thread_of(&mut self, at: Place, tid: Tid) -> ThreadId {
        match self.find_thread(at, tid) {
            Some(found) if self.is_modern() && self.thread(found).status == Status::Dead => {
                self.next_life(at, tid, found)
            }
            Some(found) => found,
            None => {
                let kind = WorkerKind::Thread { tid, generation: 0 };
                let thread = self.add_thread(at.host, kind, TextId::EMPTY);
                self.hosts[at.host as usize].threads.set(tid, thread);
                thread
            }
        }
    }

    /// The thread of a number, and the name it goes by from now on.
    pub(super) fn named(&mut self, at: Place, tid: Tid, name: TextId) -> ThreadId {
        let thread = self.thread_of(at, tid);
        if name != TextId::EMPTY {
            self.thread_mut(thread).name = name;
        }
        thread
    }

    /// A thread that begins now: another than the last of that number, if that one has done anything.
    pub(super) fn newborn(&mut self, at: Place, tid: Tid, name: TextId) -> ThreadId {
        let found = self.find_thread(at, tid).filter(|_| self.is_modern() && tid != Tid::IDLE);
        let thread = match found.filter(|&found| self.thread(found).worker.is_some()) {
            Some(found) => self.next_life(at, tid, found),
            None => self.thread_of(at, tid),
        };
        if name != TextId::EMPTY {
            self.thread_mut(thread).name = name;
        }
        thread
    }

    fn next_life(&mut self, at: Place, tid: Tid, last: ThreadId) -> ThreadId {
        let WorkerKind::Thread { generation, .. } = self.thread(last).kind else { return last };
        if let Some(cpu) = self.thread(last).runs_on {
            self.cpu_mut(cpu).current = None;
        }
        let kind = WorkerKind::Thread { tid, generation: generation + 1 };
        let thread = self.add_thread(at.host, kind, TextId::EMPTY);
        self.hosts[at.host as usize].threads.set(tid, thread);
        thread
    }

    /// The thread that runs on a CPU, if known.
    pub(super) fn current(&self, cpu: CpuId) -> Option<ThreadId> {
        self.cpu(cpu).current
    }

    pub(super) fn interrupts_of(&self, cpu: CpuId) -> ThreadId {
        self.cpu(cpu).interrupts
    }

    /// The thread a record says it was written by, if that can be.
    pub(super) fn writer_of(event: &KernelEvent) -> Option<Tid> {
        let writer = match event.kind {
            EventKind::Switch { prev, .. } => Some(prev),
            _ => event.recorded,
        };
        writer.filter(|tid| tid.0 <= TID_MAX)
    }

    /// Ends an edge of a thread here and now. What a packet held back for it led to becomes an edge.
    pub(super) fn append(&mut self, thread: ThreadId, at: Place, edge: Option<PieceState>) -> Point {
        self.append_at(thread, at.time, at.cpu, edge)
    }

    /// As [`Follower::append`], at another time.
    pub(super) fn append_at(
        &mut self,
        thread: ThreadId,
        time: KernelTime,
        cpu: CpuId,
        edge: Option<PieceState>,
    ) -> Point {
        let worker = self.worker_of(thread);
        let number = self.cpu(cpu).number;
        let point = self.sketch.append(worker, time, number, edge);
        if let Some(held) = self.thread(thread).received.filter(|held| held.received_at != point) {
            self.thread_mut(thread).received = None;
            self.sketch.link(held.sent_at, held.received_at, VerticalKind::State(PieceState::Network));
        }
        point
    }

    /// Ends an edge with the thread's present state: its work goes on.
    pub(super) fn extend(&mut self, thread: ThreadId, at: Place) -> Point {
        let state = self.thread(thread).status.edge();
        self.append(thread, at, Some(state))
    }

    fn worker_of(&mut self, thread: ThreadId) -> WorkerId {
        let known = self.thread(thread);
        if let Some(worker) = known.worker {
            return worker;
        }
        let (host, kind) = (known.host, known.kind);
        let shared = self.hosts[host as usize].shared_idle.filter(|_| known.is_idle() && !self.is_modern());
        let host_id = self.hosts[host as usize].id;
        let worker = shared.unwrap_or_else(|| self.sketch.worker(host_id, kind, TextId::EMPTY));
        if matches!(kind, WorkerKind::Idle(_)) {
            self.hosts[host as usize].shared_idle = Some(worker);
        }
        self.thread_mut(thread).worker = Some(worker);
        worker
    }

    /// The name of the thread that runs on a CPU.
    pub(super) fn current_name(&self, cpu: CpuId) -> TextId {
        self.current(cpu).map_or(TextId::EMPTY, |current| self.thread(current).name)
    }
}
