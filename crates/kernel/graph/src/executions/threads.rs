//! Tracks the running thread of each CPU, and the name, process, and container of each thread.

use super::fields::{field, number};
use crate::tid_map::TidMap;
use laggard_model::{Cpu, EventKind, KernelEvent, KernelTexts, TextId, ThreadMembership, Tid};
use std::collections::{HashMap, HashSet};

/// `CLONE_THREAD`: the new task belongs to its creator's process.
const CLONE_THREAD: u64 = 0x0001_0000;
/// Maximum number of ancestors searched for a process or container; only a cycle of reused tids is deeper.
const ANCESTORS_MAX: usize = 64;

/// Maximum number of moves between control groups whose hierarchy is remembered.
const MOVES_MAX: usize = 1 << 20;

#[derive(Clone, Copy, Debug, Default)]
struct KnownThread {
    name: TextId,
    parent: Option<Tid>,
    /// The process, if an event contained it.
    process: Option<Tid>,
    /// Control group or pid namespace; if empty, the parent's applies.
    container: TextId,
}

/// The thread running on a CPU, and its name when switched in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RunningThread {
    tid: Tid,
    name: TextId,
}

/// The name of a container of which only the pid namespace is known.
fn pid_namespace(inode: u32) -> String {
    format!("{PID_NAMESPACE}{inode}")
}

/// Prefix of the name of such a container; its inode follows.
pub(crate) const PID_NAMESPACE: &str = "pid namespace ";

/// The threads of one trace.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// By CPU.
    running: Vec<Option<RunningThread>>,
    /// Texts of thread names, copied from the trace's table.
    names: HashMap<TextId, String>,
    /// Paths of control groups and names of pid namespaces.
    containers: KernelTexts,
    threads: TidMap<KnownThread>,
    /// Moves between control groups, in time order.
    moves: Vec<GroupMove>,
}

/// A thread that was moved to a control group.
#[derive(Clone, Copy, Debug)]
struct GroupMove {
    tid: Tid,
    hierarchy: Option<u64>,
    container: TextId,
}

impl Threads {
    /// Applies an event. Must be called before the event is checked for marks.
    pub(crate) fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        match event.kind {
            EventKind::Switch { prev, prev_name, next, next_name, .. } => {
                let slot = self.slot(event.cpu);
                let before = slot.replace(RunningThread { tid: next, name: next_name });
                if before != Some(RunningThread { tid: prev, name: prev_name }) {
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
                *self.threads.entry(child) = KnownThread { parent: Some(parent), ..KnownThread::default() };
                self.rename(child, child_name, texts);
            }
            // A thread that executes a program becomes a process of its own; its other threads are gone.
            EventKind::Exec { tid, .. } => self.threads.entry(tid).process = Some(tid),
            EventKind::Statedump { tid, pid, name, .. } => {
                self.rename(tid, name, texts);
                self.threads.entry(tid).process = Some(pid);
            }
            EventKind::Namespace { tid, pid_ns, .. } => {
                self.threads.entry(tid).container = self.containers.intern(&pid_namespace(pid_ns));
            }
            EventKind::Lost { .. } => *self.slot(event.cpu) = None,
            EventKind::Other { name, fields } => self.other(texts.text(name), texts.text(fields), event),
            _ => {}
        }
    }

    /// Events in few traces: how a task was created, and its container.
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
                let container = self.containers.intern(path);
                self.threads.entry(tid).container = container;
                if self.moves.len() < MOVES_MAX {
                    self.moves.push(GroupMove { tid, hierarchy: number(fields, "dst_root"), container });
                }
            }
            // LTTng dumps one event per namespace of a thread; the innermost is last.
            "lttng_statedump_process_pid_ns" => {
                let Some((tid, inode)) = tid("tid").zip(field(fields, "ns_inum")) else { return };
                let Ok(inode) = inode.parse() else { return };
                self.threads.entry(tid).container = self.containers.intern(&pid_namespace(inode));
            }
            _ => {}
        }
    }

    /// The handle of a container or control group.
    pub(crate) fn container(&mut self, name: &str) -> TextId {
        self.containers.intern(name)
    }

    /// The handle of a container or control group, if any thread is in it.
    pub(crate) fn find_container(&self, name: &str) -> Option<TextId> {
        self.containers.find(name)
    }

    /// Forgets moves between control groups of other hierarchies than the one with this number.
    pub(crate) fn select_hierarchy(&mut self, number: u64) {
        let moves = std::mem::take(&mut self.moves);
        moves.iter().for_each(|moved| self.threads.entry(moved.tid).container = TextId::EMPTY);
        for moved in moves.iter().filter(|moved| moved.hierarchy == Some(number)) {
            self.threads.entry(moved.tid).container = moved.container;
        }
    }

    /// Adds a thread that the recorder saw, after the last event. What it saw at the end is later than any event; what it saw
    /// at the beginning is earlier, and of another thread where this one began during the recording.
    pub(crate) fn add_seen(&mut self, seen: &ThreadMembership, group: &str) {
        let group = self.containers.intern(group);
        let thread = self.threads.entry(seen.tid);
        if seen.at_end {
            (thread.process, thread.container) = (Some(seen.process), group);
        } else if thread.parent.is_none() {
            thread.process.get_or_insert(seen.process);
            if thread.container == TextId::EMPTY {
                thread.container = group;
            }
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

    /// The thread that wrote an event's record: the recorded one, else the one running on its CPU.
    pub(crate) fn acting(&self, event: &KernelEvent) -> Option<Tid> {
        event.recorded.or_else(|| self.running.get(usize::from(event.cpu.0))?.map(|running| running.tid))
    }

    fn slot(&mut self, cpu: Cpu) -> &mut Option<RunningThread> {
        let index = usize::from(cpu.0);
        if self.running.len() <= index {
            self.running.resize(index + 1, None);
        }
        &mut self.running[index]
    }

    /// The last name of a thread; empty if unknown.
    pub(crate) fn name_of(&self, tid: Tid) -> &str {
        let name = self.threads.get(tid).and_then(|thread| self.names.get(&thread.name));
        name.map_or("", String::as_str)
    }

    /// The process of a thread: recorded by an event, else that of the nearest ancestor that executed a program, else
    /// the oldest known ancestor. A forked child that executes no program belongs to its parent unless an event states
    /// otherwise.
    pub(crate) fn process_of(&self, tid: Tid) -> Tid {
        let mut ancestor = tid;
        for _ in 0..ANCESTORS_MAX {
            match self.threads.get(ancestor) {
                Some(KnownThread { process: Some(process), .. }) => return *process,
                Some(KnownThread { parent: Some(parent), .. }) => ancestor = *parent,
                _ => break,
            }
        }
        ancestor
    }

    /// The process of a thread, if it is known.
    pub(crate) fn known_process(&self, tid: Tid) -> Option<Tid> {
        let process = self.process_of(tid);
        self.threads.get(process).and_then(|thread| thread.process)
    }

    /// Whether a thread belongs to one of these processes, or to one that descends from them.
    pub(crate) fn descends_from(&self, tid: Tid, processes: &HashSet<Tid>) -> bool {
        let mut ancestor = tid;
        for _ in 0..ANCESTORS_MAX {
            if processes.contains(&ancestor) {
                return true;
            }
            match self.threads.get(ancestor) {
                Some(KnownThread { process: Some(process), .. }) if *process != ancestor => {
                    ancestor = *process
                }
                Some(KnownThread { parent: Some(parent), .. }) => ancestor = *parent,
                _ => break,
            }
        }
        false
    }

    /// The container of a thread or of its nearest ancestor that has one; empty if unknown.
    pub(crate) fn container_of(&self, tid: Tid) -> TextId {
        let mut ancestor = tid;
        for _ in 0..ANCESTORS_MAX {
            match self.threads.get(ancestor) {
                Some(thread) if thread.container != TextId::EMPTY => return thread.container,
                Some(KnownThread { parent: Some(parent), .. }) => ancestor = *parent,
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
