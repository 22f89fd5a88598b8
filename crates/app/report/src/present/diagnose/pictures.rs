//! Pictures of a diagnosis, for pages: slow periods, the heat map, latencies, call trees.

use super::evidence;
use crate::document::{
    Axis, Block, Cell, CellKind, Chart, ChartMark, Color, ColumnKind, Detail, Emphasis, Fold, GraphicMark,
    HeatCell, HeatMap, Lane, LegendEntry, MarkStyle, Panel, Prose, Section, Series, SeriesShape, SpanStyle,
    Table, TableRow, Tone,
};
use crate::times::Calendar;
use crate::{Category, Incident, LatencySplit, Report, TreeNode, Window, numbers};
use std::collections::{HashMap, HashSet};

/// Slow periods drawn.
const PERIODS: usize = 500;

/// Lower ends of the steps of the heat scale; 1 is the usual time. The steps are fixed so that two reports can be
/// compared by eye.
const STEPS: [f64; 8] = [0.0, 1.1, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0];

const STEP_NAMES: [&str; 8] = ["usual", "≥ 1.1×", "≥ 1.25×", "≥ 1.5×", "≥ 2×", "≥ 4×", "≥ 8×", "≥ 16×"];

/// Bins of a histogram drawn.
const BINS: usize = 400;

/// Nodes of all trees together.
const NODES: usize = 3_000;

/// Trees up to this size show all nodes; larger ones start with the ways to suspects only.
const SHOW_ALL: usize = 40;

/// The window to scale with its slow periods.
pub(super) fn strip(report: &Report, calendar: &Calendar) -> Block {
    let incidents = &report.incidents[..report.incidents.len().min(PERIODS)];
    let times = || incidents.iter().map(|incident| incident.time).chain(report.window);
    let since = times().map(|time| time.since).min().unwrap_or_default();
    let time = Window { since, until: times().map(|time| time.until).max().unwrap_or_default() };
    let tallest = incidents.iter().map(height).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut bars = Series::new("slow period", SeriesShape::Bars, Color::ACCENT);
    let mut marks = Vec::new();
    for (index, incident) in incidents.iter().enumerate() {
        let (from, to) = (Axis::instant(incident.time.since), Axis::instant(incident.time.until));
        let [first, last] = calendar.ends(incident.time);
        let words = format!("{first} to {last}: up to {} the usual latency", evidence::worst(incident));
        bars.push_bar(from, to, height(incident).max(0.1 * tallest), words);
        let began = incident.onset.as_ref().map_or(f64::midpoint(from, to), |onset| Axis::instant(onset.at));
        let color = if incident.onset.is_some() { Color::TEXT } else { Color::ACCENT };
        marks.push(ChartMark::line(MarkStyle::Dashed, began, color, "").label((index + 1).to_string()));
    }
    let periods = numbers::counted(incidents.len() as u64, "slow period");
    let [first, last] = calendar.ends(time);
    let chart = Chart {
        caption: format!("{periods} between {first} and {last} UTC; the list below holds the same"),
        x: Axis::time(time),
        panels: vec![Panel::new("", 44, Axis::plain(0.0, tallest)).series(bars)],
        marks,
        legend: Vec::new(),
        readout: false,
    };
    Block::from(chart).detail(Detail::Page)
}

/// What a bar's height shows; nothing for what is not a number.
fn height(incident: &Incident) -> f64 {
    let share = incident.excess_share;
    if share.is_finite() { share.max(0.0).ln_1p() } else { 0.0 }
}

/// Operations by replicas.
pub(super) fn heat_map(report: &Report) -> Option<Section> {
    let map = report.heat_map.as_ref()?;
    if map.cells.is_empty() || map.cells.len() != map.operations.len() * map.replicas.len() {
        return None;
    }
    let cell = |cell: &crate::ReplicaHeatCell| HeatCell {
        color: Color::heat(cell.factor.map_or(0, step)),
        words: format!(
            "{}, {} of {} slow{}",
            cell.factor.map_or_else(|| "not measured".to_owned(), numbers::factor),
            numbers::count(cell.slow),
            numbers::counted(cell.calls, "call"),
            if cell.flagged { ", flagged" } else { "" }
        ),
        symbol: None,
        framed: cell.flagged,
        pale: cell.factor.is_none(),
    };
    let heat_map = HeatMap {
        caption: "Factor over the usual self time, by operation and replica".to_owned(),
        rows: map.operations.iter().map(|name| Prose::name(SpanStyle::Operation, name)).collect(),
        columns: map.replicas.iter().map(|name| Prose::name(SpanStyle::Replica, name)).collect(),
        cells: map.cells.iter().map(|found| found.as_ref().map(cell)).collect(),
        legend: STEP_NAMES
            .iter()
            .enumerate()
            .map(|(index, name)| LegendEntry::new(Color::heat(index), *name))
            .collect(),
        frame_label: "flagged by the replica test".to_owned(),
        empty_label: "never ran there".to_owned(),
    };
    let section = Section::new("heat-map", "Operations by replica").detail(Detail::Page);
    let section = section.introduction(
        "Mean self time of each operation on each replica, over the operation\u{2019}s usual self time. A framed \
         cell is one the replica test flagged.",
    );
    let omitted = map.replicas_omitted;
    let remark = format!("{} had no room in the map.", numbers::counted(omitted, "further replica"));
    let remark = crate::document::Sentences::paragraphs((omitted > 0).then(|| Prose::from(remark)));
    Some(section.block(heat_map).block(remark))
}

/// The step of a factor; what is not a number counts as usual.
fn step(factor: f64) -> usize {
    STEPS.iter().rposition(|&from| factor >= from).unwrap_or(0)
}

/// How long requests took: those that a suspect slowed, and those none did.
pub(super) fn latency(report: &Report) -> Option<Section> {
    let split = report.latency.as_ref().filter(|split| is_drawable(split))?;
    let groups = [
        ("that no suspect slowed", Color::QUIET, &split.unhit),
        ("that a suspect slowed", Color::ACCENT, &split.hit),
    ];
    let all = groups.iter().flat_map(|(_, _, counts)| (0..counts.len()).map(|bin| share(counts, bin)));
    let tallest = all.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let edges = &split.edges_ns;
    let panels = groups.map(|(name, color, counts)| {
        let mut bars = Series::new("", SeriesShape::Bars, color);
        for bin in (0..counts.len()).filter(|&bin| counts[bin] > 0) {
            let ends = [edges[bin], edges[bin + 1]].map(numbers::time_float);
            let requests = numbers::counted(counts[bin], "request");
            let words = format!(
                "{} to {}: {requests}, {} of the group",
                ends[0],
                ends[1],
                numbers::share(share(counts, bin))
            );
            bars.push_bar(edges[bin], edges[bin + 1], share(counts, bin), words);
        }
        let median = median_ns(counts, edges);
        let requests = numbers::counted(total(counts), "request");
        let about = median.map_or(String::new(), |ns| format!(", median about {}", numbers::time_float(ns)));
        let mut panel =
            Panel::new(format!("{requests} {name}{about}"), 88, Axis::plain(0.0, tallest)).series(bars);
        let line = |ns| ChartMark::line(MarkStyle::Dashed, ns, Color::TEXT, "median");
        panel.marks.extend(median.map(line));
        panel
    });
    let chart = Chart {
        caption: "Requests by latency; the table below holds the same".to_owned(),
        x: Axis::log_durations(edges[0], edges[edges.len() - 1]),
        panels: panels.into(),
        marks: Vec::new(),
        legend: Vec::new(),
        readout: false,
    };
    let section = Section::new("latency", "Latency of requests").detail(Detail::Page).introduction(
        "Share of requests by latency; each group adds up to 100 % of itself. The time axis is logarithmic; the line \
         marks the median.",
    );
    let table = Block::from(latency_table(split)).folded(Fold::Alternative, "The same as a table");
    Some(section.block(chart).block(table))
}

fn is_drawable(split: &LatencySplit) -> bool {
    let (bins, edges) = (split.hit.len(), &split.edges_ns);
    (1..=BINS).contains(&bins)
        && split.unhit.len() == bins
        && edges.len() == bins + 1
        && edges.iter().all(|edge| edge.is_finite() && *edge > 0.0)
        && edges.is_sorted_by(|a, b| a < b)
}

/// Of all requests of a group, those in one bin.
fn share(counts: &[u64], bin: usize) -> f64 {
    counts[bin] as f64 / total(counts).max(1) as f64
}

fn count_and_share(counts: &[u64], bin: usize) -> Cell {
    let share = format!(" ({})", numbers::share(share(counts, bin)));
    Cell::count(counts[bin]).then(Prose::default().faint(share))
}

fn total(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
}

/// The median, interpolated in the logarithm inside its bin; `None` without requests.
fn median_ns(counts: &[u64], edges: &[f64]) -> Option<f64> {
    let half = total(counts) as f64 / 2.0;
    let mut below = 0.0;
    for (bin, &count) in counts.iter().enumerate() {
        let count = count as f64;
        if count > 0.0 && below + count >= half {
            let ratio = edges[bin + 1] / edges[bin];
            return Some(edges[bin] * ratio.powf((half - below) / count));
        }
        below += count;
    }
    None
}

fn latency_table(split: &LatencySplit) -> Table {
    let columns = ["from", "to", "no suspect", "a suspect"].map(|title| (title, ColumnKind::Number));
    let row = |bin: usize| {
        TableRow::new([
            Cell::duration(split.edges_ns[bin]),
            Cell::duration(split.edges_ns[bin + 1]),
            count_and_share(&split.unhit, bin),
            count_and_share(&split.hit, bin),
        ])
    };
    Table::new("Requests by latency", &columns).rows((0..split.hit.len()).map(row))
}

/// The ids that lead to the trees of categories.
pub(super) struct Anchors<'a> {
    drawn: Vec<&'a Category>,
    ids: HashMap<&'a str, String>,
    omitted: u64,
}

impl Anchors<'_> {
    pub(super) fn get(&self, category: &str) -> Option<&str> {
        self.ids.get(category).map(String::as_str)
    }
}

pub(super) fn anchors(report: &Report) -> Anchors<'_> {
    let mut anchors = Anchors { drawn: Vec::new(), ids: HashMap::new(), omitted: 0 };
    let mut nodes = 0;
    for category in report.categories.iter().filter(|category| !category.tree.is_empty()) {
        nodes += category.tree.len();
        if nodes > NODES && !anchors.drawn.is_empty() {
            anchors.omitted += 1;
            continue;
        }
        anchors.ids.insert(&category.id, format!("tree-{}", anchors.drawn.len()));
        anchors.drawn.push(category);
    }
    anchors
}

/// The call tree of every category that holds a suspect.
pub(super) fn trees(report: &Report) -> Option<Section> {
    let anchors = anchors(report);
    if anchors.drawn.is_empty() {
        return None;
    }
    let blocks = anchors.drawn.iter().enumerate().map(|(index, category)| {
        let facts = format!(
            " {}, p50 {}, p99 {}, ",
            numbers::counted(category.requests, "request"),
            numbers::time(category.latency_p50_ns),
            numbers::time(category.latency_p99_ns)
        );
        let title = Prose::operation(&category.service, &category.operation);
        let title = title.faint(facts).named(SpanStyle::Category, &category.id);
        let fold = if index == 0 { Fold::Open } else { Fold::Closed };
        let tree = crate::document::BlockContent::Tree(tree(category));
        Block::from(tree).folded(fold, title).id(format!("tree-{index}"))
    });
    let note = format!("{} more trees are in the JSON output.", numbers::count(anchors.omitted));
    let note = crate::document::Sentences::paragraphs((anchors.omitted > 0).then(|| Prose::from(note)));
    let section = Section::new("trees", "Call trees").detail(Detail::Page).introduction(
        "One tree per request category that holds a suspect. Bars show self time: dark to the median, light to the \
         99th percentile, on one scale per tree.",
    );
    Some(section.blocks(blocks).block(note))
}

fn tree(category: &Category) -> Table {
    let nodes = &category.tree;
    let shape = TreeShape::of(nodes);
    let columns = [
        ("operation", ColumnKind::Name),
        ("self time", ColumnKind::Graphic),
        ("p50", ColumnKind::Number),
        ("p99", ColumnKind::Number),
        ("calls", ColumnKind::Number),
        ("slow requests", ColumnKind::Number),
        ("of the excess", ColumnKind::Number),
    ];
    let mut table = Table::new("Call tree", &columns);
    table.omitted = nodes.len().saturating_sub(NODES) as u64;
    if shape.ways.len() < nodes.len() {
        let label = format!("Only the ways to suspects (of {} positions)", nodes.len());
        table = table.filter(label, nodes.len() > SHOW_ALL);
    }
    table.rows(nodes.iter().enumerate().take(NODES).map(|(index, node)| tree_row(node, &shape, index)))
}

fn tree_row(node: &TreeNode, shape: &TreeShape, index: usize) -> TableRow {
    let emphasis = match (node.suspect.is_some(), shape.ways.contains(&index)) {
        (true, _) => Emphasis::Worse,
        (false, true) => Emphasis::Way,
        (false, false) => Emphasis::Aside,
    };
    let mut name = Cell::named(Prose::operation(&node.service, &node.operation));
    if let Some(rank) = node.suspect {
        name = name.then(Prose::from(" ").strong(format!("◀ suspect {rank}")));
    }
    let wide = |ns: u64| (ns as f64 / shape.longest_ns as f64).max(0.003);
    let colors = match emphasis {
        Emphasis::Worse => [Color::ACCENT_LIGHT, Color::ACCENT],
        _ => [Color::FAINT, Color::QUIET],
    };
    let slow = if node.slow_requests > 0 { Cell::count(node.slow_requests) } else { Cell::empty() };
    let cells = [
        name,
        Cell::graphic([
            GraphicMark::bar(0.0, wide(node.self_p99_ns), colors[0]).lane(Lane::Thin),
            GraphicMark::bar(0.0, wide(node.self_p50_ns), colors[1]),
        ]),
        Cell::duration(node.self_p50_ns as f64),
        Cell::duration(node.self_p99_ns as f64),
        Cell::worded(CellKind::Number, numbers::ratio(node.calls_mean), node.calls_mean),
        slow.tone(Tone::Neutral),
        node.share.map_or_else(Cell::empty, Cell::share),
    ];
    TableRow::new(cells).depth(shape.depths[index]).emphasis(emphasis)
}

/// What is drawn of a tree besides its nodes.
struct TreeShape {
    depths: Vec<u32>,
    /// Positions that are a suspect or lead to one.
    ways: HashSet<usize>,
    /// The scale of the bars, in nanoseconds; never 0.
    longest_ns: u64,
}

impl TreeShape {
    fn of(tree: &[TreeNode]) -> TreeShape {
        let mut depths = vec![0; tree.len()];
        for position in 0..tree.len() {
            depths[position] = parent(tree, position).map_or(0, |above| depths[above] + 1);
        }
        let mut ways = HashSet::new();
        for position in (0..tree.len()).filter(|&position| tree[position].suspect.is_some()) {
            let mut next = Some(position);
            while let Some(node) = next.filter(|&node| ways.insert(node)) {
                next = parent(tree, node);
            }
        }
        let longest_ns = tree.iter().map(|node| node.self_p99_ns.max(node.self_p50_ns)).max();
        TreeShape { depths, ways, longest_ns: longest_ns.unwrap_or(0).max(1) }
    }
}

/// The parent, which stands before its child; a tree that breaks this is drawn flat there.
fn parent(tree: &[TreeNode], position: usize) -> Option<usize> {
    tree[position].parent.map(|above| above as usize).filter(|&above| above < position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_cover_every_factor() {
        let cases =
            [(0.2, 0), (1.0, 0), (1.1, 1), (1.9, 3), (2.0, 4), (15.9, 6), (16.0, 7), (f64::INFINITY, 7)];
        for (factor, expected) in cases {
            assert_eq!(step(factor), expected, "{factor}");
        }
        assert_eq!((step(f64::NAN), step(-1.0)), (0, 0));
    }

    #[test]
    fn the_median_lies_in_the_middle_of_its_bin() {
        let edges = [1e6, 1e7, 1e8];
        // Half of ten requests is reached halfway through the first bin: the geometric mean of its ends.
        let median = median_ns(&[10, 0], &edges).unwrap();
        assert!((median - 1e6 * 10_f64.sqrt()).abs() < 1.0, "{median}");
        assert_eq!(median_ns(&[0, 0], &edges), None);
    }

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
    fn paths_lead_from_the_entry_to_the_suspects() {
        let tree = [node(None, None), node(Some(0), None), node(Some(1), Some(1)), node(Some(0), None)];
        let shape = TreeShape::of(&tree);
        assert_eq!(shape.depths, [0, 1, 2, 1]);
        assert_eq!(shape.ways, HashSet::from([0, 1, 2]));
        assert_eq!(shape.longest_ns, 2);
        assert_eq!(TreeShape::of(&[node(Some(7), Some(1)), node(Some(1), None)]).depths, [0, 0]);
    }
}
