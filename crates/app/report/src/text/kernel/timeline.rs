//! A path as letters: a line for each thread, a column for a stretch of time.

use super::super::page::Page;
use super::super::paint::{Paint, Piece};
use super::flat;
use crate::kernel::{DrawnLanes, KernelState, PathTimeline, drawn_lanes};
use crate::names::{columns, label};
use crate::numbers;

/// Threads drawn.
const LANES: usize = 10;

/// Columns of a thread's name.
const NAME: usize = 24;

/// The letter of a state.
const fn letter(state: KernelState) -> char {
    match state {
        KernelState::Running => '█',
        KernelState::Preempted => 'p',
        KernelState::Blocked => 'b',
        KernelState::Network => 'n',
        KernelState::BlockDevice => 'd',
        KernelState::Timer => 't',
        KernelState::Interrupted => 'i',
        KernelState::Ipi => 'x',
        KernelState::UserInput => 'u',
        KernelState::Unknown => '?',
    }
}

pub(super) fn print(page: &mut Page, timeline: &PathTimeline) {
    if timeline.pieces.is_empty() || timeline.elapsed_ns == 0 {
        return;
    }
    let remark = format!(
        "█ ran, p pre-empted, d disk, n network, t timer, b blocked; {}",
        numbers::time(timeline.elapsed_ns)
    );
    page.heading(&format!("Path of {}", flat(&timeline.title)), &remark);
    let cells = page.width().saturating_sub(NAME + 4).max(10);
    let lanes = drawn_lanes(timeline, LANES);
    for (lane, name) in lanes.names.iter().enumerate() {
        let text = label(name, NAME);
        let pad = " ".repeat(NAME - columns(&text).min(NAME));
        let drawn = row(timeline, &lanes, lane, cells);
        page.line(&[Piece::plain(format!(" {text}{pad}  ")), Piece::new(&drawn, Paint::Plain)]);
    }
}

/// One line: in each column the state that takes most of it, blank where the path is elsewhere for most of it.
fn row(timeline: &PathTimeline, lanes: &DrawnLanes, lane: usize, cells: usize) -> String {
    let mut most: Vec<(u64, char)> = vec![(0, ' '); cells];
    let cell_ns = timeline.elapsed_ns as f64 / cells as f64;
    for piece in timeline.pieces.iter().filter(|piece| lanes.place(piece.lane) == lane) {
        let first = ((piece.from_ns as f64 / cell_ns) as usize).min(cells - 1);
        let last = ((piece.to_ns as f64 / cell_ns) as usize).min(cells - 1);
        for (at, cell) in most.iter_mut().enumerate().take(last + 1).skip(first) {
            let from = (at as f64 * cell_ns) as u64;
            let inside =
                piece.to_ns.min(((at + 1) as f64 * cell_ns) as u64).saturating_sub(piece.from_ns.max(from));
            if inside > cell.0 {
                *cell = (inside, letter(piece.state));
            }
        }
    }
    most.into_iter().map(|(_, letter)| letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::PathSegment;

    #[test]
    fn a_column_shows_what_takes_most_of_it() {
        let piece = |lane, state, from_ns, to_ns| PathSegment {
            lane,
            state,
            from_ns,
            to_ns,
            resource: String::new(),
            idle_ns: 0,
            inferred: false,
        };
        let timeline = PathTimeline {
            title: String::new(),
            execution: 1,
            since_ns: 0,
            since: None,
            elapsed_ns: 100,
            lanes: vec![],
            pieces: vec![
                piece(0, KernelState::Running, 0, 25),
                piece(1, KernelState::BlockDevice, 25, 70),
                piece(0, KernelState::Preempted, 70, 100),
            ],
            jumps: vec![],
            folded: 0,
        };
        let lanes = DrawnLanes { of: vec![0, 1], names: vec![] };
        assert_eq!(row(&timeline, &lanes, 0, 10), "███    ppp");
        assert_eq!(row(&timeline, &lanes, 1, 10), "  ddddd   ");
    }
}
