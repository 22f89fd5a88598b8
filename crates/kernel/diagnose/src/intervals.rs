//! Intervals of a path: equal neighboring segments are merged.

use crate::names::state;
use laggard_kernel_graph::{
    CallInterval, CriticalPath, ExecutionGraph, PathSegment, WaitStacks, WorkerId, WorkerState,
};
use laggard_model::{Cpu, KernelTime};
use laggard_report::{KernelState, WaitCause};

/// Neighboring segments of one worker in one state, for one reason.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PathInterval<'a> {
    pub(crate) worker: WorkerId,
    pub(crate) own: bool,
    pub(crate) state: KernelState,
    pub(crate) cause: WaitCause,
    pub(crate) from: KernelTime,
    pub(crate) to: KernelTime,
    /// The interrupt or device; empty if unknown.
    pub(crate) resource: &'a str,
    pub(crate) idle_ns: u64,
    /// Of waits for a CPU: where the thread runs in the end.
    pub(crate) cpu: Option<Cpu>,
    pub(crate) inferred: bool,
    /// Index of its first segment.
    pub(crate) first: usize,
    /// Index of the first segment of the wait of the execution's own thread that it is part of; a wait may have several
    /// intervals, of the threads that it was for.
    pub(crate) wait: usize,
    /// The call in which the worker waits.
    pub(crate) call: Option<CallInterval<'a>>,
    /// The call in which the execution's own thread waits meanwhile.
    pub(crate) own_call: Option<CallInterval<'a>>,
    /// Where the execution's own thread waits meanwhile, and where it is woken from.
    pub(crate) own_stacks: Option<WaitStacks<'a>>,
}

impl PathInterval<'_> {
    pub(crate) fn ns(&self) -> u64 {
        self.to.since(self.from)
    }
}

/// The intervals of a range of segments of a path (0-based, inclusive).
pub(crate) fn intervals<'a>(
    graph: &'a ExecutionGraph,
    path: &CriticalPath,
    segments: std::ops::RangeInclusive<usize>,
) -> Vec<PathInterval<'a>> {
    let mut out: Vec<PathInterval<'a>> = Vec::new();
    let last = *segments.end();
    for (index, segment) in
        path.segments.iter().enumerate().take(last.saturating_add(1)).skip(*segments.start())
    {
        let mut next = interval(graph, path, index, segment);
        next.wait = match out.last() {
            Some(before) if role(path, index - 1) == role(path, index) => before.wait,
            Some(_) => index,
            None => first_of_wait(path, index),
        };
        match out.last_mut() {
            Some(before) if is_continued(before, &next) => {
                before.to = next.to;
                before.idle_ns += next.idle_ns;
                before.inferred |= next.inferred;
            }
            _ => out.push(next),
        }
    }
    for interval in &mut out {
        let is_lock = interval.call.is_some_and(|call| is_lock(call.name));
        interval.cause =
            WaitCause::of(interval.state, interval.own, interval.ns(), interval.idle_ns).in_call(is_lock);
    }
    out
}

/// All intervals of a path.
pub(crate) fn all_intervals<'a>(graph: &'a ExecutionGraph, path: &CriticalPath) -> Vec<PathInterval<'a>> {
    intervals(graph, path, 0..=usize::MAX - 1)
}

/// Whether a wait in a system call is for a lock or a condition of the program.
fn is_lock(call: &str) -> bool {
    call.starts_with("futex") && call != "futex_wake"
}

/// The relation of a segment to the execution's own thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SegmentRole {
    Runs,
    Waits,
    OtherThread,
}

fn role(path: &CriticalPath, index: usize) -> SegmentRole {
    let segment = &path.segments[index];
    match segment.worker == path.worker {
        true if segment.state == WorkerState::Running => SegmentRole::Runs,
        true => SegmentRole::Waits,
        false => SegmentRole::OtherThread,
    }
}

fn first_of_wait(path: &CriticalPath, index: usize) -> usize {
    let before = (0..index).rev().take_while(|&before| role(path, before) == role(path, index));
    before.last().unwrap_or(index)
}

fn interval<'a>(
    graph: &'a ExecutionGraph,
    path: &CriticalPath,
    index: usize,
    segment: &PathSegment,
) -> PathInterval<'a> {
    let own = segment.worker == path.worker;
    let is_wait = segment.state != WorkerState::Running;
    let call = graph.call_at(segment.worker, segment.window.from).filter(|_| is_wait);
    PathInterval {
        worker: segment.worker,
        own,
        state: state(segment.state),
        cause: WaitCause::Unknown,
        from: segment.window.from,
        to: segment.window.to,
        resource: graph.texts().text(segment.qualifier),
        idle_ns: segment.idle_ns,
        cpu: segment.cpu,
        inferred: segment.inferred,
        first: index,
        wait: index,
        call,
        own_call: if own { call } else { graph.call_at(path.worker, segment.window.from) },
        own_stacks: if own && !is_blocked(segment.state) {
            None
        } else {
            graph.stacks_at(path.worker, segment.window.from)
        },
    }
}

/// Whether a thread in this state has left its CPU to wait.
fn is_blocked(state: WorkerState) -> bool {
    !matches!(
        state,
        WorkerState::Running | WorkerState::Preempted | WorkerState::Throttled | WorkerState::Unknown
    )
}

fn is_continued(a: &PathInterval<'_>, b: &PathInterval<'_>) -> bool {
    let is_same = (a.worker, a.state, a.resource, a.cpu) == (b.worker, b.state, b.resource, b.cpu);
    is_same && (a.call, a.own_call) == (b.call, b.own_call) && a.to == b.from
}

/// The sender of the packet that an interval waits for: the path came from it when the interval began.
pub(crate) fn sender(path: &CriticalPath, interval: &PathInterval<'_>) -> Option<WorkerId> {
    let first = path.links.partition_point(|link| link.from_time < interval.from);
    let begun = path.links[first..].iter().take_while(|link| link.from_time == interval.from);
    begun.filter(|link| link.network && link.to == interval.worker).map(|link| link.from).last()
}
