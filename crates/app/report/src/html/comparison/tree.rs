//! The differential call tree: the same figures as the flame graph, also of what is gone.

use super::super::markup::Markup;
use super::super::{operation, remark, scroller};
use super::number;
use super::operations::mark;
use crate::comparison::{Change, Comparison, PathChange, signed_share, signed_time};
use crate::numbers;
use std::collections::HashSet;

/// Rows the page can bear.
const ROWS: usize = 2_000;

/// Trees up to this size show all rows; larger ones start with what changed and the ways there.
const SHOW_ALL: usize = 40;

/// Deeper rows are indented no further, and say how deep they are.
const DEPTH: usize = 16;

const DEPTH_CLASSES: [&str; DEPTH + 1] = [
    "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15",
    "d16",
];

/// Width of a row's bars, in pixels.
const BAR: f64 = 120.0;

pub(super) fn write(m: &mut Markup, comparison: &Comparison) {
    remark(
        m,
        "Mean self time at each call path, per request that enters at the same operation. The share is of the \
         change of all self time per request, and signed. The test compares the self time per call or, of a path \
         in one set only, the number of requests that have it.",
    );
    let shape = Shape::of(&comparison.paths);
    let shown = shape.shown(&comparison.paths);
    m.open("div", &[("class", "tree")]);
    choice(m, shown.len(), shape.changed);
    scroller(m, "Differential call tree", |m| {
        m.raw("<table class=\"nodes difference\">\n<caption class=\"away\">Call paths before and after</caption>\n<thead><tr>");
        m.raw("<th scope=\"col\">Operation</th><th scope=\"col\">Self time</th>");
        for title in ["Before", "After", "Difference", "Relative", "Share"] {
            m.element("th", &[("scope", "col"), ("class", "number")], title);
        }
        m.raw("<th scope=\"col\">Test</th><th scope=\"col\" class=\"number\">p</th></tr></thead>\n<tbody>\n");
        for &at in &shown {
            row(m, &comparison.paths[at], &shape, at);
        }
        m.raw("</tbody></table>\n");
    });
    m.close("div");
    if shown.len() < comparison.paths.len() {
        let left = numbers::count((comparison.paths.len() - shown.len()) as u64);
        remark(m, &format!("{left} more paths are in the JSON output."));
    }
}

/// A box to tick that works without scripts.
fn choice(m: &mut Markup, rows: usize, changed: usize) {
    let mut attributes = vec![("type", "checkbox"), ("id", "only-changed")];
    if rows > SHOW_ALL && changed > 0 {
        attributes.push(("checked", ""));
    }
    m.open("p", &[("class", "choice")]);
    m.open("input", &attributes);
    m.text(" ");
    let text = format!("Only what changed, and the ways there ({changed} of {rows} paths changed)");
    m.element("label", &[("for", "only-changed")], &text);
    m.close("p");
}

struct Shape {
    depths: Vec<usize>,
    /// Paths that changed or lead there.
    ways: HashSet<usize>,
    changed: usize,
    /// The scale of the bars, in nanoseconds; above 0.
    longest_ns: f64,
}

impl Shape {
    fn of(paths: &[PathChange]) -> Shape {
        let mut depths = vec![0; paths.len()];
        for at in 0..paths.len() {
            depths[at] = parent(paths, at).map_or(0, |above| depths[above] + 1);
        }
        let mut ways = HashSet::new();
        let changed: Vec<usize> = (0..paths.len()).filter(|&at| paths[at].change != Change::None).collect();
        for &at in &changed {
            let mut next = Some(at);
            while let Some(here) = next.filter(|&here| ways.insert(here)) {
                next = parent(paths, here);
            }
        }
        let times = paths.iter().flat_map(|path| [path.before.self_ns, path.after.self_ns]);
        let longest_ns = times.filter(|ns| ns.is_finite()).fold(1.0, f64::max);
        Shape { depths, ways, changed: changed.len(), longest_ns }
    }

    /// Rows on the page: all, or what changed with the ways there and as many of the others as there is room.
    fn shown(&self, paths: &[PathChange]) -> Vec<usize> {
        if paths.len() <= ROWS {
            return (0..paths.len()).collect();
        }
        let room = ROWS.saturating_sub(self.ways.len());
        let others: HashSet<usize> = (0..paths.len())
            .filter(|at| !self.ways.contains(at) && self.depths[*at] < 4)
            .take(room)
            .collect();
        let wanted = |at: &usize| self.ways.contains(at) || others.contains(at);
        (0..paths.len()).filter(wanted).take(ROWS).collect()
    }
}

/// The caller, which stands before its callees; a tree that breaks this is drawn flat there.
fn parent(paths: &[PathChange], at: usize) -> Option<usize> {
    paths[at].parent.map(|above| above as usize).filter(|&above| above < at)
}

fn row(m: &mut Markup, path: &PathChange, shape: &Shape, at: usize) {
    let class = match (path.change, shape.ways.contains(&at)) {
        (Change::None, false) => "aside",
        (Change::None, true) => "way",
        (Change::Slower | Change::New | Change::MoreCalls, _) => "changed worse",
        _ => "changed better",
    };
    m.open("tr", &[("class", class)]);
    let depth = shape.depths[at];
    m.open("th", &[("scope", "row"), ("class", DEPTH_CLASSES[depth.min(DEPTH)])]);
    if depth > DEPTH {
        m.element("span", &[("class", "depth")], &format!("depth {depth} "));
    }
    operation(m, &path.service, &path.operation);
    m.close("th");
    m.within("td", &[], |m| bars(m, path, shape.longest_ns));
    let (before, after) = (path.before.self_ns, path.after.self_ns);
    for (calls, ns) in [(path.before.calls, before), (path.after.calls, after)] {
        number(m, &if calls == 0 { "–".to_owned() } else { numbers::time_float(ns) }, ns);
    }
    number(m, &signed_time(after - before), after - before);
    let relative = if path.before.calls > 0 && before > 0.0 {
        signed_share(after / before - 1.0)
    } else {
        String::new()
    };
    number(m, &relative, after / before - 1.0);
    number(m, &path.share.map_or_else(String::new, signed_share), path.share.unwrap_or(f64::NAN));
    m.within("td", &[], |m| {
        if path.change != Change::None {
            mark(m, path.change);
        }
    });
    let p = path.p_value.unwrap_or(f64::NAN);
    number(m, &path.p_value.map_or_else(String::new, numbers::p_value), p);
    m.close("tr");
}

/// Before above, after below.
fn bars(m: &mut Markup, path: &PathChange, longest_ns: f64) {
    let wide = |ns: f64| if ns > 0.0 { (ns / longest_ns * BAR).clamp(0.5, BAR) } else { 0.0 };
    m.raw("<svg class=\"times\" viewBox=\"0 0 120 13\" width=\"120\" height=\"13\" aria-hidden=\"true\">");
    m.shape("rect", "was", &[("width", wide(path.before.self_ns)), ("height", 6.0)]);
    m.shape("rect", "is", &[("y", 7.0), ("width", wide(path.after.self_ns)), ("height", 6.0)]);
    m.close("svg");
}
