//! Pieces of a path as a reader sees them: equal neighbors are one.

use crate::names::state;
use laggard_kernel_graph::{CriticalPath, ExecutionGraph, PathSegment, WorkerId};
use laggard_model::KernelTime;
use laggard_report::{KernelState, WaitCause};

/// Neighboring pieces of one worker in one state, for one reason.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PathInterval<'a> {
    pub(crate) worker: WorkerId,
    pub(crate) own: bool,
    pub(crate) state: KernelState,
    pub(crate) cause: WaitCause,
    pub(crate) from: KernelTime,
    pub(crate) to: KernelTime,
    /// The interrupt or device; empty if nothing is known.
    pub(crate) resource: &'a str,
    pub(crate) idle_ns: u64,
    pub(crate) inferred: bool,
    /// The first of its pieces.
    pub(crate) first: usize,
}

impl PathInterval<'_> {
    pub(crate) fn ns(&self) -> u64 {
        self.to.since(self.from)
    }
}

/// The intervals of a path, or of some of its pieces (0-based, the last included).
pub(crate) fn intervals<'a>(
    graph: &'a ExecutionGraph,
    path: &CriticalPath,
    pieces: std::ops::RangeInclusive<usize>,
) -> Vec<PathInterval<'a>> {
    let mut out: Vec<PathInterval<'a>> = Vec::new();
    let last = *pieces.end();
    for (at, piece) in path.segments.iter().enumerate().take(last.saturating_add(1)).skip(*pieces.start()) {
        let next = interval(graph, path, at, piece);
        match out.last_mut() {
            Some(before) if alike(before, &next) => {
                before.to = next.to;
                before.idle_ns += next.idle_ns;
                before.inferred |= next.inferred;
            }
            _ => out.push(next),
        }
    }
    for one in &mut out {
        one.cause = WaitCause::of(one.state, one.own, one.ns(), one.idle_ns);
    }
    out
}

/// All of a path.
pub(crate) fn all_intervals<'a>(graph: &'a ExecutionGraph, path: &CriticalPath) -> Vec<PathInterval<'a>> {
    intervals(graph, path, 0..=usize::MAX - 1)
}

fn interval<'a>(
    graph: &'a ExecutionGraph,
    path: &CriticalPath,
    at: usize,
    piece: &PathSegment,
) -> PathInterval<'a> {
    PathInterval {
        worker: piece.worker,
        own: piece.worker == path.worker,
        state: state(piece.state),
        cause: WaitCause::Unknown,
        from: piece.window.from,
        to: piece.window.to,
        resource: graph.texts().text(piece.qualifier),
        idle_ns: piece.idle_ns,
        inferred: piece.inferred,
        first: at,
    }
}

fn alike(a: &PathInterval<'_>, b: &PathInterval<'_>) -> bool {
    a.worker == b.worker && a.state == b.state && a.resource == b.resource && a.to == b.from
}

/// Who sent the packet that a interval waits for: the path came from it when the interval began.
pub(crate) fn sender(path: &CriticalPath, interval: &PathInterval<'_>) -> Option<WorkerId> {
    let first = path.links.partition_point(|link| link.from_time < interval.from);
    let begun = path.links[first..].iter().take_while(|link| link.from_time == interval.from);
    begun.filter(|link| link.network && link.to == interval.worker).map(|link| link.from).last()
}
