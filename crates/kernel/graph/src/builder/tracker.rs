//! Applies events one by one to the status of threads and CPUs, and extends the graph.

use super::context::{CpuRecord, InterruptContext};
use super::host::{Host, TID_MAX};
use super::irq_names::IrqNames;
use super::loss_counts::LossCounts;
use super::packets::PacketTable;
use super::settings::{GraphMode, GraphSettings};
use super::thread::{CpuId, SchedStatus, ThreadId, ThreadRecord};
use super::wake::WakeEvent;
use crate::partial_graph::{PartialGraph, VertexHandle};
use crate::path::WorkerState;
use crate::quota_timers::ends_throttling;
use crate::vertex::VerticalKind;
use crate::worker::{WorkerId, WorkerKind};
use laggard_model::{Cpu, EventKind, ExpiredTimer, KernelEvent, KernelTime, TextId, Tid};

/// The state of all hosts, CPUs, and threads at the current event, and the graph built so far.
#[derive(Debug)]
pub(super) struct StateTracker {
    pub(super) settings: GraphSettings,
    pub(super) graph: PartialGraph,
    pub(super) hosts: Vec<Host>,
    pub(super) threads: Vec<ThreadRecord>,
    pub(super) cpus: Vec<CpuRecord>,
    pub(super) irq_names: IrqNames,
    pub(super) packets: PacketTable,
    pub(super) losses: LossCounts,
}

/// Host, CPU, and time of the event being applied.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventOrigin {
    pub(super) host: u32,
    pub(super) cpu: CpuId,
    pub(super) time: KernelTime,
}

impl StateTracker {
    pub(super) fn new(mut settings: GraphSettings) -> StateTracker {
        let irq_names = IrqNames::new(std::mem::take(&mut settings.irq_names));
        StateTracker {
            settings,
            graph: PartialGraph::default(),
            hosts: Vec::new(),
            threads: Vec::new(),
            cpus: Vec::new(),
            irq_names,
            packets: PacketTable::default(),
            losses: LossCounts::default(),
        }
    }

    /// Applies one event whose text handles are already the graph's.
    pub(super) fn follow(&mut self, host: u32, event: &KernelEvent) {
        let Some(origin) = self.origin(host, event) else { return };
        if matches!(event.kind, EventKind::Lost { .. }) {
            self.record_loss(origin);
            return;
        }
        self.compare_current(origin, event);
        self.handle(origin, event);
        self.handle_stack(origin, &event.kind);
        self.cpu_mut(origin.cpu).last_record = origin.time;
    }

    /// Where and when an event occurred, not before the host's last event; `None` when the graph is full.
    pub(super) fn origin(&mut self, host: u32, event: &KernelEvent) -> Option<EventOrigin> {
        if self.graph.vertices + self.graph.calls.count + self.graph.stacks.count
            >= self.settings.vertices_max
        {
            self.losses.beyond_limit.add(event.time);
            return None;
        }
        let last = self.hosts[host as usize].last_event;
        if event.time < last {
            self.losses.time_went_back.add(event.time);
        }
        let time = event.time.max(last);
        self.hosts[host as usize].last_event = time;
        Some(EventOrigin { host, cpu: self.cpu_of(host, event.cpu), time })
    }

    fn handle(&mut self, origin: EventOrigin, event: &KernelEvent) {
        match event.kind {
            EventKind::Switch { prev, prev_name, prev_state, next, next_name } => {
                let prev = self.named_thread(origin, prev, prev_name);
                let next = self.named_thread(origin, next, next_name);
                self.switch(origin, prev, prev_state, next);
            }
            EventKind::Waking { tid, name, .. }
            | EventKind::Wakeup { tid, name, .. }
            | EventKind::TryToWakeUp { tid, name, .. } => {
                self.wake(origin, WakeEvent { tid, name, is_new: false, flags: event.flags });
            }
            EventKind::WakeupNew { tid, name, .. } => {
                self.wake(origin, WakeEvent { tid, name, is_new: true, flags: event.flags });
            }
            EventKind::PacketSent(socket) => self.send(origin, socket),
            EventKind::PacketReceived(socket) => self.receive(origin, socket),
            _ if self.handle_context(origin, &event.kind) || self.handle_call(origin, &event.kind) => {}
            _ => self.handle_lifetime(origin, &event.kind),
        }
    }

    /// Entries and exits of interrupts; false for other events.
    pub(super) fn handle_context(&mut self, origin: EventOrigin, kind: &EventKind) -> bool {
        match *kind {
            EventKind::IrqEntry { irq, name } => {
                let known = self.hosts[origin.host as usize].irq_names.get(&irq).copied();
                let name = if name == TextId::EMPTY { known.unwrap_or_default() } else { name };
                self.cpu_mut(origin.cpu).push(InterruptContext::Irq { number: irq, name });
            }
            EventKind::SoftirqEntry { vector } => {
                self.cpu_mut(origin.cpu).push(InterruptContext::Softirq { vector });
                if matches!(vector, 2 | 3) {
                    let side = self.interrupts_of(origin.cpu);
                    self.append(side, origin, None);
                }
            }
            EventKind::HrtimerEntry(timer) => {
                self.record_timer(origin, timer);
                self.cpu_mut(origin.cpu).push(InterruptContext::Hrtimer);
            }
            EventKind::IpiEntry(_) => self.cpu_mut(origin.cpu).push(InterruptContext::Ipi),
            EventKind::ReceptionEntry => self.cpu_mut(origin.cpu).push(InterruptContext::Reception),
            EventKind::IrqExit { irq } => {
                self.leave_context(origin, InterruptContext::Irq { number: irq, name: TextId::EMPTY })
            }
            EventKind::SoftirqExit { vector } => {
                self.leave_context(origin, InterruptContext::Softirq { vector })
            }
            EventKind::HrtimerExit => self.leave_context(origin, InterruptContext::Hrtimer),
            EventKind::IpiExit(_) => self.leave_context(origin, InterruptContext::Ipi),
            EventKind::ReceptionExit => self.leave_context(origin, InterruptContext::Reception),
            _ => return false,
        }
        true
    }

    fn record_timer(&mut self, origin: EventOrigin, timer: ExpiredTimer) {
        let function = self.graph.texts.text(timer.function);
        self.graph.names_timers |= !function.is_empty();
        if ends_throttling(function) && self.settings.mode == GraphMode::Modern {
            let host = self.hosts[origin.host as usize].id;
            self.graph.quota_timers.entry((host, timer.address)).or_default().push(origin.time);
        }
    }

    fn leave_context(&mut self, origin: EventOrigin, kind: InterruptContext) {
        if !self.cpu_mut(origin.cpu).pop(kind) {
            self.losses.unbalanced.add(origin.time);
        }
    }

    /// Thread creation, exit, and names.
    pub(super) fn handle_lifetime(&mut self, origin: EventOrigin, kind: &EventKind) {
        match *kind {
            EventKind::Fork { child, child_name, .. } => {
                let child = self.new_thread(origin, child, child_name);
                self.threads[child.0 as usize].set(SchedStatus::WaitFork);
            }
            EventKind::Exit { tid } => {
                let thread = self.thread_of(origin, tid);
                let thread = &mut self.threads[thread.0 as usize];
                thread.set(SchedStatus::Exit);
                thread.is_exiting = true;
            }
            EventKind::Exec { tid, filename } => {
                let name = self.program_name(filename);
                self.named_thread(origin, tid, name);
            }
            EventKind::Rename { tid, name } => drop(self.named_thread(origin, tid, name)),
            EventKind::Statedump { tid, name, status, .. } => {
                let thread = self.named_thread(origin, tid, name);
                self.apply_statedump(thread, status.into());
            }
            EventKind::InterruptName { irq, name, .. } => {
                self.hosts[origin.host as usize].irq_names.insert(irq, name);
            }
            _ => {}
        }
    }

    /// A state dump sets the status of threads that no other event has mentioned.
    fn apply_statedump(&mut self, thread: ThreadId, status: SchedStatus) {
        let thread = &mut self.threads[thread.0 as usize];
        if thread.worker.is_some() || thread.status != SchedStatus::Unknown {
            return;
        }
        thread.set(if status == SchedStatus::Running { SchedStatus::Unknown } else { status });
    }

    /// The kernel's short name of a program: the last part of its path, 15 bytes.
    fn program_name(&mut self, path: TextId) -> TextId {
        let path = self.graph.texts.text(path);
        let file = path.rsplit('/').next().unwrap_or(path);
        let end = (0..=file.len().min(15)).rev().find(|&end| file.is_char_boundary(end)).unwrap_or(0);
        let name = file[..end].to_owned();
        self.graph.texts.intern(&name)
    }

    pub(super) fn cpu(&self, cpu: CpuId) -> &CpuRecord {
        &self.cpus[cpu.0 as usize]
    }

    pub(super) fn cpu_mut(&mut self, cpu: CpuId) -> &mut CpuRecord {
        &mut self.cpus[cpu.0 as usize]
    }

    pub(super) fn thread(&self, thread: ThreadId) -> &ThreadRecord {
        &self.threads[thread.0 as usize]
    }

    pub(super) fn thread_mut(&mut self, thread: ThreadId) -> &mut ThreadRecord {
        &mut self.threads[thread.0 as usize]
    }

    fn cpu_of(&mut self, host: u32, number: Cpu) -> CpuId {
        if let Some(cpu) = self.hosts[host as usize].cpu(number) {
            return cpu;
        }
        let idle = self.add_thread(host, WorkerKind::Idle(number), TextId::EMPTY);
        let interrupts = self.add_thread(host, WorkerKind::Interrupts(number), TextId::EMPTY);
        self.thread_mut(interrupts).set(SchedStatus::Running);
        self.add_cpu(host, number, idle, interrupts)
    }

    pub(super) fn add_cpu(&mut self, host: u32, number: Cpu, idle: ThreadId, interrupts: ThreadId) -> CpuId {
        let id = CpuId(u32::try_from(self.cpus.len()).expect("at most 2^16 CPUs of 2^16 hosts"));
        self.cpus.push(CpuRecord::new(number, idle, interrupts));
        self.hosts[host as usize].set_cpu(number, id);
        id
    }

    pub(super) fn add_thread(&mut self, host: u32, kind: WorkerKind, name: TextId) -> ThreadId {
        let id = ThreadId(u32::try_from(self.threads.len()).expect("fewer than 2^32 threads"));
        self.threads.push(ThreadRecord::new(host, kind, name));
        id
    }

    pub(super) fn find_thread(&self, origin: EventOrigin, tid: Tid) -> Option<ThreadId> {
        match tid {
            Tid::IDLE => Some(self.cpu(origin.cpu).idle),
            tid => self.hosts[origin.host as usize].threads.get(tid),
        }
    }

    /// The thread with this tid; created on first use, and again after the last thread with this tid has ended.
    pub(super) fn thread_of(&mut self, origin: EventOrigin, tid: Tid) -> ThreadId {
        match self.find_thread(origin, tid) {
            Some(known) if self.thread(known).status == SchedStatus::Dead => {
                self.next_generation(origin, tid, known)
            }
            Some(known) => known,
            None => {
                let kind = WorkerKind::Thread { tid, generation: 0 };
                let thread = self.add_thread(origin.host, kind, TextId::EMPTY);
                self.hosts[origin.host as usize].threads.set(tid, thread);
                thread
            }
        }
    }

    /// The thread with this tid, after setting its name.
    pub(super) fn named_thread(&mut self, origin: EventOrigin, tid: Tid, name: TextId) -> ThreadId {
        let thread = self.thread_of(origin, tid);
        if name != TextId::EMPTY {
            self.thread_mut(thread).name = name;
        }
        thread
    }

    /// A thread that begins now. If an earlier thread with this tid has any vertices, this is the tid's next
    /// generation.
    pub(super) fn new_thread(&mut self, origin: EventOrigin, tid: Tid, name: TextId) -> ThreadId {
        let known = self.find_thread(origin, tid).filter(|_| tid != Tid::IDLE);
        let thread = match known.filter(|&known| self.thread(known).worker.is_some()) {
            Some(known) => self.next_generation(origin, tid, known),
            None => self.thread_of(origin, tid),
        };
        if name != TextId::EMPTY {
            self.thread_mut(thread).name = name;
        }
        thread
    }

    fn next_generation(&mut self, origin: EventOrigin, tid: Tid, last: ThreadId) -> ThreadId {
        let WorkerKind::Thread { generation, .. } = self.thread(last).kind else { return last };
        if let Some(cpu) = self.thread(last).runs_on {
            self.cpu_mut(cpu).current = None;
        }
        let kind = WorkerKind::Thread { tid, generation: generation + 1 };
        let thread = self.add_thread(origin.host, kind, TextId::EMPTY);
        self.hosts[origin.host as usize].threads.set(tid, thread);
        thread
    }

    /// The thread that runs on a CPU, if known.
    pub(super) fn current(&self, cpu: CpuId) -> Option<ThreadId> {
        self.cpu(cpu).current
    }

    pub(super) fn interrupts_of(&self, cpu: CpuId) -> ThreadId {
        self.cpu(cpu).interrupts
    }

    /// The thread that the record names as its writer, if the number is a valid tid.
    pub(super) fn writer_of(event: &KernelEvent) -> Option<Tid> {
        let writer = match event.kind {
            EventKind::Switch { prev, .. } => Some(prev),
            _ => event.recorded,
        };
        writer.filter(|tid| tid.0 <= TID_MAX)
    }

    /// Ends an edge of a thread at the current event. A pending received packet of the thread becomes a network edge.
    pub(super) fn append(
        &mut self,
        thread: ThreadId,
        origin: EventOrigin,
        edge: Option<WorkerState>,
    ) -> VertexHandle {
        self.append_at(thread, origin.time, origin.cpu, edge)
    }

    /// As [`StateTracker::append`], at another time.
    pub(super) fn append_at(
        &mut self,
        thread: ThreadId,
        time: KernelTime,
        cpu: CpuId,
        edge: Option<WorkerState>,
    ) -> VertexHandle {
        let worker = self.worker_of(thread);
        let number = self.cpu(cpu).number;
        let point = self.graph.append(worker, time, number, edge);
        if let Some(pending) = self.thread(thread).received.filter(|pending| pending.received_at != point) {
            self.thread_mut(thread).received = None;
            self.graph.link(pending.sent_at, pending.received_at, VerticalKind::State(WorkerState::Network));
        }
        point
    }

    /// Ends an edge with the thread's current state, without changing that state.
    pub(super) fn extend(&mut self, thread: ThreadId, origin: EventOrigin) -> VertexHandle {
        let state = self.thread(thread).status.edge();
        self.append(thread, origin, Some(state))
    }

    fn worker_of(&mut self, thread: ThreadId) -> WorkerId {
        let known = self.thread(thread);
        if let Some(worker) = known.worker {
            return worker;
        }
        let (host, kind) = (known.host, known.kind);
        let host_id = self.hosts[host as usize].id;
        let worker = self.graph.worker(host_id, kind, TextId::EMPTY);
        self.thread_mut(thread).worker = Some(worker);
        worker
    }

    /// The name of the thread that runs on a CPU.
    pub(super) fn current_name(&self, cpu: CpuId) -> TextId {
        self.current(cpu).map_or(TextId::EMPTY, |current| self.thread(current).name)
    }
}
