//! Time of paths by the system call of the execution's own thread, and what the thread waited for in it.

use crate::intervals::PathInterval;
use crate::names::worker_name;
use laggard_kernel_graph::{CallInterval, CriticalPath, ExecutionGraph, Window};
use laggard_report::{CallTime, CausedTime, WaitCause};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of wakers that are counted by name for a call.
const WAKERS_MAX: usize = 1_000;

/// Maximum number of calls in a report.
const LISTED_MAX: usize = 60;

/// The name of the time outside of calls.
const USER_MODE: &str = "user mode";

/// Sums by call, of executions whose trace has calls.
#[derive(Debug, Default)]
pub(crate) struct CallTimes {
    calls: BTreeMap<String, CallSum>,
}

#[derive(Debug, Default)]
struct CallSum {
    count: u64,
    ran_ns: u64,
    longest_ns: u64,
    waits: BTreeMap<WaitCause, (u64, u64)>,
    wakers: BTreeMap<String, u64>,
    /// The last call: the run and its beginning, and its time so far.
    current: Option<((usize, u64), u64)>,
}

impl CallSum {
    fn total_ns(&self) -> u64 {
        self.ran_ns + self.waits.values().map(|(ns, _)| ns).sum::<u64>()
    }

    /// Adds time of one call.
    fn add(&mut self, call: (usize, u64), ns: u64) {
        let before = match self.current {
            Some((last, before)) if last == call => before,
            _ => {
                self.count += 1;
                0
            }
        };
        self.current = Some((call, before + ns));
        self.longest_ns = self.longest_ns.max(before + ns);
    }
}

impl CallTimes {
    /// Adds the intervals of a path of one of several runs (by its index).
    pub(crate) fn add(
        &mut self,
        run: usize,
        graph: &ExecutionGraph,
        path: &CriticalPath,
        intervals: &[PathInterval<'_>],
    ) {
        if !graph.has_calls() {
            return;
        }
        for interval in intervals {
            match interval.cause {
                WaitCause::Computing => self.add_running(run, graph, interval),
                _ => self.add_wait(run, interval),
            }
        }
        for wait in intervals.chunk_by(|a, b| a.own == b.own) {
            let (Some(first), Some(last)) = (wait.first(), wait.last()) else { continue };
            let waker = worker_name(graph, last.worker);
            let Some(call) = first.own_call.filter(|_| !first.own && waker.tid.is_some()) else { continue };
            let wakers = &mut self.sum(Some(call)).wakers;
            let waker = waker.with_host();
            if wakers.len() < WAKERS_MAX || wakers.contains_key(&waker) {
                *wakers.entry(waker).or_default() += last.to.since(first.from);
            }
        }
        debug_assert_eq!(intervals.iter().map(PathInterval::ns).sum::<u64>(), path.window.ns());
    }

    fn sum(&mut self, call: Option<CallInterval<'_>>) -> &mut CallSum {
        let name = call.map_or(USER_MODE, |call| call.name);
        if !self.calls.contains_key(name) {
            self.calls.insert(name.to_owned(), CallSum::default());
        }
        self.calls.get_mut(name).expect("it was inserted")
    }

    /// Splits time in which the thread itself ran into its calls and user mode.
    fn add_running(&mut self, run: usize, graph: &ExecutionGraph, interval: &PathInterval<'_>) {
        let window = Window { from: interval.from, to: interval.to };
        let mut user_ns = window.ns();
        for call in graph.calls_within(interval.worker, window) {
            let ns = call.window.to.min(window.to).since(call.window.from.max(window.from));
            user_ns = user_ns.saturating_sub(ns);
            let sum = self.sum(Some(call));
            sum.ran_ns += ns;
            sum.add((run, call.window.from.ns()), ns);
        }
        if user_ns > 0 {
            let sum = self.sum(None);
            sum.ran_ns += user_ns;
            sum.add((run, interval.from.ns()), user_ns);
        }
    }

    fn add_wait(&mut self, run: usize, interval: &PathInterval<'_>) {
        let begin = interval.own_call.map_or(interval.from, |call| call.window.from);
        let sum = self.sum(interval.own_call);
        let (ns, segments) = sum.waits.entry(interval.cause).or_default();
        (*ns, *segments) = (*ns + interval.ns(), *segments + 1);
        sum.add((run, begin.ns()), interval.ns());
    }

    /// The calls with the most time, that first; `total_ns` is that of all paths.
    pub(crate) fn listed(&self, total_ns: u64) -> Vec<CallTime> {
        let mut calls: Vec<CallTime> =
            self.calls.iter().map(|(name, sum)| call_time(name, sum, total_ns)).collect();
        calls.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.call.cmp(&b.call)));
        calls.truncate(LISTED_MAX);
        calls
    }
}

fn call_time(name: &str, sum: &CallSum, total_ns: u64) -> CallTime {
    let share = |ns: u64| if total_ns == 0 { 0.0 } else { ns as f64 / total_ns as f64 };
    let row = |(&cause, &(ns, segments)): (&WaitCause, &(u64, u64))| CausedTime {
        cause,
        total_ns: ns,
        share: share(ns),
        segments,
    };
    let mut waits: Vec<CausedTime> = sum.waits.iter().map(row).collect();
    waits.sort_by_key(|row| (Reverse(row.total_ns), row.cause));
    let waker = sum.wakers.iter().max_by_key(|&(name, ns)| (*ns, Reverse(name)));
    CallTime {
        call: name.to_owned(),
        is_user_mode: name == USER_MODE,
        count: sum.count,
        total_ns: sum.total_ns(),
        share: share(sum.total_ns()),
        ran_ns: sum.ran_ns,
        longest_ns: sum.longest_ns,
        waits,
        waker: waker.map(|(name, _)| name.clone()),
    }
}
