//! Critical paths as lanes of segments, a lane for each thread.

use super::cpu_lanes::drawn_cpus;
use super::lanes::{LaneLayout, drawn_lanes, name_of};
use super::phrases::clock_time;
use super::symbol;
use crate::document::{
    Block, Cell, Color, Detail, Fold, LegendEntry, Prose, Section, Sentences, SpanStyle, Table, TableRow,
    Timeline, TimelineJump, TimelineSegment, columns,
};
use crate::{KernelState, PathJump, PathSegment, PathTimeline, names, numbers, rfc3339};
use std::collections::BTreeMap;

/// Paths drawn, and those that text draws.
const PATHS: usize = 4;
const PATHS_IN_TEXT: usize = 2;

/// Lanes drawn; threads of one name share one when there are more.
const LANES: usize = 24;

/// Segments drawn one by one; beyond it those too short to be seen are pooled, and the intervals in which they are.
const SEGMENTS: usize = 12_000;
const CELLS: u64 = 1_000;

/// Jumps drawn, evenly chosen.
const JUMPS: usize = 3_000;

/// Part of the path from which on a segment has words at the pointer.
const WORDED: u64 = 250;

/// Longest segments listed as a table.
const LISTED: usize = 50;

/// The section with all paths.
pub(super) fn section(timelines: &[PathTimeline], title: &str) -> Option<Section> {
    let drawable = timelines.iter().filter(|path| !path.segments.is_empty() && path.elapsed_ns > 0);
    let blocks: Vec<Block> =
        drawable.take(PATHS).enumerate().flat_map(|(index, path)| blocks(path, index)).collect();
    let section = Section::new("paths", title)
        .remark("█ ran, p preempted, d disk, n net, t timer, b blocked, o others");
    let section = section.introduction(
        "A lane for each thread; the path is in one lane at a time. Thin lines are wake-ups (dashed: packets). Below, a lane \
         for each CPU, with what ran on it.",
    );
    (!blocks.is_empty()).then(|| section.blocks(blocks))
}

fn blocks(path: &PathTimeline, index: usize) -> [Block; 3] {
    let detail = if index < PATHS_IN_TEXT { Detail::Full } else { Detail::Page };
    let lanes = drawn_lanes(path, LANES);
    let cpus = drawn_cpus(path, lanes.names.len());
    let segments = segments(path, &lanes);
    let pools = segments.iter().filter(|segment| segment.1.is_none()).count() as u64;
    let mut drawn: Vec<TimelineSegment> =
        segments.iter().map(|(segment, _)| segment.clone()).chain(cpus.segments).collect();
    drawn.sort_by_key(|segment| (segment.from_ns, segment.lane));
    let since = match path.since {
        Some(since) => rfc3339(since),
        None => format!("{} s of the trace\u{2019}s clock", clock_time(path.since_ns)),
    };
    let mut states: Vec<KernelState> = path.segments.iter().map(|part| part.state).collect();
    states.sort_unstable();
    states.dedup();
    let legend = |state: KernelState| LegendEntry {
        symbol: symbol(state).to_string(),
        ..LegendEntry::new(color(state), state.word())
    };
    let timeline = Timeline {
        caption: "Critical path by thread; the table below lists its longest segments".to_owned(),
        elapsed_ns: path.elapsed_ns,
        lanes: lanes.names.iter().chain(&cpus.names).map(|name| Prose::name(SpanStyle::Name, name)).collect(),
        segments: drawn,
        jumps: jumps(path, &lanes),
        legend: states.into_iter().map(legend).chain(cpus.legend).collect(),
    };
    let length = format!(": {} from {since}", numbers::time(path.elapsed_ns));
    let title = Prose::quoted(&path.title).plain(length);
    let remarks =
        remarks(path, segments.len() as u64, pools).into_iter().chain(cpus.remarks).map(Prose::from);
    [
        Block::from(timeline).titled(title).detail(detail),
        Block::from(Sentences::paragraphs(remarks)).detail(Detail::Page),
        Block::from(longest(path))
            .folded(Fold::Alternative, "Its longest segments as a table")
            .detail(Detail::Page),
    ]
}

pub(super) const fn color(state: KernelState) -> Color {
    Color::STATES[match state {
        KernelState::Running => 0,
        KernelState::Preempted => 1,
        KernelState::Blocked => 2,
        KernelState::Network => 3,
        KernelState::BlockDevice => 4,
        KernelState::Timer => 5,
        KernelState::Interrupted => 6,
        KernelState::Ipi => 7,
        KernelState::UserInput => 8,
        KernelState::Unknown => 9,
        KernelState::Throttled => 10,
    }]
}

/// A drawn segment with the segment it shows; without one it is a pool of many.
type SourcedSegment = (TimelineSegment, Option<usize>);

/// All segments; when they are too many, those too short to be seen are pooled by lane and interval: a pool is as long
/// as its segments together, in the state that most of it is.
fn segments(path: &PathTimeline, lanes: &LaneLayout) -> Vec<SourcedSegment> {
    let cell_ns = path.elapsed_ns.div_ceil(CELLS).max(1);
    let pooled = path.segments.len() > SEGMENTS;
    let mut drawn: Vec<SourcedSegment> = Vec::new();
    let mut pools: BTreeMap<(u64, u32), BTreeMap<KernelState, u64>> = BTreeMap::new();
    for (index, part) in path.segments.iter().enumerate() {
        let lane = lanes.location(part.lane) as u32;
        let length = part.to_ns.saturating_sub(part.from_ns);
        if pooled && length < cell_ns {
            *pools.entry((part.from_ns / cell_ns, lane)).or_default().entry(part.state).or_default() +=
                length;
            continue;
        }
        let words = if length >= path.elapsed_ns / WORDED { words(path, part) } else { String::new() };
        drawn.push((segment(lane, part.state, part.from_ns, part.to_ns, words), Some(index)));
    }
    for ((cell, lane), states) in pools {
        let most = states.iter().max_by_key(|&(state, ns)| (*ns, std::cmp::Reverse(*state)));
        let state = most.map_or(KernelState::Unknown, |(state, _)| *state);
        let from_ns = cell * cell_ns;
        let to_ns = (from_ns + states.values().sum::<u64>()).min(path.elapsed_ns);
        drawn.push((segment(lane, state, from_ns, to_ns, String::new()), None));
    }
    drawn.sort_by_key(|(segment, _)| (segment.from_ns, segment.lane));
    drawn
}

const fn segment(lane: u32, state: KernelState, from_ns: u64, to_ns: u64, words: String) -> TimelineSegment {
    TimelineSegment { lane, from_ns, to_ns, color: color(state), symbol: symbol(state), words }
}

fn words(path: &PathTimeline, part: &PathSegment) -> String {
    let name = path.lanes.get(part.lane as usize).map_or_else(String::new, name_of);
    let length = numbers::time(part.to_ns.saturating_sub(part.from_ns));
    let mut text =
        format!("{name}: {} for {length}, {} into it", part.state.word(), numbers::time(part.from_ns));
    if !part.resource.is_empty() {
        text.push_str(&format!(", {}", names::label(&part.resource, 40)));
    }
    if part.idle_ns > 0 {
        text.push_str(&format!(", CPU idle {}", numbers::time(part.idle_ns)));
    }
    if part.inferred {
        text.push_str(", inferred from a switch that was not recorded");
    }
    text
}

fn jumps(path: &PathTimeline, lanes: &LaneLayout) -> Vec<TimelineJump> {
    let crossing = |jump: &&PathJump| lanes.location(jump.from) != lanes.location(jump.to);
    let step = path.jumps.iter().filter(crossing).count().div_ceil(JUMPS).max(1);
    let jump = |jump: &PathJump| TimelineJump {
        at_ns: jump.at_ns,
        from: lanes.location(jump.from) as u32,
        to: lanes.location(jump.to) as u32,
        dashed: jump.network,
    };
    path.jumps.iter().filter(crossing).step_by(step).map(jump).collect()
}

fn remarks(path: &PathTimeline, drawn: u64, pools: u64) -> Vec<String> {
    let mut remarks = Vec::new();
    if pools > 0 {
        let pooled = (path.segments.len() as u64).saturating_sub(drawn - pools);
        remarks.push(format!(
            "{} too short to be seen are drawn as {}, each in the state that most of it is; all tables count them.",
            numbers::counted(pooled, "segment"),
            numbers::counted(pools, "pool")
        ));
    }
    if path.merged > 0 {
        let merged = numbers::counted(path.merged, "segment");
        remarks.push(format!(
            "The {merged} that are shortest are part of their neighbors; all tables count them."
        ));
    }
    if path.jumps.len() > JUMPS {
        remarks.push("Only some of the wake-ups are drawn, evenly chosen.".to_owned());
    }
    if path.lanes.len() > LANES {
        remarks.push("Threads of one name share a lane, since there are many.".to_owned());
    }
    remarks
}

/// The longest segments, for those who cannot see the picture.
fn longest(path: &PathTimeline) -> Table {
    let columns = columns![Name "thread", Text "state", Number "for", Number "into it", Text "resource"];
    let mut segments: Vec<&PathSegment> = path.segments.iter().collect();
    segments.sort_by_key(|part| (std::cmp::Reverse(part.to_ns.saturating_sub(part.from_ns)), part.from_ns));
    Table::new("Segments of the path", &columns).at_most(LISTED, &segments, |part| {
        let name = path.lanes.get(part.lane as usize).map_or_else(String::new, name_of);
        TableRow::new([
            Cell::name(SpanStyle::Name, &name),
            Cell::text(part.state.word()),
            super::time(part.to_ns.saturating_sub(part.from_ns)),
            super::time(part.from_ns),
            super::name_if_any(SpanStyle::Label, &part.resource),
        ])
    })
}
