//! Sums of the time of many paths by cause, state, thread and kind of wait.

use crate::cpu_users::CpuUsers;
use crate::intervals::{PathInterval, all_intervals, sender};
use crate::names::{WorkerName, state_index, worker_name};
use crate::read::KernelRun;
use laggard_kernel_graph::{CriticalPath, ExecutionGraph, WorkerId};
use laggard_report::{
    CausedTime, KernelState, StateTime, WaitCause, WaitFacts, WaitGroup, WaitInstance, WorkerTime, wait_words,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of kinds of waits; further ones are counted as one.
const GROUPS_MAX: usize = 20_000;

/// Maximum number of kinds of waits, threads and single waits in a report.
pub(crate) const GROUPS_MAX_LISTED: usize = 200;
pub(crate) const WORKERS_MAX: usize = 200;
const INSTANCES_MAX: usize = 50;

/// Sums over paths. They do not depend on the order of the paths; of equal waits the first is listed.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) total_ns: u64,
    causes: BTreeMap<WaitCause, Sum>,
    states: BTreeMap<(KernelState, bool), StateSum>,
    workers: BTreeMap<(usize, WorkerId), WorkerSum>,
    groups: BTreeMap<GroupKey, GroupSum>,
    longest: Vec<WaitInstance>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    ns: u64,
    segments: u64,
}

#[derive(Clone, Copy, Default)]
struct StateSum {
    ns: u64,
    segments: u64,
    longest_ns: u64,
    idle_ns: u64,
}

struct WorkerSum {
    name: WorkerName,
    own: bool,
    states_ns: [u64; KernelState::ALL.len()],
    segments: u64,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey {
    cause: WaitCause,
    thread: String,
    waker: Option<String>,
    resource: Option<String>,
}

#[derive(Clone, Default)]
struct GroupSum {
    cpu_users: CpuUsers,
    count: u64,
    ns: u64,
    longest_ns: u64,
    longest_since_ns: u64,
}

/// An execution's path with its run.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// Index of the run.
    pub(crate) run_index: usize,
    pub(crate) run: &'a KernelRun,
    pub(crate) graph: &'a ExecutionGraph,
    /// The execution's number, from 1.
    pub(crate) execution: u64,
    pub(crate) path: &'a CriticalPath,
}

impl Ledger {
    /// Adds one path; returns its intervals.
    pub(crate) fn add<'a>(&mut self, entry: Entry<'a>) -> Vec<PathInterval<'a>> {
        let intervals = all_intervals(entry.graph, entry.path);
        for interval in &intervals {
            self.add_interval(entry, interval);
        }
        self.add_excursions(entry, &intervals);
        intervals
    }

    fn add_interval(&mut self, entry: Entry<'_>, interval: &PathInterval<'_>) {
        let ns = interval.ns();
        self.total_ns += ns;
        let cause = self.causes.entry(interval.cause).or_default();
        (cause.ns, cause.segments) = (cause.ns + ns, cause.segments + 1);
        let state = self.states.entry((interval.state, interval.own)).or_default();
        state.ns += ns;
        state.segments += 1;
        state.longest_ns = state.longest_ns.max(ns);
        state.idle_ns += interval.idle_ns;
        let worker = self.workers.entry((entry.run_index, interval.worker)).or_insert_with(|| WorkerSum {
            name: worker_name(entry.graph, interval.worker),
            own: false,
            states_ns: [0; KernelState::ALL.len()],
            segments: 0,
        });
        worker.own |= interval.own;
        worker.states_ns[state_index(interval.state)] += ns;
        worker.segments += 1;
        if interval.cause != WaitCause::Computing {
            self.add_to_group(group_key(entry, interval), entry.graph, interval);
        }
        if interval.own && interval.cause != WaitCause::Computing {
            self.retain_longest(|| instance(entry, interval), ns);
        }
    }

    fn add_to_group(&mut self, key: GroupKey, graph: &ExecutionGraph, interval: &PathInterval<'_>) {
        let (since_ns, ns) = (interval.from.ns(), interval.ns());
        let key = match self.groups.len() < GROUPS_MAX || self.groups.contains_key(&key) {
            true => key,
            false => GroupKey { thread: "(other)".to_owned(), waker: None, resource: None, ..key },
        };
        let group = self.groups.entry(key).or_default();
        group.cpu_users.add_interval(graph, interval);
        group.count += 1;
        group.ns += ns;
        if ns > group.longest_ns {
            (group.longest_ns, group.longest_since_ns) = (ns, since_ns);
        }
    }

    /// Adds successive intervals of other threads as one wait for the thread of the last one.
    fn add_excursions(&mut self, entry: Entry<'_>, intervals: &[PathInterval<'_>]) {
        for group in intervals.chunk_by(|a, b| a.own == b.own) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            if !first.own {
                self.retain_longest(|| excursion(entry, group), last.to.since(first.from));
            }
        }
    }

    /// Adds a wait if it is among the longest; only then `make` is called.
    fn retain_longest(&mut self, make: impl FnOnce() -> WaitInstance, ns: u64) {
        if ns == 0 || self.longest.len() >= INSTANCES_MAX && ns <= self.longest[INSTANCES_MAX - 1].elapsed_ns
        {
            return;
        }
        let index = self.longest.partition_point(|row| row.elapsed_ns >= ns);
        self.longest.insert(index, make());
        self.longest.truncate(INSTANCES_MAX);
    }

    fn share(&self, ns: u64) -> f64 {
        if self.total_ns == 0 { 0.0 } else { ns as f64 / self.total_ns as f64 }
    }

    pub(crate) fn causes(&self) -> Vec<CausedTime> {
        let row = |(&cause, sum): (&WaitCause, &Sum)| CausedTime {
            cause,
            total_ns: sum.ns,
            share: self.share(sum.ns),
            segments: sum.segments,
        };
        let mut causes: Vec<CausedTime> = self.causes.iter().map(row).collect();
        causes.sort_by_key(|row| (Reverse(row.total_ns), row.cause));
        causes
    }

    pub(crate) fn states(&self) -> Vec<StateTime> {
        let row = |(&(state, own), sum): (&(KernelState, bool), &StateSum)| StateTime {
            state,
            own,
            total_ns: sum.ns,
            share: self.share(sum.ns),
            segments: sum.segments,
            longest_ns: sum.longest_ns,
            idle_ns: sum.idle_ns,
        };
        let mut states: Vec<StateTime> = self.states.iter().map(row).collect();
        states.sort_by_key(|row| (row.state, !row.own));
        states
    }

    /// All threads, the most time first.
    pub(crate) fn workers(&self) -> Vec<WorkerTime> {
        let mut workers: Vec<WorkerTime> = self.workers.values().map(|sum| self.worker(sum)).collect();
        workers.sort_by(|a, b| {
            b.total_ns.cmp(&a.total_ns).then_with(|| (a.tid, &a.thread).cmp(&(b.tid, &b.thread)))
        });
        workers
    }

    fn worker(&self, sum: &WorkerSum) -> WorkerTime {
        let total_ns = sum.states_ns.iter().sum();
        WorkerTime {
            thread: sum.name.name.clone(),
            tid: sum.name.tid,
            host: sum.name.host.clone(),
            own: sum.own,
            total_ns,
            share: self.share(total_ns),
            states_ns: sum.states_ns,
            segments: sum.segments,
        }
    }

    /// Kinds of waits, the most time first.
    pub(crate) fn groups(&self) -> Vec<WaitGroup> {
        let mut groups: Vec<(&GroupKey, &GroupSum)> = self.groups.iter().collect();
        groups.sort_by(|a, b| b.1.ns.cmp(&a.1.ns).then_with(|| a.0.cmp(b.0)));
        groups.into_iter().take(GROUPS_MAX_LISTED).map(|(key, sum)| self.group(key, sum)).collect()
    }

    fn group(&self, key: &GroupKey, sum: &GroupSum) -> WaitGroup {
        let cpu_users = sum.cpu_users.listed();
        let facts = WaitFacts {
            count: sum.count,
            total_ns: sum.ns,
            waker: key.waker.as_deref(),
            resource: key.resource.as_deref(),
            cpu_users: &cpu_users,
        };
        WaitGroup {
            description: wait_words(key.cause, facts),
            cause: key.cause,
            thread: key.thread.clone(),
            waker: key.waker.clone(),
            resource: key.resource.clone(),
            count: sum.count,
            total_ns: sum.ns,
            share: self.share(sum.ns),
            longest_ns: sum.longest_ns,
            longest_since_ns: sum.longest_since_ns,
            cpu_users,
        }
    }

    pub(crate) fn longest(self) -> Vec<WaitInstance> {
        self.longest
    }
}

/// A wait: the waiting thread, the thread that ends it, and the resource. Work of another thread is a wait of the
/// execution's own thread.
pub(crate) struct Wait {
    pub(crate) thread: WorkerName,
    pub(crate) waker: Option<String>,
    pub(crate) resource: Option<String>,
}

pub(crate) fn wait_of(graph: &ExecutionGraph, path: &CriticalPath, interval: &PathInterval<'_>) -> Wait {
    let works = interval.cause == WaitCause::OtherThread;
    let sender = if interval.state == KernelState::Network { sender(path, interval) } else { None };
    let waker = if works { Some(interval.worker) } else { sender };
    Wait {
        thread: worker_name(graph, if works { path.worker } else { interval.worker }),
        waker: waker.map(|waker| worker_name(graph, waker).with_host()),
        resource: (!interval.resource.is_empty()).then(|| interval.resource.to_owned()),
    }
}

fn group_key(entry: Entry<'_>, interval: &PathInterval<'_>) -> GroupKey {
    let Wait { thread, waker, resource } = wait_of(entry.graph, entry.path, interval);
    GroupKey { cause: interval.cause, thread: thread.name, waker, resource }
}

fn instance(entry: Entry<'_>, interval: &PathInterval<'_>) -> WaitInstance {
    let Wait { thread, waker, resource } = wait_of(entry.graph, entry.path, interval);
    let mut users = CpuUsers::default();
    users.add_interval(entry.graph, interval);
    let cpu_users = users.listed();
    let facts = WaitFacts {
        cpu_users: &cpu_users,
        count: 1,
        total_ns: interval.ns(),
        waker: waker.as_deref(),
        resource: resource.as_deref(),
    };
    WaitInstance {
        description: wait_words(interval.cause, facts),
        cause: interval.cause,
        execution: entry.execution,
        thread: thread.name,
        tid: thread.tid,
        waker,
        resource,
        since_ns: interval.from.ns(),
        since: entry.run.calendar_time(interval.from),
        offset_ns: interval.from.since(entry.path.window.from),
        elapsed_ns: interval.ns(),
        idle_ns: interval.idle_ns,
    }
}

/// A wait for other threads, described by the cause of most of it and the thread that ended it.
fn excursion(entry: Entry<'_>, group: &[PathInterval<'_>]) -> WaitInstance {
    let (first, last) = (group[0], group[group.len() - 1]);
    let main = group.iter().max_by_key(|row| (row.ns(), Reverse(row.first))).unwrap_or(&first);
    let own = worker_name(entry.graph, entry.path.worker);
    let waker = worker_name(entry.graph, last.worker).with_host();
    let elapsed_ns = last.to.since(first.from);
    let cause = main.cause;
    let resource = (!main.resource.is_empty()).then(|| main.resource.to_owned());
    let facts = WaitFacts {
        count: 1,
        total_ns: elapsed_ns,
        waker: Some(&waker),
        resource: resource.as_deref(),
        ..WaitFacts::default()
    };
    let words = match cause {
        WaitCause::OtherThread => wait_words(cause, facts),
        _ => format!("{}, mostly {}", wait_words(WaitCause::OtherThread, facts), cause.clause()),
    };
    WaitInstance {
        description: words.replace(", which ran, mostly", ", which was mostly"),
        cause,
        execution: entry.execution,
        thread: own.name,
        tid: own.tid,
        waker: Some(waker),
        resource,
        since_ns: first.from.ns(),
        since: entry.run.calendar_time(first.from),
        offset_ns: first.from.since(entry.path.window.from),
        elapsed_ns,
        idle_ns: group.iter().map(|row| row.idle_ns).sum(),
    }
}
