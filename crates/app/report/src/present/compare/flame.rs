//! The differential flame graph: widths are the time after, colors the change against before.
//!
//! ```text
//! ┌──────────────── list ────────────────┐   entries above, callees below them
//! ├──── read ────┬──── check ──┐
//! └─ disk ─┘     └─ lookup ─┘                the uncovered part of a frame is its own self time
//! ```
//!
//! Widths are self times with everything below, so callees always fit into their caller, also where calls ran at
//! the same time.

use super::phrases::{calls, change_word};
use crate::document::{
    Block, Color, Detail, Flame, Frame, LegendEntry, Prose, Section, Sentences, SpanStyle,
};
use crate::{Change, Comparison, PathChange, PathFigures, names, numbers};

/// Frames narrower than this share of the graph are left out.
const SHARE_LEAST: f64 = 0.0008;

/// Frames of a document.
const FRAMES: usize = 3_000;

/// Rows of frames; deeper ones are left out.
const DEPTH: u32 = 60;

/// Columns of the operation in a frame; what does not fit is cut by the frame.
const LABEL_ROOM: usize = 60;

/// Lower ends of the steps of the color scale: change of the self time relative to the time in and below the
/// frame before. Fixed, so that two pages can be compared by eye.
const STEPS: [f64; 6] = [-0.5, -0.2, -0.05, 0.05, 0.25, 1.0];

const STEP_NAMES: [&str; 7] = ["≤ −50 %", "≤ −20 %", "≤ −5 %", "as before", "≥ +5 %", "≥ +25 %", "≥ +100 %"];

/// None when nothing after takes time.
pub(super) fn section(comparison: &Comparison) -> Option<Section> {
    let frames = frames(&comparison.paths);
    if frames.is_empty() {
        return None;
    }
    let left_out = comparison.paths.len() - frames.len();
    let steps = (-3..=3).map(Color::change).chain([Color::NEW]).zip(STEP_NAMES.into_iter().chain(["new"]));
    let flame = Flame {
        caption: "Differential flame graph; the call tree below holds the same figures".to_owned(),
        frames,
        legend: steps.map(|(color, name)| LegendEntry::new(color, name)).collect(),
    };
    let section = Section::new("flame", "Differential flame graph").detail(Detail::Page).introduction(
        "Width: self time after, with everything called from there, over all requests. Color: how much more or \
         less time is spent in the frame itself per request that enters at the same operation. Signs mark what is \
         beyond chance: ▲ slower, ▼ faster, ✚ new. Calls that are only before have no width: see the call tree.",
    );
    let section = section.block(flame);
    if left_out == 0 {
        return Some(section);
    }
    let omitted = numbers::counted(left_out as u64, "path");
    let remark = format!("Not drawn, because too narrow, too deep, or gone: {omitted}.");
    Some(section.block(Block::from(Sentences::paragraphs([Prose::from(remark)])).detail(Detail::Page)))
}

/// Time over all requests of a set, nanoseconds; what is not a positive number counts as none.
fn weight(figures: &PathFigures, entering: u64) -> f64 {
    let weight = figures.tree_ns * entering as f64;
    if weight.is_finite() { weight.max(0.0) } else { 0.0 }
}

/// Where a path is drawn, as shares of the graph.
#[derive(Clone, Copy)]
struct FramePosition {
    from: f64,
    width: f64,
    depth: u32,
    /// Where the next callee starts.
    next: f64,
    /// Requests that enter at the root.
    entering: u64,
}

/// Callers precede their callees, so cutting the list never keeps a callee without its caller.
fn frames(paths: &[PathChange]) -> Vec<Frame> {
    let positions = positions(paths);
    let drawn = positions.iter().zip(paths).filter_map(|(position, path)| Some((position.as_ref()?, path)));
    drawn.take(FRAMES).map(|(position, path)| frame(position, path)).collect()
}

/// `None` for paths that are not drawn.
fn positions(paths: &[PathChange]) -> Vec<Option<FramePosition>> {
    let roots = paths.iter().filter(|path| path.parent.is_none());
    let total: f64 = roots.map(|path| weight(&path.after, path.after.requests)).sum();
    if total <= 0.0 {
        return vec![None; paths.len()];
    }
    let mut positions: Vec<Option<FramePosition>> = Vec::with_capacity(paths.len());
    let mut next_root = 0.0;
    for path in paths {
        let caller = path.parent.map(|parent| parent as usize);
        let root =
            FramePosition { from: 0.0, width: 1.0, depth: 0, next: next_root, entering: path.after.requests };
        let above = caller.map_or(Some(root), |caller| positions.get(caller).copied().flatten());
        positions.push(None);
        let Some(above) = above else { continue };
        let width = (weight(&path.after, above.entering) / total).min(above.from + above.width - above.next);
        if width.is_nan() || width <= 0.0 {
            continue;
        }
        match caller.and_then(|caller| positions[caller].as_mut()) {
            Some(caller) => caller.next += width,
            None => next_root += width,
        }
        let depth = caller.map_or(0, |_| above.depth + 1);
        if width >= SHARE_LEAST && depth < DEPTH {
            let from = above.next;
            let position = FramePosition { from, width, depth, next: from, entering: above.entering };
            if let Some(last) = positions.last_mut() {
                *last = Some(position);
            }
        }
    }
    positions
}

fn frame(position: &FramePosition, path: &PathChange) -> Frame {
    let operation = names::label(&path.operation, LABEL_ROOM);
    Frame {
        from: position.from,
        width: position.width,
        depth: position.depth,
        color: color(path),
        label: Prose::from(sign(path.change)).named(SpanStyle::Operation, &operation),
        words: words(position.width, path),
    }
}

fn words(width: f64, path: &PathChange) -> String {
    let name = names::label(&Prose::operation(&path.service, &path.operation).text(), 120);
    let (before, after) = (path.before.self_ns, path.after.self_ns);
    let share = numbers::relative(before, after)
        .map_or_else(String::new, |share| format!(" ({})", numbers::signed_share(share)));
    let word = match path.change {
        Change::None => String::new(),
        change => format!(", {}", change_word(change)),
    };
    let p = path.p_value.map_or_else(String::new, |p| format!(", p {}", numbers::p_value(p)));
    format!(
        "{name}: {} of all time; itself {} per request, before {}, {}{share}; with everything below {}, before {}; {} calls, before {}{word}{p}",
        numbers::share(width),
        numbers::time_float(after),
        numbers::time_float(before),
        numbers::signed_time(after - before),
        numbers::time_float(path.after.tree_ns),
        numbers::time_float(path.before.tree_ns),
        calls(path.after.calls as f64),
        calls(path.before.calls as f64),
    )
}

const fn sign(change: Change) -> &'static str {
    match change {
        Change::Slower | Change::MoreCalls => "▲ ",
        Change::Faster | Change::FewerCalls => "▼ ",
        Change::New => "✚ ",
        Change::Vanished | Change::None => "",
    }
}

/// The color of a frame; what is not a number counts as unchanged.
fn color(path: &PathChange) -> Color {
    if path.before.calls == 0 {
        return Color::NEW;
    }
    let change = (path.after.self_ns - path.before.self_ns) / path.before.tree_ns;
    if !change.is_finite() {
        return Color::change(0);
    }
    let above = STEPS.iter().filter(|&&step| if step < 0.0 { change > step } else { change >= step }).count();
    Color::change(above as i32 - 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(parent: Option<u32>, before_self: f64, before: f64, after_self: f64, after: f64) -> PathChange {
        let figures = |self_ns, tree_ns, calls| PathFigures {
            requests: calls,
            calls,
            self_ns,
            tree_ns,
            self_p50_ns: 0,
        };
        PathChange {
            parent,
            service: String::new(),
            operation: "o".to_owned(),
            kind: String::new(),
            before: figures(before_self, before, 10),
            after: figures(after_self, after, 10),
            share: None,
            p_value: None,
            change: Change::None,
        }
    }

    #[test]
    fn callees_lie_inside_their_callers() {
        let paths = [
            path(None, 10.0, 60.0, 20.0, 80.0),
            path(Some(0), 50.0, 50.0, 60.0, 60.0),
            path(None, 20.0, 20.0, 20.0, 20.0),
        ];
        let frames = frames(&paths);
        let expected = [(0.0, 0.8, 0), (0.0, 0.6, 1), (0.8, 0.2, 0)];
        assert_eq!(frames.len(), expected.len());
        for (frame, (from, width, depth)) in frames.iter().zip(expected) {
            assert!((frame.from - from).abs() < 1e-12 && (frame.width - width).abs() < 1e-12, "{frames:?}");
            assert_eq!(frame.depth, depth);
        }
    }

    #[test]
    fn colors_follow_the_change() {
        let step = |before: f64, after: f64| color(&path(None, before, before, after, after));
        let cases = [
            (100.0, 40.0, -3),
            (100.0, 50.0, -3),
            (100.0, 51.0, -2),
            (100.0, 80.0, -2),
            (100.0, 95.0, -1),
            (100.0, 100.0, 0),
            (100.0, 105.0, 1),
            (100.0, 125.0, 2),
            (100.0, 200.0, 3),
            (f64::NAN, 1.0, 0),
        ];
        for (before, after, expected) in cases {
            assert_eq!(step(before, after), Color::change(expected), "{before} {after}");
        }
        let mut new = path(None, 0.0, 0.0, 5.0, 5.0);
        new.before.calls = 0;
        assert_eq!(color(&new), Color::NEW);
    }

    #[test]
    fn broken_trees_are_drawn_up_to_the_break() {
        let paths = [path(Some(9), 1.0, 1.0, 1.0, 1.0), path(None, 1.0, 1.0, f64::NAN, f64::NAN)];
        assert_eq!(frames(&paths).len(), 0);
    }
}
