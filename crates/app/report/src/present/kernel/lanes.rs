//! Which lanes of a path are drawn: all, or when there are too many those of one name together.

use super::phrases::thread;
use crate::{PathLane, PathTimeline, names, numbers};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Lanes as they are drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LaneLayout {
    /// Index into `names` of each of the path's lanes.
    pub(crate) positions: Vec<usize>,
    /// Label of each drawn lane.
    pub(crate) names: Vec<String>,
}

impl LaneLayout {
    /// The lane in which a segment or the end of a jump is drawn.
    pub(crate) fn location(&self, lane: u32) -> usize {
        self.positions.get(lane as usize).copied().unwrap_or(0)
    }
}

/// At most `most` lanes (at least 2): each thread its own when that is enough, else threads of one name together and
/// those with the least time in the last lane. The examined thread always has a lane.
pub(crate) fn drawn_lanes(timeline: &PathTimeline, most: usize) -> LaneLayout {
    let all = timeline.lanes.len();
    if all <= most {
        return LaneLayout {
            positions: (0..all).collect(),
            names: timeline.lanes.iter().map(name_of).collect(),
        };
    }
    let mut groups: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (index, lane) in timeline.lanes.iter().enumerate().skip(1) {
        groups.entry((&lane.thread, &lane.host)).or_default().push(index);
    }
    let mut lane_ns = vec![0_u64; all];
    for segment in &timeline.segments {
        if let Some(ns) = lane_ns.get_mut(segment.lane as usize) {
            *ns += segment.to_ns.saturating_sub(segment.from_ns);
        }
    }
    let mut ranked: Vec<Vec<usize>> = groups.into_values().collect();
    let time = |members: &[usize]| -> u64 { members.iter().map(|&lane| lane_ns[lane]).sum() };
    ranked.sort_by_key(|members| (Reverse(time(members)), members[0]));
    let mut names = vec![name_of(&timeline.lanes[0])];
    let mut positions = vec![0; all];
    let own = if ranked.len() < most { ranked.len() } else { most.saturating_sub(2) };
    for members in &ranked[..own] {
        members.iter().for_each(|&lane| positions[lane] = names.len());
        names.push(group_name(timeline, members));
    }
    let rest: Vec<usize> = ranked[own..].concat();
    if !rest.is_empty() {
        rest.iter().for_each(|&lane| positions[lane] = names.len());
        names.push(numbers::counted(rest.len() as u64, "more thread"));
    }
    LaneLayout { positions, names }
}

fn group_name(timeline: &PathTimeline, members: &[usize]) -> String {
    let first = &timeline.lanes[members[0]];
    match members.len() {
        1 => name_of(first),
        several => {
            let name = names::label(&first.thread, 32);
            format!("{name} ({})", numbers::counted(several as u64, "thread"))
        }
    }
}

/// A lane's name: `postgres (tid 640)`.
pub(crate) fn name_of(lane: &PathLane) -> String {
    thread_name(&lane.thread, lane.tid, &lane.host)
}

/// A thread's name as lanes have it.
pub(super) fn thread_name(name: &str, tid: Option<u32>, host: &str) -> String {
    let host = if host.is_empty() { String::new() } else { names::label(host, 24) };
    thread(&names::label(name, 32), tid, &host).replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KernelState, PathSegment};

    #[test]
    fn many_threads_of_one_name_share_a_lane() {
        let lane =
            |thread: &str, tid| PathLane { thread: thread.to_owned(), tid: Some(tid), host: String::new() };
        let segment = |lane, from_ns, to_ns| PathSegment {
            lane,
            state: KernelState::Running,
            from_ns,
            to_ns,
            resource: String::new(),
            call: String::new(),
            idle_ns: 0,
            inferred: false,
        };
        let timeline = PathTimeline {
            title: String::new(),
            execution: 1,
            since_ns: 0,
            since: None,
            elapsed_ns: 100,
            lanes: vec![lane("app", 1), lane("w", 2), lane("db", 3), lane("w", 4), lane("log", 5)],
            segments: vec![
                segment(0, 0, 10),
                segment(1, 10, 20),
                segment(2, 20, 60),
                segment(3, 60, 99),
                segment(4, 99, 100),
            ],
            jumps: vec![],
            merged: 0,
            cpus: vec![],
            cpu_runs_left_out: 0,
        };
        let all = drawn_lanes(&timeline, 5);
        assert_eq!(all.positions, [0, 1, 2, 3, 4]);
        let four = drawn_lanes(&timeline, 4);
        assert_eq!(four.names, ["app (tid 1)", "w (2 threads)", "db (tid 3)", "log (tid 5)"]);
        assert_eq!(four.positions, [0, 1, 2, 1, 3]);
        let three = drawn_lanes(&timeline, 3);
        assert_eq!(three.names, ["app (tid 1)", "w (2 threads)", "2 more threads"]);
        assert_eq!(three.positions, [0, 1, 2, 1, 2]);
    }
}
