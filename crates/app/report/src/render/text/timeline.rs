//! Lanes of letters over time.

use super::page::Page;
use super::paint::Piece;
use crate::document::{Timeline, TimelineSegment};
use crate::names::{columns, label};

/// Columns of a lane's name at most.
const NAME: usize = 24;

/// Lanes drawn.
const LANES: usize = 12;

pub(super) fn print(page: &mut Page, timeline: &Timeline) {
    let names: Vec<String> =
        timeline.lanes.iter().take(LANES).map(|lane| label(&lane.text(), NAME)).collect();
    let widest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    let cells = page.width().saturating_sub(widest + 3).max(8);
    for (lane, name) in names.iter().enumerate() {
        let padding = " ".repeat(widest - columns(name));
        let letters = letters(timeline, lane as u32, cells);
        page.line(&[
            Piece::plain(" "),
            Piece::strong(name),
            Piece::plain(padding + "  "),
            Piece::plain(letters),
        ]);
    }
    let left = timeline.lanes.len().saturating_sub(LANES) as u64;
    super::more(page, left, "threads");
}

/// In each cell the letter of what takes the most of it; blank where the lane has nothing.
fn letters(timeline: &Timeline, lane: u32, cells: usize) -> String {
    let cell_ns = (timeline.elapsed_ns as f64 / cells as f64).max(1.0);
    let mut most: Vec<(f64, char)> = vec![(0.0, ' '); cells];
    for segment in timeline.segments.iter().filter(|segment| segment.lane == lane) {
        let first = (segment.from_ns as f64 / cell_ns) as usize;
        let last = (segment.to_ns as f64 / cell_ns) as usize;
        for (cell, best) in most.iter_mut().enumerate().take(last + 1).skip(first) {
            let share = overlap(segment, cell as f64 * cell_ns, (cell + 1) as f64 * cell_ns);
            if share > best.0 {
                *best = (share, segment.symbol);
            }
        }
    }
    most.into_iter().map(|(_, letter)| letter).collect()
}

fn overlap(segment: &TimelineSegment, from: f64, to: f64) -> f64 {
    (segment.to_ns as f64).min(to) - (segment.from_ns as f64).max(from)
}
