//! A path as a picture: a lane for each thread, pieces colored by state, jumps between lanes.
//!
//! Every piece is drawn, thousands of them as few shapes: one path for each lane and state. Long pieces are shapes
//! of their own, with words at the pointer. The script zooms, and tells what lies at the pointer.

use super::super::markup::Markup;
use super::super::remark;
use super::super::time_axis::percent;
use super::letters::{class, legend, letter};
use crate::kernel::{
    DrawnLanes, KernelState, PathJump, PathSegment, PathTimeline, clock_time, drawn_lanes, name_of,
};
use crate::{names, numbers};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Units of the picture from left to right.
const WIDTH: f64 = 100_000.0;

/// Lanes drawn; threads of one name share one when there are more.
const LANES: usize = 24;

/// Pixels of a lane: its name, its bar, and all of it.
const NAME: f64 = 15.0;
const BAR: f64 = 16.0;
const LANE: f64 = 37.0;

/// Pieces drawn one by one; beyond it those too short to be seen are pooled.
const PIECES: usize = 12_000;

/// Stretches of time in which short pieces are pooled.
const CELLS: u64 = 1_000;

/// Jumps drawn, evenly chosen; from so many on they are drawn faintly.
const JUMPS: usize = 3_000;
const FAINT: usize = 250;

/// Part of the width from which on a piece is a shape of its own.
const OWN_SHAPE: f64 = 0.004;

pub(super) fn write(m: &mut Markup, timeline: &PathTimeline, id: &str) {
    if timeline.pieces.is_empty() || timeline.elapsed_ns == 0 {
        return;
    }
    m.within("h3", &[], |m| m.sentence(&timeline.title));
    remark(m, &introduction(timeline));
    legend(m, timeline.pieces.iter().map(|piece| piece.state));
    let lanes = drawn_lanes(timeline, LANES);
    let drawn = blocks(timeline, &lanes);
    let length = timeline.elapsed_ns.to_string();
    let attributes = [("class", "lanes"), ("data-length", &*length), ("data-pieces", &*data(&drawn))];
    m.open("div", &attributes);
    picture(m, timeline, &lanes, &drawn, id);
    m.raw("<output class=\"readout\" hidden aria-live=\"polite\"></output>\n");
    m.close("div");
    remarks(m, timeline, &drawn);
    longest(m, timeline);
}

fn introduction(timeline: &PathTimeline) -> String {
    let since = match &timeline.since {
        Some(since) => names::label(since, 40),
        None => format!("{} s of the trace\u{2019}s clock", clock_time(timeline.since_ns)),
    };
    format!(
        "{} from {since}. A lane for each thread; the path is in one lane at a time, and thin lines are wake-ups \
         (dashed: packets).",
        numbers::time(timeline.elapsed_ns)
    )
}

/// What is drawn of a piece.
#[derive(Clone, Copy)]
struct Block {
    lane: usize,
    state: KernelState,
    from_ns: u64,
    to_ns: u64,
    /// The piece, when it is one and not many.
    piece: Option<usize>,
}

impl Block {
    fn ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// All pieces; when they are too many, those too short to be seen are pooled by lane and stretch of time: a pool is as
/// long as its pieces together, in the state that most of it is.
fn blocks(timeline: &PathTimeline, lanes: &DrawnLanes) -> Vec<Block> {
    let cell_ns = timeline.elapsed_ns.div_ceil(CELLS).max(1);
    let pooled = timeline.pieces.len() > PIECES;
    let mut blocks = Vec::new();
    let mut pools: BTreeMap<(u64, usize), BTreeMap<KernelState, u64>> = BTreeMap::new();
    for (at, piece) in timeline.pieces.iter().enumerate() {
        let lane = lanes.place(piece.lane);
        let (state, from_ns, to_ns) = (piece.state, piece.from_ns, piece.to_ns);
        let block = Block { lane, state, from_ns, to_ns, piece: Some(at) };
        if !pooled || block.ns() >= cell_ns {
            blocks.push(block);
        } else {
            *pools.entry((from_ns / cell_ns, lane)).or_default().entry(state).or_default() += block.ns();
        }
    }
    for ((cell, lane), states) in pools {
        let most = states.iter().max_by_key(|&(state, ns)| (*ns, std::cmp::Reverse(*state)));
        let from_ns = cell * cell_ns;
        let to_ns = (from_ns + states.values().sum::<u64>()).min(timeline.elapsed_ns);
        let state = most.map_or(KernelState::Unknown, |(state, _)| *state);
        blocks.push(Block { lane, state, from_ns, to_ns, piece: None });
    }
    blocks.sort_by_key(|block| (block.from_ns, block.lane));
    blocks
}

fn across(timeline: &PathTimeline, ns: u64) -> f64 {
    (ns as f64 / timeline.elapsed_ns.max(1) as f64 * WIDTH).clamp(0.0, WIDTH)
}

fn picture(m: &mut Markup, timeline: &PathTimeline, lanes: &DrawnLanes, drawn: &[Block], id: &str) {
    let height = lanes.names.len() as f64 * LANE;
    let (title, text) = (format!("{id}-picture"), format!("{height}"));
    let attributes = [
        ("class", "lanes-picture"),
        ("role", "img"),
        ("aria-labelledby", &*title),
        ("width", "100%"),
        ("height", &*text),
    ];
    m.open("svg", &attributes);
    m.element(
        "title",
        &[("id", &title)],
        "Critical path by thread; the table below lists its longest pieces",
    );
    let view = format!("0 0 {WIDTH} {height}");
    let stretched = [
        ("class", "stretched"),
        ("width", "100%"),
        ("height", &*text),
        ("viewBox", &*view),
        ("preserveAspectRatio", "none"),
        ("aria-hidden", "true"),
    ];
    m.open("svg", &stretched);
    for at in 0..lanes.names.len() {
        let y = at as f64 * LANE + NAME;
        m.shape("rect", "lane-ground", &[("x", 0.0), ("y", y), ("width", WIDTH), ("height", BAR)]);
    }
    jumps(m, timeline, lanes);
    pieces(m, timeline, drawn);
    m.close("svg");
    lanes.names.iter().enumerate().for_each(|(at, name)| lane_name(m, at, name));
    m.close("svg");
    axis(m, timeline);
}

fn lane_name(m: &mut Markup, at: usize, name: &str) {
    let y = format!("{}", at as f64 * LANE + NAME - 4.0);
    m.element("text", &[("class", "lane-name"), ("x", "0"), ("y", &y)], name);
}

/// Short pieces as one path for each lane and state, long ones as shapes.
fn pieces(m: &mut Markup, timeline: &PathTimeline, drawn: &[Block]) {
    let mut paths: BTreeMap<(usize, KernelState), String> = BTreeMap::new();
    let mut long = Vec::new();
    for block in drawn {
        let [from, to] = [block.from_ns, block.to_ns].map(|ns| across(timeline, ns));
        let piece = block.piece.and_then(|at| timeline.pieces.get(at));
        if let Some(piece) = piece.filter(|_| to - from >= OWN_SHAPE * WIDTH) {
            long.push((block.lane, piece));
            continue;
        }
        let y = block.lane as f64 * LANE + NAME;
        let path = paths.entry((block.lane, block.state)).or_default();
        let (from, width) = (from.round(), (to - from).max(1.0).round());
        let _ = write!(path, "M{from} {y}h{width}v{BAR}h-{width}z");
    }
    for ((_, state), path) in &paths {
        m.element("path", &[("class", class(*state)), ("d", path)], "");
    }
    for (lane, piece) in long {
        let [from, to] = [piece.from_ns, piece.to_ns].map(|ns| across(timeline, ns));
        let y = lane as f64 * LANE + NAME;
        let place = [("x", from), ("y", y), ("width", to - from), ("height", BAR)];
        m.open_shape("rect", class(piece.state), &place);
        m.element("title", &[], &words(timeline, piece));
        m.close("rect");
    }
}

fn words(timeline: &PathTimeline, piece: &PathSegment) -> String {
    let name = timeline.lanes.get(piece.lane as usize).map_or_else(String::new, name_of);
    let length = numbers::time(piece.to_ns.saturating_sub(piece.from_ns));
    let mut text =
        format!("{name}: {} for {length}, {} into it", piece.state.word(), numbers::time(piece.from_ns));
    if !piece.resource.is_empty() {
        text.push_str(&format!(", {}", names::label(&piece.resource, 40)));
    }
    if piece.idle_ns > 0 {
        text.push_str(&format!(", CPU idle {}", numbers::time(piece.idle_ns)));
    }
    if piece.inferred {
        text.push_str(", rests on an implied switch");
    }
    text
}

/// Wake-ups and packets, one path each kind: from the middle of one lane to the middle of the other.
fn jumps(m: &mut Markup, timeline: &PathTimeline, lanes: &DrawnLanes) {
    let crossing = |jump: &&PathJump| lanes.place(jump.from) != lanes.place(jump.to);
    let all = timeline.jumps.iter().filter(crossing).count();
    let step = all.div_ceil(JUMPS).max(1);
    let faint = if all >= FAINT { " faint" } else { "" };
    for (network, class) in [(false, "jump"), (true, "jump packet")] {
        let mut path = String::new();
        let chosen = timeline.jumps.iter().filter(crossing).step_by(step);
        for jump in chosen.filter(|jump| jump.network == network) {
            let x = across(timeline, jump.at_ns).round();
            let [from, to] = [jump.from, jump.to].map(|at| lanes.place(at) as f64 * LANE + NAME + BAR / 2.0);
            let _ = write!(path, "M{x} {from}V{to}");
        }
        if !path.is_empty() {
            m.element("path", &[("class", &format!("{class}{faint}")), ("d", &path)], "");
        }
    }
}

/// Times below the picture.
fn axis(m: &mut Markup, timeline: &PathTimeline) {
    m.raw("<svg class=\"ticks\" width=\"100%\" height=\"20\" aria-hidden=\"true\">\n");
    for at in 0..=4_u64 {
        let class = match at {
            0 => "tick at-start",
            4 => "tick at-end",
            1 | 3 => "tick wide-only",
            _ => "tick",
        };
        let x = percent(at as f64 * 25.0);
        let ns = (u128::from(timeline.elapsed_ns) * u128::from(at) / 4) as u64;
        m.element("text", &[("class", class), ("x", &x), ("y", "14")], &numbers::time(ns));
    }
    m.close("svg");
}

/// The pieces for the script: lane, letter, beginning and length in nanoseconds.
fn data(drawn: &[Block]) -> String {
    let mut text = String::new();
    for block in drawn {
        let _ = write!(text, "{} {} {} {},", block.lane, letter(block.state), block.from_ns, block.ns());
    }
    text.pop();
    text
}

fn remarks(m: &mut Markup, timeline: &PathTimeline, drawn: &[Block]) {
    let pools = drawn.iter().filter(|block| block.piece.is_none()).count() as u64;
    if pools > 0 {
        let pooled = (timeline.pieces.len() as u64).saturating_sub(drawn.len() as u64 - pools);
        let text = format!(
            "{} too short to be seen are drawn as {}, each in the state that most of it is; all tables count them.",
            numbers::counted(pooled, "piece"),
            numbers::counted(pools, "pool")
        );
        remark(m, &text);
    }
    if timeline.folded > 0 {
        let folded = numbers::counted(timeline.folded, "piece");
        remark(
            m,
            &format!("The {folded} that are shortest stand in their neighbors; all tables count them."),
        );
    }
    if timeline.jumps.len() > JUMPS {
        remark(m, "Only some of the wake-ups are drawn, evenly chosen.");
    }
    if timeline.lanes.len() > LANES {
        remark(m, "Threads of one name share a lane, since there are many.");
    }
}

/// The longest pieces as a table, for those who cannot see the picture.
fn longest(m: &mut Markup, timeline: &PathTimeline) {
    const SHOWN: usize = 50;
    let mut places: Vec<&PathSegment> = timeline.pieces.iter().collect();
    places.sort_by_key(|piece| (std::cmp::Reverse(piece.to_ns.saturating_sub(piece.from_ns)), piece.from_ns));
    m.open("details", &[("class", "fold alternative")]);
    m.element("summary", &[], "Its longest pieces as a table");
    let columns = [
        super::Column::Text("thread"),
        super::Column::Text("state"),
        super::Column::Number("for"),
        super::Column::Number("into it"),
        super::Column::Text("resource"),
    ];
    super::table(m, "Longest pieces of the path", &columns, |m| {
        for piece in places.iter().take(SHOWN) {
            let length = piece.to_ns.saturating_sub(piece.from_ns);
            m.open("tr", &[]);
            let name = timeline.lanes.get(piece.lane as usize).map_or_else(String::new, name_of);
            m.element("th", &[("scope", "row")], &name);
            m.element("td", &[], piece.state.word());
            super::number(m, &numbers::time(length), length as f64);
            super::number(m, &numbers::time(piece.from_ns), piece.from_ns as f64);
            let resource = if piece.resource.is_empty() { "" } else { &piece.resource };
            m.within("td", &[], |m| {
                if !resource.is_empty() {
                    m.name("example", resource, 40);
                }
            });
            m.close("tr");
        }
    });
    rest_of_pieces(m, timeline.pieces.len(), SHOWN);
    m.close("details");
}

fn rest_of_pieces(m: &mut Markup, all: usize, shown: usize) {
    super::rest(m, all, shown, "pieces");
}
