//! Who runs where, what threads are called, and which process and container they belong to, as far as events tell.

use super::fields::{field, number};
use crate::tid_map::TidMap;
use laggard_model::{Cpu, EventKind, KernelEvent, KernelTexts, TextId, Tid};
use std::collections::HashMap;

/// `CLONE_THREAD`: the new task is a thread of its maker's process.
const CLONE_THREAD: u64 = 0x0001_0000;
/// How many parents are asked for a process or a container at most: nothing but a loop of reused tids is deeper.
const ANCESTORS_MAX: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    name: TextId,
    parent: Option<Tid>,
    /// The process, once an event has told it.
    process: Option<Tid>,
    /// Control group or pid namespace; empty: that of the parent.
    container: TextId,
}

/// Who runs on a CPU, under which name it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Running {
    tid: Tid,
    name: TextId,
}

/// The threads of one trace.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// By CPU.
    running: Vec<Option<Running>>,
    /// Texts of thread names seen, so that they can be told when the trace's table is gone.
    names: HashMap<TextId, String>,
    /// Paths of control groups and names of pid namespaces: texts of events, not of the trace.
    containers: KernelTexts,
    threads: TidMap<Thread>,
}

impl Threads {
    /// Learns from an event. To be called before the event is looked at for marks.
    pub(crate) fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        match event.kind {
            EventKind::Switch { prev, prev_name, next, next_name, .. } => {
                let slot = self.slot(event.cpu);
                let before = slot.replace(Running { tid: next, name: next_name });
                if before != Some(Running { tid: prev, name: prev_name }) {
                    self.rename(prev, prev_name, texts);
                }
                self.rename(next, next_name, texts);
            }
            EventKind::Waking { tid, name, .. }
            | EventKind::Wakeup { tid, name, .. }
            | EventKind::WakeupNew { tid, name, .. }
            | EventKind::TryToWakeUp { tid, name, .. }
            | EventKind::Rename { tid, name } => self.rename(tid, name, texts),
            EventKind::Fork { parent, child, child_name } => {
                *self.threads.entry(child) = Thread { parent: Some(parent), ..Thread::default() };
                self.rename(child, child_name, texts);
            }
            // Whoever executes a program is a process of its own; its other threads are gone.
            EventKind::Exec { tid, .. } => self.threads.entry(tid).process = Some(tid),
            EventKind::Statedump { tid, pid, name, .. } => {
                self.rename(tid, name, texts);
                self.threads.entry(tid).process = Some(pid);
            }
            EventKind::Lost { .. } => *self.slot(event.cpu) = None,
            EventKind::Other { name, fields } => self.other(texts.text(name), texts.text(fields), event),
            _ => {}
        }
    }

    /// Events that few traces have: how a task was made, and which container it is in.
    fn other(&mut self, name: &str, fields: &str, event: &KernelEvent) {
        let tid = |name: &str| number(fields, name).and_then(|tid| u32::try_from(tid).ok()).map(Tid);
        match name {
            "task_newtask" => {
                let (Some(child), Some(flags), Some(maker)) =
                    (tid("pid"), number(fields, "clone_flags"), self.acting(event))
                else {
                    return;
                };
                let process = if flags & CLONE_THREAD == 0 { child } else { self.process_of(maker) };
                let thread = self.threads.entry(child);
                thread.parent.get_or_insert(maker);
                thread.process = Some(process);
            }
            "cgroup_attach_task" => {
                let Some((tid, path)) = tid("pid").zip(field(fields, "dst_path")) else { return };
                self.threads.entry(tid).container = self.containers.intern(path);
            }
            // LTTng dumps one line a namespace a thread is in; the innermost comes last.
            "lttng_statedump_process_pid_ns" => {
                let Some((tid, inode)) = tid("tid").zip(field(fields, "ns_inum")) else { return };
                self.threads.entry(tid).container = self.containers.intern(&format!("pid namespace {inode}"));
            }
            _ => {}
        }
    }

    fn rename(&mut self, tid: Tid, name: TextId, texts: &KernelTexts) {
        if name == TextId::EMPTY || tid == Tid::IDLE {
            return;
        }
        let thread = self.threads.entry(tid);
        if thread.name != name {
            thread.name = name;
            self.names.entry(name).or_insert_with(|| texts.text(name).to_owned());
        }
    }

    /// The thread that wrote an event's record: as it says itself, else the one its CPU runs.
    pub(crate) fn acting(&self, event: &KernelEvent) -> Option<Tid> {
        event.recorded.or_else(|| self.running.get(usize::from(event.cpu.0))?.map(|running| running.tid))
    }

    fn slot(&mut self, cpu: Cpu) -> &mut Option<Running> {
        let index = usize::from(cpu.0);
        if self.running.len() <= index {
            self.running.resize(index + 1, None);
        }
        &mut self.running[index]
    }

    /// The last name of a thread; empty when never told.
    pub(crate) fn name_of(&self, tid: Tid) -> &str {
        let name = self.threads.get(tid).and_then(|thread| self.names.get(&thread.name));
        name.map_or("", String::as_str)
    }

    /// The process of a thread: as an event told it, else that of the nearest ancestor that executed a program, else
    /// the eldest known ancestor. A forked child that executes nothing counts with its parent unless an event tells.
    pub(crate) fn process_of(&self, tid: Tid) -> Tid {
        let mut at = tid;
        for _ in 0..ANCESTORS_MAX {
            match self.threads.get(at) {
                Some(Thread { process: Some(process), .. }) => return *process,
                Some(Thread { parent: Some(parent), .. }) => at = *parent,
                _ => break,
            }
        }
        at
    }

    /// The container of a thread or of its nearest ancestor that has one; empty when no event told any.
    pub(crate) fn container_of(&self, tid: Tid) -> TextId {
        let mut at = tid;
        for _ in 0..ANCESTORS_MAX {
            match self.threads.get(at) {
                Some(thread) if thread.container != TextId::EMPTY => return thread.container,
                Some(Thread { parent: Some(parent), .. }) => at = *parent,
                _ => break,
            }
        }
        TextId::EMPTY
    }

    /// The name of a container.
    pub(crate) fn container_name(&self, container: TextId) -> &str {
        self.containers.text(container)
    }
}
