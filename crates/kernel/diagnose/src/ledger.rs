//! Sums of the time of many paths by cause, state, thread and kind of wait.

use crate::call_times::CallTimes;
use crate::intervals::{PathInterval, all_intervals};
use crate::names::{WorkerName, state_index, worker_name};
use crate::read::KernelRun;
use crate::waits::{WaitKey, WaitSum};
use laggard_kernel_graph::{CriticalPath, ExecutionGraph, WorkerId};
use laggard_report::{
    CallTime, CausedTime, KernelState, StateTime, WaitCause, WaitGroup, WaitInstance, WorkerTime,
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
    groups: BTreeMap<WaitKey, GroupSum>,
    calls: CallTimes,
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
    container: Option<String>,
    own: bool,
    states_ns: [u64; KernelState::ALL.len()],
    segments: u64,
}

#[derive(Clone, Default)]
struct GroupSum {
    sum: WaitSum,
    /// The last wait of this kind, by execution and number, and its time so far.
    current: Option<((u64, usize), u64)>,
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
        self.calls.add(entry.run_index, entry.graph, entry.path, &intervals);
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
            container: entry.graph.container(interval.worker),
            own: false,
            states_ns: [0; KernelState::ALL.len()],
            segments: 0,
        });
        worker.own |= interval.own;
        worker.states_ns[state_index(interval.state)] += ns;
        worker.segments += 1;
        if interval.cause != WaitCause::Computing {
            self.add_to_group(entry, interval);
        }
        if interval.own && interval.cause != WaitCause::Computing {
            self.retain_longest(|| instance(entry, interval), ns);
        }
    }

    fn add_to_group(&mut self, entry: Entry<'_>, interval: &PathInterval<'_>) {
        let key = WaitKey::new(entry.graph, entry.path, interval);
        let key = match self.groups.len() < GROUPS_MAX || self.groups.contains_key(&key) {
            true => key,
            false => WaitKey::pooled(key.cause),
        };
        let group = self.groups.entry(key).or_default();
        group.sum.add_interval(entry.graph, interval);
        let wait = (entry.execution, interval.wait);
        let before = group.current.filter(|(last, _)| *last == wait).map(|(_, ns)| ns);
        group.sum.count += u64::from(before.is_none());
        let ns = before.unwrap_or(0) + interval.ns();
        group.current = Some((wait, ns));
        if ns > group.longest_ns {
            let since =
                entry.path.segments.get(interval.wait).map_or(interval.from, |first| first.window.from);
            (group.longest_ns, group.longest_since_ns) = (ns, since.ns());
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
            container: sum.container.clone(),
            own: sum.own,
            total_ns,
            share: self.share(total_ns),
            states_ns: sum.states_ns,
            segments: sum.segments,
        }
    }

    /// Kinds of waits, the most time first.
    pub(crate) fn groups(&self) -> Vec<WaitGroup> {
        let mut groups: Vec<(&WaitKey, &GroupSum)> = self.groups.iter().collect();
        groups.sort_by(|a, b| b.1.sum.ns.cmp(&a.1.sum.ns).then_with(|| a.0.cmp(b.0)));
        groups.into_iter().take(GROUPS_MAX_LISTED).map(|(key, sum)| self.group(key, sum)).collect()
    }

    fn group(&self, key: &WaitKey, group: &GroupSum) -> WaitGroup {
        let sum = &group.sum;
        WaitGroup {
            description: key.words(sum),
            cause: key.cause,
            thread: key.thread.clone(),
            other: key.other_thread(sum),
            call: key.call.clone(),
            waker: key.waker().map(str::to_owned),
            resource: key.resource.clone(),
            count: sum.count,
            total_ns: sum.ns,
            share: self.share(sum.ns),
            longest_ns: group.longest_ns,
            longest_since_ns: group.longest_since_ns,
            cpu_users: sum.cpu_users.listed(),
            stacks: sum.stacks(),
        }
    }

    /// Time by system call, the most first; empty if none were recorded.
    pub(crate) fn calls(&self) -> Vec<CallTime> {
        self.calls.listed(self.total_ns)
    }

    pub(crate) fn longest(self) -> Vec<WaitInstance> {
        self.longest
    }
}

fn instance(entry: Entry<'_>, interval: &PathInterval<'_>) -> WaitInstance {
    let key = WaitKey::new(entry.graph, entry.path, interval);
    let mut sum = WaitSum::from_single(false);
    sum.add_interval(entry.graph, interval);
    let own = worker_name(entry.graph, entry.path.worker);
    WaitInstance {
        description: key.words(&sum),
        cause: interval.cause,
        execution: entry.execution,
        thread: own.name,
        tid: own.tid,
        call: key.call.clone(),
        waker: key.waker().map(str::to_owned),
        resource: key.resource,
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
    let key = WaitKey::new(entry.graph, entry.path, main);
    let mut sum = WaitSum::from_single(main.ns() < elapsed_ns);
    sum.add_interval(entry.graph, main);
    sum.ns = elapsed_ns;
    WaitInstance {
        description: key.words(&sum),
        cause,
        execution: entry.execution,
        thread: own.name,
        tid: own.tid,
        call: key.call,
        waker: Some(waker),
        resource,
        since_ns: first.from.ns(),
        since: entry.run.calendar_time(first.from),
        offset_ns: first.from.since(entry.path.window.from),
        elapsed_ns,
        idle_ns: group.iter().map(|row| row.idle_ns).sum(),
    }
}
