//! The call tree of every category that holds a suspect.

use super::markup::Markup;
use super::{operation, remark, scroller};
use crate::{Category, Report, TreeNode, numbers};
use std::collections::{HashMap, HashSet};

/// Nodes the page can bear, over all trees.
const NODES: usize = 3_000;

/// Trees shown unfolded.
const UNFOLDED: usize = 1;

/// Trees up to this size show all nodes; larger ones start with the ways to the suspects only.
const SHOW_ALL: usize = 40;

/// Deeper nodes are indented no further, and say how deep they are.
const DEPTH: usize = 16;

const DEPTH_CLASSES: [&str; DEPTH + 1] = [
    "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15",
    "d16",
];

/// Width of a node's bars, in pixels.
const BAR: f64 = 160.0;

pub(super) fn any(report: &Report) -> bool {
    report.categories.iter().any(|category| !category.tree.is_empty())
}

/// Which categories' trees are on the page.
pub(super) struct Drawn<'a> {
    categories: Vec<&'a Category>,
    anchors: HashMap<&'a str, String>,
    left_out: usize,
}

impl Drawn<'_> {
    pub(super) fn of(report: &Report) -> Drawn<'_> {
        let mut drawn = Drawn { categories: Vec::new(), anchors: HashMap::new(), left_out: 0 };
        let mut nodes = 0;
        for category in report.categories.iter().filter(|category| !category.tree.is_empty()) {
            nodes += category.tree.len();
            if nodes > NODES && !drawn.categories.is_empty() {
                drawn.left_out += 1;
                continue;
            }
            drawn.anchors.insert(&category.id, format!("tree-{}", drawn.categories.len()));
            drawn.categories.push(category);
        }
        drawn
    }

    /// The fragment to link to for a category.
    pub(super) fn anchor(&self, id: &str) -> Option<&str> {
        self.anchors.get(id).map(String::as_str)
    }
}

pub(super) fn write(m: &mut Markup, report: &Report) {
    remark(
        m,
        "One tree per request category that holds a suspect. Bars show self time: dark to the median, light to \
         the 99th percentile, on one scale per tree.",
    );
    let drawn = Drawn::of(report);
    for (at, category) in drawn.categories.iter().enumerate() {
        tree(m, category, at);
    }
    if drawn.left_out > 0 {
        let left = numbers::count(drawn.left_out as u64);
        remark(m, &format!("{left} more trees are in the JSON output."));
    }
}

fn tree(m: &mut Markup, category: &Category, at: usize) {
    let id = format!("tree-{at}");
    let mut attributes = vec![("class", "tree"), ("id", id.as_str())];
    if at < UNFOLDED {
        attributes.push(("open", ""));
    }
    m.open("details", &attributes);
    m.within("summary", &[], |m| summary(m, category));
    let shape = Shape::of(&category.tree);
    if shape.ways.len() < category.tree.len() {
        choice(m, category.tree.len(), at);
    }
    scroller(m, "Call tree", |m| {
        m.raw("<table class=\"nodes\">\n<caption class=\"away\">Call tree in depth-first order</caption>\n<thead><tr>");
        m.raw("<th scope=\"col\">Operation</th><th scope=\"col\">Self time</th>");
        m.raw("<th scope=\"col\" class=\"number\">p50</th><th scope=\"col\" class=\"number\">p99</th>");
        m.raw("<th scope=\"col\" class=\"number\">Calls</th><th scope=\"col\" class=\"number\">Slow requests</th>");
        m.raw("<th scope=\"col\" class=\"number\">Of the excess</th></tr></thead>\n<tbody>\n");
        for (position, node) in category.tree.iter().enumerate().take(NODES) {
            row(m, node, &shape, position);
        }
        m.raw("</tbody></table>\n");
    });
    if category.tree.len() > NODES {
        remark(m, "The rest of this tree is in the JSON output.");
    }
    m.close("details");
}

fn summary(m: &mut Markup, category: &Category) {
    operation(m, &category.service, &category.operation);
    let facts = format!(
        " {}, p50 {}, p99 {}, ",
        numbers::counted(category.requests, "request"),
        numbers::time(category.latency_p50_ns),
        numbers::time(category.latency_p99_ns)
    );
    m.open("span", &[("class", "remark")]);
    m.text(&facts);
    m.name("id", &category.id, 24);
    m.close("span");
}

/// A box to tick that works without scripts.
fn choice(m: &mut Markup, nodes: usize, at: usize) {
    let id = format!("only-{at}");
    let mut attributes = vec![("type", "checkbox"), ("id", id.as_str())];
    if nodes > SHOW_ALL {
        attributes.push(("checked", ""));
    }
    m.open("p", &[("class", "choice")]);
    m.open("input", &attributes);
    m.text(" ");
    m.element("label", &[("for", &id)], &format!("Only the ways to suspects (of {nodes} positions)"));
    m.close("p");
}

/// What is drawn of a tree besides its nodes.
struct Shape {
    depths: Vec<usize>,
    /// Positions that are a suspect or lead to one.
    ways: HashSet<usize>,
    /// The scale of the bars, in nanoseconds; never 0.
    longest_ns: u64,
}

impl Shape {
    fn of(tree: &[TreeNode]) -> Shape {
        let mut depths = vec![0; tree.len()];
        for position in 0..tree.len() {
            depths[position] = parent(tree, position).map_or(0, |above| depths[above] + 1);
        }
        let mut ways = HashSet::new();
        for position in (0..tree.len()).filter(|&position| tree[position].suspect.is_some()) {
            let mut at = Some(position);
            while let Some(node) = at.filter(|&node| ways.insert(node)) {
                at = parent(tree, node);
            }
        }
        let longest_ns = tree.iter().map(|node| node.self_p99_ns.max(node.self_p50_ns)).max();
        Shape { depths, ways, longest_ns: longest_ns.unwrap_or(0).max(1) }
    }
}

/// The parent, which stands before its child; a tree that breaks this is drawn flat there.
fn parent(tree: &[TreeNode], position: usize) -> Option<usize> {
    tree[position].parent.map(|above| above as usize).filter(|&above| above < position)
}

fn row(m: &mut Markup, node: &TreeNode, shape: &Shape, position: usize) {
    let class = match (node.suspect.is_some(), shape.ways.contains(&position)) {
        (true, _) => "suspect",
        (false, true) => "way",
        (false, false) => "aside",
    };
    m.open("tr", &[("class", class)]);
    let depth = shape.depths[position];
    m.open("th", &[("scope", "row"), ("class", DEPTH_CLASSES[depth.min(DEPTH)])]);
    if depth > DEPTH {
        m.element("span", &[("class", "depth")], &format!("depth {depth} "));
    }
    operation(m, &node.service, &node.operation);
    if let Some(rank) = node.suspect {
        m.text(" ");
        m.element("span", &[("class", "mark")], &format!("suspect {rank}"));
    }
    m.close("th");
    m.within("td", &[], |m| bars(m, node, shape.longest_ns));
    number(m, &numbers::time(node.self_p50_ns));
    number(m, &numbers::time(node.self_p99_ns));
    number(m, &numbers::ratio(node.calls_mean));
    number(m, &if node.slow_requests > 0 { numbers::count(node.slow_requests) } else { String::new() });
    number(m, &node.share.map_or(String::new(), numbers::share));
    m.close("tr");
}

fn number(m: &mut Markup, text: &str) {
    m.element("td", &[("class", "number")], text);
}

fn bars(m: &mut Markup, node: &TreeNode, longest_ns: u64) {
    let wide = |ns: u64| (ns as f64 / longest_ns as f64 * BAR).max(0.5);
    m.raw("<svg class=\"times\" viewBox=\"0 0 160 10\" width=\"160\" height=\"10\" aria-hidden=\"true\">");
    m.shape("rect", "p99", &[("y", 2.0), ("width", wide(node.self_p99_ns)), ("height", 6.0)]);
    m.shape("rect", "p50", &[("width", wide(node.self_p50_ns)), ("height", 10.0)]);
    m.close("svg");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: Option<u32>, suspect: Option<u32>) -> TreeNode {
        TreeNode {
            parent,
            service: String::new(),
            operation: String::new(),
            self_p50_ns: 1,
            self_p99_ns: 2,
            calls_mean: 1.0,
            suspect,
            slow_requests: 0,
            cosine: None,
            share: None,
        }
    }

    #[test]
    fn ways_lead_from_the_entry_to_the_suspects() {
        let tree = [node(None, None), node(Some(0), None), node(Some(1), Some(1)), node(Some(0), None)];
        let shape = Shape::of(&tree);
        assert_eq!(shape.depths, [0, 1, 2, 1]);
        assert_eq!(shape.ways, HashSet::from([0, 1, 2]));
        assert_eq!(shape.longest_ns, 2);
    }

    #[test]
    fn a_broken_tree_is_drawn_flat() {
        let shape = Shape::of(&[node(Some(7), Some(1)), node(Some(1), None)]);
        assert_eq!(shape.depths, [0, 0]);
    }
}
