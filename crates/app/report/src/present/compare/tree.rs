//! The differential call tree: the same figures as the flame graph, also of what is gone.

use super::operations::change;
use crate::document::{
    BlockContent, Cell, CellKind, Color, ColumnKind, Detail, Emphasis, GraphicMark, Lane, Prose, Section,
    Table, TableRow, columns,
};
use crate::{Change, PathChange, PathFigures, numbers};
use std::collections::HashSet;

/// Rows of a document.
const MOST: usize = 2_000;

/// Trees up to this size show all rows; larger ones start with what changed and the paths there.
const SHOW_ALL: usize = 40;

/// Rows without a change that lie deeper give way to changed ones.
const DEPTH_SHOWN: usize = 4;

const COLUMNS: [(&str, ColumnKind); 10] = columns![
    Name "operation", Graphic "self time", Number "before", Number "after", Number "difference",
    Number "relative", Number "with calls below", Number "share", Text "test", Number "p"
];

pub(super) fn section(paths: &[PathChange]) -> Option<Section> {
    if paths.is_empty() {
        return None;
    }
    let layout = TreeLayout::new(paths);
    let shown = layout.shown(paths);
    let mut table = Table::new("call paths", &COLUMNS);
    table.omitted = (paths.len() - shown.len()) as u64;
    let table = table.rows(shown.iter().map(|&index| row(&paths[index], &layout, index))).filter(
        format!(
            "Only what changed, and the paths there ({} of {} paths changed)",
            numbers::count(layout.changed as u64),
            numbers::count(shown.len() as u64)
        ),
        shown.len() > SHOW_ALL && layout.changed > 0,
    );
    let section = Section::new("tree", "Differential call tree").detail(Detail::Page).introduction(
        "Mean self time at each call path, per request that enters at the same operation. The share is of the \
         change of all self time per request, and signed. The test compares the self time per call or, of a path \
         in one set only, the number of requests that have it.",
    );
    Some(section.block(BlockContent::Tree(table)))
}

struct TreeLayout {
    depths: Vec<usize>,
    /// Paths that changed or lead to a change.
    on_the_way: HashSet<usize>,
    changed: usize,
    /// The scale of the bars, in nanoseconds; above 0.
    longest_ns: f64,
}

impl TreeLayout {
    fn new(paths: &[PathChange]) -> TreeLayout {
        let mut depths = vec![0; paths.len()];
        for index in 0..paths.len() {
            depths[index] = parent(paths, index).map_or(0, |above| depths[above] + 1);
        }
        let mut on_the_way = HashSet::new();
        let changed: Vec<usize> =
            (0..paths.len()).filter(|&index| paths[index].change != Change::None).collect();
        for &index in &changed {
            let mut next = Some(index);
            while let Some(current) = next.filter(|&current| on_the_way.insert(current)) {
                next = parent(paths, current);
            }
        }
        let times = paths.iter().flat_map(|path| [path.before.self_ns, path.after.self_ns]);
        let longest_ns = times.filter(|ns| ns.is_finite()).fold(1.0, f64::max);
        TreeLayout { depths, on_the_way, changed: changed.len(), longest_ns }
    }

    /// Rows of the document: all, or what changed with the paths there and as many of the others as fit.
    fn shown(&self, paths: &[PathChange]) -> Vec<usize> {
        if paths.len() <= MOST {
            return (0..paths.len()).collect();
        }
        let others: HashSet<usize> = (0..paths.len())
            .filter(|index| !self.on_the_way.contains(index) && self.depths[*index] < DEPTH_SHOWN)
            .take(MOST.saturating_sub(self.on_the_way.len()))
            .collect();
        let is_shown = |index: &usize| self.on_the_way.contains(index) || others.contains(index);
        (0..paths.len()).filter(is_shown).take(MOST).collect()
    }
}

/// The caller, which precedes its callees; a tree that breaks this is drawn flat there.
fn parent(paths: &[PathChange], index: usize) -> Option<usize> {
    paths[index].parent.map(|above| above as usize).filter(|&above| above < index)
}

fn row(path: &PathChange, layout: &TreeLayout, index: usize) -> TableRow {
    let emphasis = match (path.change, layout.on_the_way.contains(&index)) {
        (Change::None, false) => Emphasis::Aside,
        (Change::None, true) => Emphasis::Way,
        (Change::Slower | Change::New | Change::MoreCalls, _) => Emphasis::Worse,
        (Change::Faster | Change::FewerCalls | Change::Vanished, _) => Emphasis::Better,
    };
    let (before, after) = (path.before.self_ns, path.after.self_ns);
    let mean = |figures: &PathFigures| match figures.calls {
        0 => Cell::text("–"),
        _ => Cell::duration(figures.self_ns),
    };
    let share = |share: Option<f64>| match share {
        Some(share) => Cell::worded(CellKind::Share, numbers::signed_share(share), share),
        None => Cell::empty(),
    };
    let relative = if path.before.calls > 0 { numbers::relative(before, after) } else { None };
    let cells = [
        Cell::named(Prose::operation(&path.service, &path.operation)),
        bars(path, layout.longest_ns),
        mean(&path.before),
        mean(&path.after),
        Cell::difference(after - before),
        share(relative),
        Cell::difference(path.after.tree_ns - path.before.tree_ns),
        share(path.share),
        if path.change == Change::None { Cell::empty() } else { change(path.change) },
        path.p_value.map_or_else(Cell::empty, Cell::p_value),
    ];
    TableRow::new(cells).emphasis(emphasis).depth(layout.depths[index] as u32)
}

/// Before above, after below.
fn bars(path: &PathChange, longest_ns: f64) -> Cell {
    let bar = |ns: f64, color, lane| GraphicMark::bar(0.0, ns / longest_ns, color).lane(lane);
    Cell::graphic([
        bar(path.before.self_ns, Color::QUIET, Lane::Upper),
        bar(path.after.self_ns, Color::ACCENT, Lane::Lower),
    ])
}
