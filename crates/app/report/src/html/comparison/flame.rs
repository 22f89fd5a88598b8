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

use super::super::markup::Markup;
use super::super::remark;
use crate::comparison::{
    Change, Comparison, PathChange, PathFigures, calls, change_word, signed_share, signed_time,
};
use crate::{facts, names, numbers};

/// Frames narrower than this share of the graph are left out.
const SHARE_LEAST: f64 = 0.0008;

/// Frames the page can bear.
const FRAMES: usize = 3_000;

/// Rows of frames; deeper ones are left out.
const DEPTH: usize = 60;

/// Height of a frame with the gap below it, in pixels.
const ROW: f64 = 20.0;

/// Characters of text in a frame; what does not fit is cut by the frame.
const LABEL_ROOM: usize = 60;

/// Lower ends of the steps of the color scale: change of the self time relative to the time in and below the
/// frame before. Fixed, so that two pages can be compared by eye.
const STEPS: [f64; 6] = [-0.5, -0.2, -0.05, 0.05, 0.25, 1.0];

const STEP_CLASSES: [&str; 7] = ["c-3", "c-2", "c-1", "c0", "c1", "c2", "c3"];

const STEP_NAMES: [&str; 7] = ["≤ −50 %", "≤ −20 %", "≤ −5 %", "as before", "≥ +5 %", "≥ +25 %", "≥ +100 %"];

const NEW_CLASS: &str = "c-new";

pub(super) fn drawable(comparison: &Comparison) -> bool {
    let roots = comparison.paths.iter().filter(|path| path.parent.is_none());
    roots.map(|path| weight(&path.after, path.after.requests)).sum::<f64>() > 0.0
}

pub(super) fn write(m: &mut Markup, comparison: &Comparison) {
    let graph = Graph::of(&comparison.paths);
    remark(
        m,
        "Width: self time after, with everything called from there, over all requests. Color: how much more or \
         less time is spent in the frame itself per request that enters at the same operation. Signs mark what is \
         beyond chance: ▲ slower, ▼ faster, ✚ new. Calls that are only before have no width: see the call tree.",
    );
    legend(m);
    let attributes = [
        ("class", "flame"),
        ("role", "region"),
        ("aria-label", "Differential flame graph; the call tree below holds the same figures"),
        ("tabindex", "0"),
    ];
    m.within("div", &attributes, |m| graph.picture(m));
    m.raw("<output class=\"readout\" hidden aria-live=\"polite\"></output>\n");
    if graph.left_out > 0 {
        let left = numbers::counted(graph.left_out as u64, "path");
        remark(m, &format!("{left} too narrow, too deep or gone are not drawn."));
    }
}

fn legend(m: &mut Markup) {
    m.raw("<ul class=\"legend\" aria-label=\"Legend\">\n");
    let steps = STEP_CLASSES.into_iter().zip(STEP_NAMES).chain([(NEW_CLASS, "new")]);
    for (class, name) in steps {
        m.open("li", &[]);
        m.raw("<svg width=\"16\" height=\"12\" aria-hidden=\"true\">");
        m.shape("rect", class, &[("width", 16.0), ("height", 12.0)]);
        m.close("svg");
        m.text(name);
        m.close("li");
    }
    m.close("ul");
}

/// Time over all requests of a set, nanoseconds; nonsense counts as none.
fn weight(figures: &PathFigures, entering: u64) -> f64 {
    let weight = figures.tree_ns * entering as f64;
    if weight.is_finite() { weight.max(0.0) } else { 0.0 }
}

/// One frame: where it is, as shares of the whole.
struct Frame<'a> {
    path: &'a PathChange,
    from: f64,
    width: f64,
    depth: usize,
}

/// What is drawn.
struct Graph<'a> {
    frames: Vec<Frame<'a>>,
    rows: usize,
    left_out: usize,
}

impl Graph<'_> {
    fn of(paths: &[PathChange]) -> Graph<'_> {
        let layout = Layout::of(paths);
        let mut frames: Vec<Frame<'_>> = layout
            .places
            .iter()
            .zip(paths)
            .filter_map(|(place, path)| {
                let place = place.as_ref()?;
                Some(Frame { path, from: place.from, width: place.width, depth: place.depth })
            })
            .collect();
        // Callers stand before their callees, so whatever is cut has no callee that is kept without it.
        frames.truncate(FRAMES);
        let rows = frames.iter().map(|frame| frame.depth + 1).max().unwrap_or(0);
        Graph { left_out: paths.len() - frames.len(), rows, frames }
    }

    fn picture(&self, m: &mut Markup) {
        let height = format!("{}", self.rows as f64 * ROW);
        m.open("svg", &[("class", "flames"), ("role", "img"), ("width", "100%"), ("height", &height)]);
        m.element("title", &[], "Differential flame graph; the call tree below holds the same figures");
        self.frames.iter().for_each(|frame| frame.draw(m));
        m.close("svg");
    }
}

#[derive(Clone, Copy)]
struct Place {
    from: f64,
    width: f64,
    depth: usize,
    /// Where the next callee starts.
    next: f64,
    entering: u64,
}

struct Layout {
    places: Vec<Option<Place>>,
}

impl Layout {
    fn of(paths: &[PathChange]) -> Layout {
        let roots = paths.iter().filter(|path| path.parent.is_none());
        let whole: f64 = roots.map(|path| weight(&path.after, path.after.requests)).sum();
        let mut places: Vec<Option<Place>> = Vec::with_capacity(paths.len());
        if whole <= 0.0 {
            return Layout { places: vec![None; paths.len()] };
        }
        let mut next_root = 0.0;
        for (at, path) in paths.iter().enumerate() {
            let caller = path.parent.map(|parent| parent as usize);
            let above = match caller {
                None => Some(Place {
                    from: 0.0,
                    width: 1.0,
                    depth: 0,
                    next: next_root,
                    entering: path.after.requests,
                }),
                Some(caller) => places.get(caller).copied().flatten(),
            };
            places.push(None);
            let Some(above) = above else { continue };
            let width =
                (weight(&path.after, above.entering) / whole).min(above.from + above.width - above.next);
            if width.is_nan() || width <= 0.0 {
                continue;
            }
            match caller {
                None => next_root += width,
                Some(caller) => {
                    if let Some(place) = &mut places[caller] {
                        place.next += width;
                    }
                }
            }
            let depth = caller.map_or(0, |_| above.depth + 1);
            if width >= SHARE_LEAST && depth < DEPTH {
                let from = above.next;
                places[at] = Some(Place { from, width, depth, next: from, entering: above.entering });
            }
        }
        Layout { places }
    }
}

impl Frame<'_> {
    fn draw(&self, m: &mut Markup) {
        let percent = |share: f64| format!("{:.3}%", share * 100.0);
        let (x, width) = (percent(self.from), percent(self.width));
        let y = format!("{}", self.depth as f64 * ROW);
        let class = if self.width < 0.03 { "frame narrow" } else { "frame" };
        m.open(
            "svg",
            &[
                ("class", class),
                ("x", &x),
                ("y", &y),
                ("width", &width),
                ("height", "19"),
                ("aria-hidden", "true"),
            ],
        );
        m.element("title", &[], &self.words());
        m.open("rect", &[("class", step_class(self.path)), ("width", "100%"), ("height", "19")]);
        m.close("rect");
        let label = format!("{}{}", sign(self.path.change), names::label(&self.path.operation, LABEL_ROOM));
        m.element("text", &[("x", "4"), ("y", "14")], &label);
        m.close("svg");
    }

    fn words(&self) -> String {
        let path = self.path;
        let name = facts::operation(&path.service, &path.operation, 120);
        let (before, after) = (path.before.self_ns, path.after.self_ns);
        let share =
            if before > 0.0 { format!(" ({})", signed_share(after / before - 1.0)) } else { String::new() };
        let word = match path.change {
            Change::None => String::new(),
            change => format!(", {}", change_word(change)),
        };
        let p = path.p_value.map_or_else(String::new, |p| format!(", p {}", numbers::p_value(p)));
        format!(
            "{name}: {} of all time; itself {} per request, before {}, {}{share}; with all below {}, before {}; {} calls, before {}{word}{p}",
            numbers::share(self.width),
            numbers::time_float(after),
            numbers::time_float(before),
            signed_time(after - before),
            numbers::time_float(path.after.tree_ns),
            numbers::time_float(path.before.tree_ns),
            calls(path.after.calls as f64),
            calls(path.before.calls as f64),
        )
    }
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
fn step_class(path: &PathChange) -> &'static str {
    if path.before.calls == 0 {
        return NEW_CLASS;
    }
    let change = (path.after.self_ns - path.before.self_ns) / path.before.tree_ns;
    if !change.is_finite() {
        return "c0";
    }
    let above = STEPS.iter().filter(|&&step| if step < 0.0 { change > step } else { change >= step }).count();
    STEP_CLASSES[above]
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
        let graph = Graph::of(&paths);
        let places: Vec<(f64, f64, usize)> =
            graph.frames.iter().map(|frame| (frame.from, frame.width, frame.depth)).collect();
        let wanted = [(0.0, 0.8, 0), (0.0, 0.6, 1), (0.8, 0.2, 0)];
        for (found, wanted) in places.iter().zip(wanted) {
            assert!((found.0 - wanted.0).abs() < 1e-12 && (found.1 - wanted.1).abs() < 1e-12, "{places:?}");
            assert_eq!(found.2, wanted.2);
        }
    }

    #[test]
    fn colors_follow_the_change() {
        let class = |before: f64, after: f64| step_class(&path(None, before, before, after, after));
        let cases = [
            (100.0, 40.0, "c-3"),
            (100.0, 50.0, "c-3"),
            (100.0, 51.0, "c-2"),
            (100.0, 80.0, "c-2"),
            (100.0, 95.0, "c-1"),
            (100.0, 100.0, "c0"),
            (100.0, 105.0, "c1"),
            (100.0, 125.0, "c2"),
            (100.0, 200.0, "c3"),
            (f64::NAN, 1.0, "c0"),
        ];
        for (before, after, wanted) in cases {
            assert_eq!(class(before, after), wanted, "{before} {after}");
        }
        let mut new = path(None, 0.0, 0.0, 5.0, 5.0);
        new.before.calls = 0;
        assert_eq!(step_class(&new), NEW_CLASS);
    }

    #[test]
    fn broken_trees_are_drawn_as_far_as_they_go() {
        let paths = [path(Some(9), 1.0, 1.0, 1.0, 1.0), path(None, 1.0, 1.0, f64::NAN, f64::NAN)];
        assert_eq!(Graph::of(&paths).frames.len(), 0);
    }
}
