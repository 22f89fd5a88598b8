//! Intervals of a path: equal neighboring segments are merged.

use crate::names::state;
use laggard_kernel_graph::{CriticalPath, ExecutionGraph, PathSegment, WorkerId};
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
        let next = interval(graph, path, index, segment);
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
        interval.cause = WaitCause::of(interval.state, interval.own, interval.ns(), interval.idle_ns);
    }
    out
}

/// All intervals of a path.
pub(crate) fn all_intervals<'a>(graph: &'a ExecutionGraph, path: &CriticalPath) -> Vec<PathInterval<'a>> {
    intervals(graph, path, 0..=usize::MAX - 1)
}

fn interval<'a>(
    graph: &'a ExecutionGraph,
    path: &CriticalPath,
    index: usize,
    segment: &PathSegment,
) -> PathInterval<'a> {
    PathInterval {
        worker: segment.worker,
        own: segment.worker == path.worker,
        state: state(segment.state),
        cause: WaitCause::Unknown,
        from: segment.window.from,
        to: segment.window.to,
        resource: graph.texts().text(segment.qualifier),
        idle_ns: segment.idle_ns,
        cpu: segment.cpu,
        inferred: segment.inferred,
        first: index,
    }
}

fn is_continued(a: &PathInterval<'_>, b: &PathInterval<'_>) -> bool {
    a.worker == b.worker && a.state == b.state && a.resource == b.resource && a.cpu == b.cpu && a.to == b.from
}

/// The sender of the packet that an interval waits for: the path came from it when the interval began.
pub(crate) fn sender(path: &CriticalPath, interval: &PathInterval<'_>) -> Option<WorkerId> {
    let first = path.links.partition_point(|link| link.from_time < interval.from);
    let begun = path.links[first..].iter().take_while(|link| link.from_time == interval.from);
    begun.filter(|link| link.network && link.to == interval.worker).map(|link| link.from).last()
}
