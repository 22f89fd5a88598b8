//! Timelines of critical paths for reports.

use crate::cpu_lanes::cpu_lanes;
use crate::intervals::{PathInterval, all_intervals};
use crate::names::lane;
use crate::read::KernelRun;
use laggard_kernel_graph::{CriticalPath, ExecutionGraph, WorkerId};
use laggard_report::{PathJump, PathLane, PathSegment, PathTimeline};
use std::collections::HashMap;

/// Maximum number of segments and jumps of a timeline; the shortest segments are merged with their neighbors.
const PIECES_MAX: usize = 20_000;

pub(crate) struct TimelineInput<'a> {
    pub(crate) run: &'a KernelRun,
    pub(crate) graph: &'a ExecutionGraph,
    pub(crate) path: &'a CriticalPath,
    pub(crate) execution: u64,
    pub(crate) title: String,
}

pub(crate) fn timeline(input: TimelineInput<'_>) -> PathTimeline {
    let TimelineInput { run, graph, path, execution, title } = input;
    let intervals = all_intervals(graph, path);
    let listed = without_shortest(&intervals);
    let merged = (intervals.len() - listed.len()) as u64;
    let mut lanes = Lanes { graph, lane_numbers: HashMap::new(), lanes: Vec::new() };
    lanes.lane_number(path.worker);
    let from = path.window.from;
    let segments: Vec<PathSegment> = listed
        .iter()
        .map(|interval| segment(interval, lanes.lane_number(interval.worker), from.ns()))
        .collect();
    let jumps = path.links.iter().filter(|_| merged == 0).take(PIECES_MAX).map(|link| PathJump {
        from: lanes.lane_number(link.from),
        to: lanes.lane_number(link.to),
        at_ns: link.to_time.since(from),
        network: link.network,
    });
    let jumps: Vec<PathJump> = if merged == 0 { jumps.collect() } else { jumps_between(&segments) };
    let (cpus, cpu_runs_left_out) = cpu_lanes(graph, path);
    PathTimeline {
        title,
        execution,
        since_ns: from.ns(),
        since: run.calendar_time(from),
        elapsed_ns: path.window.ns(),
        lanes: lanes.lanes,
        segments,
        jumps,
        merged,
        cpus,
        cpu_runs_left_out,
    }
}

/// The intervals, the shortest merged with those before them.
fn without_shortest<'a>(intervals: &[PathInterval<'a>]) -> Vec<PathInterval<'a>> {
    if intervals.len() <= PIECES_MAX {
        return intervals.to_vec();
    }
    let mut lengths: Vec<u64> = intervals.iter().map(PathInterval::ns).collect();
    let (_, &mut least, _) = lengths.select_nth_unstable(intervals.len() - PIECES_MAX);
    let mut listed: Vec<PathInterval<'a>> = Vec::with_capacity(PIECES_MAX);
    for interval in intervals {
        match listed.last_mut() {
            Some(before) if interval.ns() <= least => before.to = interval.to,
            _ => listed.push(*interval),
        }
    }
    listed
}

fn segment(interval: &PathInterval<'_>, lane: u32, from_ns: u64) -> PathSegment {
    PathSegment {
        lane,
        state: interval.state,
        from_ns: interval.from.ns() - from_ns,
        to_ns: interval.to.ns() - from_ns,
        resource: interval.resource.to_owned(),
        call: interval.call.map_or_else(String::new, |call| call.name.to_owned()),
        idle_ns: interval.idle_ns,
        inferred: interval.inferred,
    }
}

fn jumps_between(segments: &[PathSegment]) -> Vec<PathJump> {
    let changes = segments.windows(2).filter(|pair| pair[0].lane != pair[1].lane);
    changes
        .map(|pair| PathJump { from: pair[0].lane, to: pair[1].lane, at_ns: pair[1].from_ns, network: false })
        .collect()
}

/// Lanes in order of first appearance.
struct Lanes<'a> {
    graph: &'a ExecutionGraph,
    lane_numbers: HashMap<WorkerId, u32>,
    lanes: Vec<PathLane>,
}

impl Lanes<'_> {
    fn lane_number(&mut self, worker: WorkerId) -> u32 {
        let next = self.lanes.len() as u32;
        let lane_number = *self.lane_numbers.entry(worker).or_insert(next);
        if lane_number == next {
            self.lanes.push(lane(self.graph, worker));
        }
        lane_number
    }
}
