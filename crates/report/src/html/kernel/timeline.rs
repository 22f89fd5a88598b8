//! A path as a picture: a lane for each thread, pieces coloured by state, jumps between lanes.
//!
//! Every piece is drawn, thousands of them as few shapes: one path for each lane and state. Long pieces are shapes
//! of their own, with words at the pointer. The script zooms, and tells what lies at the pointer.

use super::super::markup::Markup;
use super::super::remark;
use super::super::time_axis::percent;
use super::letters::{class, legend, letter};
use crate::kernel::{KernelState, PathJump, PathLane, PathSegment, PathTimeline, clock_time, thread};
use crate::{names, numbers};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Units of the picture from left to right.
const WIDTH: f64 = 100_000.0;

/// Lanes drawn; the rest share one.
const LANES: usize = 24;

/// Pixels of a lane: its name, its bar, and all of it.
const NAME: f64 = 15.0;
const BAR: f64 = 16.0;
const LANE: f64 = 37.0;

/// Pieces drawn; beyond it the shortest are left out.
const PIECES: usize = 12_000;

/// Jumps drawn.
const JUMPS: usize = 6_000;

/// Part of the width from which on a piece is a shape of its own.
const OWN_SHAPE: f64 = 0.004;

pub(super) fn write(m: &mut Markup, timeline: &PathTimeline, id: &str) {
    if timeline.pieces.is_empty() || timeline.elapsed_ns == 0 {
        return;
    }
    m.within("h3", &[], |m| m.sentence(&timeline.title));
    remark(m, &introduction(timeline));
    legend(m, timeline.pieces.iter().map(|piece| piece.state));
    let drawn = drawn_pieces(timeline);
    let length = timeline.elapsed_ns.to_string();
    let attributes =
        [("class", "lanes"), ("data-length", &*length), ("data-pieces", &*data(timeline, &drawn))];
    m.open("div", &attributes);
    picture(m, timeline, &drawn, id);
    m.raw("<output class=\"readout\" hidden aria-live=\"polite\"></output>\n");
    m.close("div");
    remarks(m, timeline, drawn.len());
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

/// Places of the pieces that are drawn: all, or the longest, in order of time.
fn drawn_pieces(timeline: &PathTimeline) -> Vec<usize> {
    let mut places: Vec<usize> = (0..timeline.pieces.len()).collect();
    if places.len() > PIECES {
        let length = |at: usize| timeline.pieces[at].to_ns.saturating_sub(timeline.pieces[at].from_ns);
        places.sort_by_key(|&at| (std::cmp::Reverse(length(at)), at));
        places.truncate(PIECES);
        places.sort_unstable();
    }
    places
}

/// Lanes beyond the limit share the last one.
fn lane(place: u32) -> usize {
    (place as usize).min(LANES)
}

fn lanes(timeline: &PathTimeline) -> usize {
    timeline.lanes.len().min(LANES + 1)
}

fn across(timeline: &PathTimeline, ns: u64) -> f64 {
    (ns as f64 / timeline.elapsed_ns.max(1) as f64 * WIDTH).clamp(0.0, WIDTH)
}

fn picture(m: &mut Markup, timeline: &PathTimeline, drawn: &[usize], id: &str) {
    let height = lanes(timeline) as f64 * LANE;
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
    for at in 0..lanes(timeline) {
        let y = at as f64 * LANE + NAME;
        m.shape("rect", "lane-ground", &[("x", 0.0), ("y", y), ("width", WIDTH), ("height", BAR)]);
    }
    jumps(m, timeline);
    pieces(m, timeline, drawn);
    m.close("svg");
    for (at, name) in timeline.lanes.iter().enumerate().take(LANES) {
        lane_name(m, at, &name_of(name));
    }
    if timeline.lanes.len() > LANES {
        let rest = numbers::counted((timeline.lanes.len() - LANES) as u64, "more thread");
        lane_name(m, LANES, &rest);
    }
    m.close("svg");
    axis(m, timeline);
}

fn name_of(lane: &PathLane) -> String {
    thread(&names::label(&lane.thread, 32), lane.tid, &names::label(&lane.host, 24))
        .replace('`', "")
        .replace(" on (unnamed)", "")
}

fn lane_name(m: &mut Markup, at: usize, name: &str) {
    let y = format!("{}", at as f64 * LANE + NAME - 4.0);
    m.element("text", &[("class", "lane-name"), ("x", "0"), ("y", &y)], name);
}

/// Short pieces as one path for each lane and state, long ones as shapes.
fn pieces(m: &mut Markup, timeline: &PathTimeline, drawn: &[usize]) {
    let mut paths: BTreeMap<(usize, KernelState), String> = BTreeMap::new();
    let mut long = Vec::new();
    for piece in drawn.iter().map(|&at| &timeline.pieces[at]) {
        let [from, to] = [piece.from_ns, piece.to_ns].map(|ns| across(timeline, ns));
        if to - from >= OWN_SHAPE * WIDTH {
            long.push(piece);
            continue;
        }
        let y = lane(piece.lane) as f64 * LANE + NAME;
        let path = paths.entry((lane(piece.lane), piece.state)).or_default();
        let (from, width) = (from.round(), (to - from).max(1.0).round());
        let _ = write!(path, "M{from} {y}h{width}v{BAR}h-{width}z");
    }
    for ((_, state), path) in &paths {
        m.element("path", &[("class", class(*state)), ("d", path)], "");
    }
    for piece in long {
        let [from, to] = [piece.from_ns, piece.to_ns].map(|ns| across(timeline, ns));
        let y = lane(piece.lane) as f64 * LANE + NAME;
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
fn jumps(m: &mut Markup, timeline: &PathTimeline) {
    for (network, class) in [(false, "jump"), (true, "jump packet")] {
        let kind = |jump: &&PathJump| jump.network == network && lane(jump.from) != lane(jump.to);
        let mut path = String::new();
        for jump in timeline.jumps.iter().filter(kind).take(JUMPS) {
            let x = across(timeline, jump.at_ns).round();
            let [from, to] = [jump.from, jump.to].map(|at| lane(at) as f64 * LANE + NAME + BAR / 2.0);
            let _ = write!(path, "M{x} {from}V{to}");
        }
        if !path.is_empty() {
            m.element("path", &[("class", class), ("d", &path)], "");
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
fn data(timeline: &PathTimeline, drawn: &[usize]) -> String {
    let mut text = String::new();
    for piece in drawn.iter().map(|&at| &timeline.pieces[at]) {
        let length = piece.to_ns.saturating_sub(piece.from_ns);
        let _ = write!(text, "{} {} {} {length},", lane(piece.lane), letter(piece.state), piece.from_ns);
    }
    text.pop();
    text
}

fn remarks(m: &mut Markup, timeline: &PathTimeline, drawn: usize) {
    let left = (timeline.pieces.len() - drawn) as u64 + timeline.folded;
    if left > 0 {
        let left = numbers::counted(left, "piece");
        remark(m, &format!("The {left} that are shortest are not drawn; all tables count them."));
    }
    if timeline.lanes.len() > LANES {
        remark(m, "The last lane holds all further threads.");
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
