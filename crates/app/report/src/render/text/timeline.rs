//! Timelines as text: a lane is a line, a state is a letter.

use super::page::Page;
use super::paint::Painted;
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
            Painted::plain(" "),
            Painted::strong(name),
            Painted::plain(padding + "  "),
            Painted::plain(letters),
        ]);
    }
    let omitted = timeline.lanes.len().saturating_sub(LANES) as u64;
    super::more(page, omitted, "lanes");
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
    most.into_iter().map(|(_, letter)| shown(letter)).collect()
}

/// Small letters are easier to distinguish in long rows; a running thread is a full block.
const fn shown(letter: char) -> char {
    if letter == 'R' { '█' } else { letter.to_ascii_lowercase() }
}

fn overlap(segment: &TimelineSegment, from: f64, to: f64) -> f64 {
    (segment.to_ns as f64).min(to) - (segment.from_ns as f64).max(from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Color;

    #[test]
    fn a_column_shows_its_longest_state() {
        let segment = |lane, symbol, from_ns, to_ns| TimelineSegment {
            lane,
            from_ns,
            to_ns,
            color: Color::QUIET,
            symbol,
            words: String::new(),
        };
        let timeline = Timeline {
            caption: String::new(),
            elapsed_ns: 100,
            lanes: vec![],
            segments: vec![segment(0, 'R', 0, 25), segment(1, 'D', 25, 70), segment(0, 'P', 70, 100)],
            jumps: vec![],
            legend: vec![],
        };
        assert_eq!(letters(&timeline, 0, 10), "███    ppp");
        assert_eq!(letters(&timeline, 1, 10), "  ddddd   ");
    }
}
