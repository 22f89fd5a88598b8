//! Timelines: a lane for each thread, segments colored by state, jumps between lanes.
//!
//! Thousands of segments are drawn as few shapes: one path for each lane and color. Long segments are shapes of their
//! own, with words at the pointer. The script zooms, and shows what lies at the pointer.

use super::{legend, percent, pixels};
use crate::document::{Timeline, TimelineSegment};
use crate::{names, numbers};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Units of the picture from left to right.
const WIDTH: f64 = 100_000.0;

/// Pixels of a lane: its name, its bar, and all of it.
const NAME: f64 = 15.0;
const BAR: f64 = 16.0;
const LANE: f64 = 37.0;

/// From so many jumps on they are drawn faintly.
const FAINT: usize = 250;

/// Minimum share of the width for a segment to be a separate shape.
const OWN_SHAPE: f64 = 0.004;

pub(super) fn timeline(timeline: &Timeline, key: &str) -> Markup {
    let (length, segments) = (timeline.elapsed_ns.to_string(), data(timeline));
    let (id, height) = (format!("timeline-{key}"), timeline.lanes.len() as f64 * LANE);
    html! {
        (legend(&timeline.legend))
        div.lanes data-length=(length) data-segments=(segments) {
            svg.lanes-picture role="img" aria-labelledby=(id) width="100%" height=(pixels(height)) {
                title #(id) { (timeline.caption) }
                svg.stretched width="100%" height=(pixels(height)) viewBox=(format!("0 0 {WIDTH} {height}")) preserveAspectRatio="none" aria-hidden="true" {
                    @for index in 0..timeline.lanes.len() {
                        rect.faint x="0" y=(pixels(top(index))) width=(WIDTH) height=(BAR) {}
                    }
                    (jumps(timeline))
                    (self::segments(timeline))
                }
                @for (index, lane) in timeline.lanes.iter().enumerate() {
                    text.lane-name x="0" y=(pixels(top(index) - 4.0)) { (names::label(&lane.text(), 60)) }
                }
            }
            (axis(timeline))
            output.readout hidden aria-live="polite" {}
        }
    }
}

/// Pixels above the bar of a lane.
fn top(lane: usize) -> f64 {
    lane as f64 * LANE + NAME
}

fn across(timeline: &Timeline, ns: u64) -> f64 {
    (ns as f64 / timeline.elapsed_ns.max(1) as f64 * WIDTH).clamp(0.0, WIDTH)
}

fn segments(timeline: &Timeline) -> Markup {
    let mut paths: BTreeMap<(u32, &str), String> = BTreeMap::new();
    let mut long: Vec<(f64, f64, &TimelineSegment)> = Vec::new();
    for segment in &timeline.segments {
        let (from, to) = (across(timeline, segment.from_ns), across(timeline, segment.to_ns));
        if to - from >= OWN_SHAPE * WIDTH && !segment.words.is_empty() {
            long.push((from, to, segment));
            continue;
        }
        let path = paths.entry((segment.lane, segment.color.class())).or_default();
        let (from, width) = (from.round(), (to - from).max(1.0).round());
        let _ = write!(path, "M{from} {}h{width}v{BAR}h-{width}z", top(segment.lane as usize));
    }
    html! {
        @for ((_, color), path) in &paths { path class=(color) d=(path) {} }
        @for (from, to, segment) in &long {
            rect class=(segment.color.class()) x=(pixels(*from)) y=(pixels(top(segment.lane as usize))) width=(pixels(to - from)) height=(BAR) {
                title { (segment.words) }
            }
        }
    }
}

/// Wake-ups and packets, one path each: from the middle of one lane to the middle of the other.
fn jumps(timeline: &Timeline) -> Markup {
    let faint = if timeline.jumps.len() >= FAINT { " pale" } else { "" };
    html! {
        @for dashed in [false, true] {
            @let path = jump_path(timeline, dashed);
            @if !path.is_empty() {
                path class=(format!("jump{}{faint}", if dashed { " packet" } else { "" })) d=(path) {}
            }
        }
    }
}

fn jump_path(timeline: &Timeline, dashed: bool) -> String {
    let mut path = String::new();
    for jump in timeline.jumps.iter().filter(|jump| jump.dashed == dashed) {
        let x = across(timeline, jump.at_ns).round();
        let [from, to] = [jump.from, jump.to].map(|lane| top(lane as usize) + BAR / 2.0);
        let _ = write!(path, "M{x} {from}V{to}");
    }
    path
}

/// Times below the picture.
fn axis(timeline: &Timeline) -> Markup {
    let class = ["tick at-start", "tick wide-only", "tick", "tick wide-only", "tick at-end"];
    html! {
        svg.ticks width="100%" height="20" aria-hidden="true" {
            @for (index, class) in class.into_iter().enumerate() {
                @let ns = u128::from(timeline.elapsed_ns) * index as u128 / 4;
                text class=(class) x=(percent(index as f64 / 4.0)) y="14" { (numbers::time(ns as u64)) }
            }
        }
    }
}

/// The segments for the script: lane, letter, beginning and length in nanoseconds.
fn data(timeline: &Timeline) -> String {
    let segment = |segment: &TimelineSegment| {
        let length = segment.to_ns.saturating_sub(segment.from_ns);
        format!("{} {} {} {length}", segment.lane, segment.symbol, segment.from_ns)
    };
    timeline.segments.iter().map(segment).collect::<Vec<String>>().join(",")
}
