//! Groups the waits on a path by who waits for whom, in which call, and why.

use crate::cpu_users::{CpuUsers, relation_kind};
use crate::intervals::{PathInterval, sender};
use crate::names::{WorkerName, worker_name};
use laggard_kernel_graph::{CriticalPath, ExecutionGraph, WorkerId};
use laggard_report::{
    CpuUserKind, KernelState, OtherThread, WaitCallStacks, WaitCause, WaitFacts, wait_words,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

// Limit: distinct call stacks of a kind of waits | further ones are not counted
/// Maximum number of call stacks that are counted for a kind of waits.
const STACKS_MAX: usize = 1_000;
/// Call stacks of a kind of waits in a report.
const STACKS_LISTED: usize = 3;

/// Maximum number of distinct threads that are counted for a kind of waits.
const TIDS_MAX: usize = 1_000;

/// Key of a group of waits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct WaitKey {
    /// The cause, of the other thread if there is one.
    pub(crate) cause: WaitCause,
    /// The execution's own thread.
    pub(crate) thread: String,
    /// The thread that the execution's own thread waited for.
    other: Option<OtherKey>,
    /// The system call in which the execution's own thread waited.
    pub(crate) call: Option<String>,
    /// Who sent the packet that ended a wait for the network.
    sender: Option<String>,
    /// The interrupt or device.
    pub(crate) resource: Option<String>,
}

/// Other threads that are listed together: by name, and where that is the own thread's name or they are in another container, by
/// their relation to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct OtherKey {
    name: String,
    is_namesake: bool,
    kind: CpuUserKind,
    container: Option<String>,
}

impl WaitKey {
    /// The kind of wait of an interval.
    pub(crate) fn new(graph: &ExecutionGraph, path: &CriticalPath, interval: &PathInterval<'_>) -> WaitKey {
        let own = worker_name(graph, path.worker);
        let sender = if interval.state == KernelState::Network { sender(path, interval) } else { None };
        // A thread that waits for a CPU does so after the call's work, or between.
        let is_for_cpu = interval.own && is_for_cpu(interval.cause);
        WaitKey {
            cause: interval.cause,
            other: (!interval.own).then(|| OtherKey::new(graph, path.worker, interval.worker)),
            thread: own.name,
            call: interval.own_call.filter(|_| !is_for_cpu).map(|call| call.name.to_owned()),
            sender: sender.map(|sender| worker_name(graph, sender).with_host()),
            resource: (!interval.resource.is_empty()).then(|| interval.resource.to_owned()),
        }
    }

    /// For all further kinds of waits with this cause.
    pub(crate) fn pooled(cause: WaitCause) -> WaitKey {
        let thread = "(other)".to_owned();
        WaitKey { cause, thread, other: None, call: None, sender: None, resource: None }
    }

    /// A step that a thread lacks.
    pub(crate) fn missing_step(cause: WaitCause, thread: String) -> WaitKey {
        WaitKey { thread, ..WaitKey::pooled(cause) }
    }

    /// Who is waited for, or who sent the packet that ended the wait.
    pub(crate) fn waker(&self) -> Option<&str> {
        self.other.as_ref().map(|other| other.name.as_str()).or(self.sender.as_deref())
    }

    /// The thread that is waited for.
    pub(crate) fn other_thread(&self, sum: &WaitSum) -> Option<OtherThread> {
        let other = self.other.as_ref()?;
        let mut tids = sum.tids.iter();
        let only = tids.next().copied().filter(|_| tids.next().is_none());
        Some(OtherThread {
            thread: other.name.clone(),
            tid: only,
            is_namesake: other.is_namesake,
            kind: other.kind,
            container: other.container.clone(),
        })
    }

    /// Such waits in words.
    pub(crate) fn words(&self, sum: &WaitSum) -> String {
        let (other, cpu_users) = (self.other_thread(sum), sum.cpu_users.listed());
        wait_words(
            self.cause,
            WaitFacts {
                count: sum.count,
                total_ns: sum.ns,
                waker: self.sender.as_deref(),
                resource: self.resource.as_deref(),
                cpu_users: &cpu_users,
                call: self.call.as_deref(),
                other: other.as_ref(),
                is_mostly: sum.is_mostly,
            },
        )
    }
}

const fn is_for_cpu(cause: WaitCause) -> bool {
    matches!(
        cause,
        WaitCause::Computing
            | WaitCause::CpuBusy
            | WaitCause::CpuQuota
            | WaitCause::CpuWakeUp
            | WaitCause::Interrupt
    )
}

impl OtherKey {
    fn new(graph: &ExecutionGraph, own: WorkerId, other: WorkerId) -> OtherKey {
        let name = worker_name(graph, other).with_host();
        let kind = relation_kind(graph.relation(own, other));
        let container = graph.container(other).filter(|_| kind == CpuUserKind::OtherContainer);
        let is_namesake = name == worker_name(graph, own).with_host();
        let is_told = is_namesake || matches!(kind, CpuUserKind::OtherContainer | CpuUserKind::Host);
        OtherKey { name, is_namesake, kind: if is_told { kind } else { CpuUserKind::Unknown }, container }
    }
}

/// Sums of waits of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitSum {
    /// Waits of the execution's own thread.
    pub(crate) count: u64,
    pub(crate) ns: u64,
    pub(crate) cpu_users: CpuUsers,
    /// Whether the reason is that of most of the time only.
    pub(crate) is_mostly: bool,
    /// Numbers of the other threads.
    tids: BTreeSet<u32>,
    /// Time by the call stacks of the execution's own thread and of whoever woke it.
    stacks: BTreeMap<(String, String), u64>,
}

impl WaitSum {
    /// One wait without an interval yet; with `is_mostly`, the reason is that of most of its time only.
    pub(crate) fn from_single(is_mostly: bool) -> WaitSum {
        WaitSum { count: 1, is_mostly, ..WaitSum::default() }
    }

    /// Adds an interval of a wait.
    pub(crate) fn add_interval(&mut self, graph: &ExecutionGraph, interval: &PathInterval<'_>) {
        self.ns += interval.ns();
        self.cpu_users.add_interval(graph, interval);
        if !interval.own {
            let WorkerName { tid, .. } = worker_name(graph, interval.worker);
            self.tids.extend(tid.filter(|_| self.tids.len() < TIDS_MAX));
        }
        if let Some(stacks) = interval.own_stacks {
            self.add_stacks((stacks.waiting.to_owned(), stacks.waking.to_owned()), interval.ns());
        }
    }

    /// Adds other waits of this kind, but for their number.
    pub(crate) fn merge(&mut self, others: &WaitSum) {
        self.ns += others.ns;
        self.cpu_users.merge(&others.cpu_users);
        let room = TIDS_MAX.saturating_sub(self.tids.len());
        self.tids.extend(others.tids.iter().take(room));
        others.stacks.iter().for_each(|(stacks, &ns)| self.add_stacks(stacks.clone(), ns));
    }

    fn add_stacks(&mut self, stacks: (String, String), ns: u64) {
        if self.stacks.len() < STACKS_MAX || self.stacks.contains_key(&stacks) {
            *self.stacks.entry(stacks).or_default() += ns;
        }
    }

    /// The call stacks with the most time, that first; empty if none were recorded.
    pub(crate) fn stacks(&self) -> Vec<WaitCallStacks> {
        let mut stacks: Vec<_> = self.stacks.iter().collect();
        stacks.sort_by_key(|&(stacks, ns)| (Reverse(*ns), stacks));
        let functions = |stack: &str| stack.split_whitespace().map(str::to_owned).collect();
        let row = |((waiting, waking), &total_ns): (&(String, String), &u64)| WaitCallStacks {
            waiting: functions(waiting),
            waking: functions(waking),
            total_ns,
        };
        stacks.into_iter().take(STACKS_LISTED).map(row).collect()
    }
}
