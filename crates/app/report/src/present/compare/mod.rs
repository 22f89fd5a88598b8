//! Differences between two sets of requests: the mean latency in parts, operations, call paths, and call trees.

mod flame;
pub(crate) mod headline;
mod operations;
mod phrases;
mod test_cases;
mod tree;

use super::basis::basis;
use crate::document::{
    Block, Cell, CellKind, Color, Detail, Document, Figure, Fold, GraphicMark, Prose, Section, SpanStyle,
    Table, TableRow, Tone, cautions, columns, losses, ruled_out,
};
use crate::render::Present;
use crate::{
    Change, ComparedSet, Comparison, ComparisonVerdict, EntryChange, LatencyChange, LatencyPart, ShapeChange,
    numbers,
};

/// Entries and call trees of a document.
const MOST: usize = 200;

/// Rows of a table in text.
const PREVIEW: u32 = 12;

/// Differences named of one call tree at once, and at all.
const DIFFERENCES: usize = 3;
const DIFFERENCES_MOST: usize = 6;

/// Example traces of a call tree.
const TRACES: usize = 2;

impl Present for Comparison {
    fn present(&self) -> Document {
        let sections = [
            self.latency.as_ref().map(latency),
            (self.entries.len() > 1).then(|| entries(&self.entries)),
            flame::section(self),
            operations::section(self),
            tree::section(&self.paths),
            (!self.shapes.is_empty()).then(|| shapes(self)),
            cautions(&self.cautions),
            ruled_out(&self.ruled_out),
            set_losses("before", &self.before),
            set_losses("after", &self.after),
            Some(basis([&self.before, &self.after].iter().zip(["Before", "After"]).map(set), &self.settings)),
        ];
        let verdict = match self.verdict {
            ComparisonVerdict::Slower => (Tone::Bad, "Slower"),
            ComparisonVerdict::Faster => (Tone::Good, "Faster"),
            ComparisonVerdict::Unchanged => (Tone::Good, "No difference"),
            ComparisonVerdict::Changed => (Tone::Unsure, "Changed"),
            ComparisonVerdict::InsufficientData => (Tone::Unsure, "Not enough data"),
        };
        Document {
            window: self.after.window,
            figures: figures(self),
            ..Document::new(verdict, &self.headline, sections)
        }
    }
}

fn set((set, name): (&&ComparedSet, &'static str)) -> Prose {
    Prose::quoted(&phrases::set_sentence(name, set))
}

fn set_losses(name: &str, set: &ComparedSet) -> Option<Section> {
    if set.input.losses.is_empty() {
        return None;
    }
    let section = losses(&set.input.losses);
    Some(Section {
        id: format!("{}-{name}", section.id),
        title: format!("{} ({name})", section.title),
        ..section
    })
}

fn figures(comparison: &Comparison) -> Vec<Figure> {
    let [before, after] = [&comparison.before, &comparison.after].map(|set| set.input.requests);
    let requests = format!("{} → {}", numbers::count(before), numbers::count(after));
    let mut figures =
        vec![Figure::new("Requests", Cell::worded(CellKind::Count, requests, after as f64), "")];
    if let Some(latency) = &comparison.latency {
        let [before, after] = [latency.before_ns, latency.after_ns].map(numbers::time_float);
        let means = Cell::worded(CellKind::Duration, format!("{before} → {after}"), latency.after_ns);
        let change = numbers::relative(latency.before_ns, latency.after_ns).map(numbers::signed_share);
        figures.push(Figure::new("Mean latency", means, change.unwrap_or_default()));
    }
    let of_total = |all: u64| format!("of {}", numbers::count(all));
    let operations =
        comparison.operations.iter().filter(|operation| operation.change != Change::None).count();
    let shapes = comparison.shapes.iter().filter(|shape| shape.significant).count();
    let all = of_total(comparison.operations.len() as u64);
    figures.push(Figure::new("Operations changed", Cell::count(operations as u64), all));
    figures.push(Figure::new(
        "Call trees changed",
        Cell::count(shapes as u64),
        of_total(comparison.shapes_seen),
    ));
    figures
}

/// Why the mean changed: the parts, each with its interval on a common scale around zero.
fn latency(latency: &LatencyChange) -> Section {
    let columns = columns![Name "", Number "change", Graphic "chart", Number "95 % interval", Number "p"];
    // A part that is nothing for certain, such as new call trees where there are none, says nothing.
    let is_something =
        |(_, part): &(&str, &LatencyPart)| [part.change_ns, part.low_ns, part.high_ns] != [0.0; 3];
    let parts = phrases::latency_parts(latency).into_iter().filter(is_something);
    let all = [("all requests", &latency.total)].into_iter().chain(parts);
    let ends = all.clone().flat_map(|(_, part)| [part.change_ns, part.low_ns, part.high_ns]);
    let scale = ends.filter(|end| end.is_finite()).map(f64::abs).fold(1.0, f64::max);
    let rows = all.map(|(name, part)| {
        TableRow::new([
            Cell::text(name),
            Cell::difference(part.change_ns),
            interval_chart(part, scale),
            Cell::worded(CellKind::Duration, phrases::interval(part), part.low_ns),
            Cell::p_value(part.p_value),
        ])
    });
    let table = Table::new("Parts of the change of the mean latency", &columns);
    Section::new("latency", "Mean latency")
        .remark("the parts sum to the change")
        .introduction(
            "The parts sum to the change. Bars show the change of the mean latency, lines its 95 % interval; a part \
             whose line crosses the middle is within chance.",
        )
        .block(table.columns_for(Detail::Page, &["chart"]).rows(rows))
}

/// A bar from the middle, which is no change, and the interval.
fn interval_chart(part: &LatencyPart, scale: f64) -> Cell {
    let position = |ns: f64| (1.0 + (ns / scale).clamp(-1.0, 1.0)) / 2.0;
    let color = if part.change_ns > 0.0 { Color::ACCENT } else { Color::GOOD };
    let ends = [part.change_ns.min(0.0), part.change_ns.max(0.0)].map(position);
    Cell::graphic([
        GraphicMark::bar(ends[0], ends[1], color),
        GraphicMark::line(position(part.low_ns), position(part.high_ns), Color::TEXT),
    ])
}

fn entries(entries: &[EntryChange]) -> Section {
    let columns = columns![
        Name "entry", Number "requests", Number "before", Number "after", Number "change",
        Number "same requests", Number "p"
    ];
    let row = |entry: &EntryChange| {
        let [before, after] = [entry.requests_before, entry.requests_after].map(numbers::count);
        let name = Cell::named(Prose::operation(&entry.service, &entry.operation));
        let requests =
            Cell::worded(CellKind::Count, format!("{before} → {after}"), entry.requests_after as f64);
        let figures = match &entry.latency {
            None => [const { None::<Cell> }; 5].map(|_| Cell::text("–")),
            Some(latency) => {
                let change = numbers::relative(latency.before_ns, latency.after_ns);
                let change = change.map_or_else(Cell::empty, |change| {
                    Cell::worded(CellKind::Share, numbers::signed_share(change), change)
                });
                [
                    Cell::duration(latency.before_ns),
                    Cell::duration(latency.after_ns),
                    change,
                    Cell::difference(latency.same_requests.change_ns),
                    Cell::p_value(latency.same_requests.p_value),
                ]
            }
        };
        TableRow::new([name, requests].into_iter().chain(figures))
    };
    Section::new("entries", "By entry")
        .remark("mean latency of the requests that enter there")
        .introduction(
            "Mean latency of the requests that enter at each operation, and how much of the change is the same \
             requests taking longer.",
        )
        .block(Table::new("entries", &columns).preview(PREVIEW).at_most(MOST, entries, row))
}

fn shapes(comparison: &Comparison) -> Section {
    let changed = comparison.shapes.iter().filter(|shape| shape.significant).count();
    let (changed, others) = comparison.shapes.split_at(changed.min(comparison.shapes.len()));
    let section = Section::new("shapes", "Call trees that became more or less frequent").introduction(
        "Call trees that only one of the sets has, or whose share of the requests changed. A new or vanished one is \
         compared with the most similar tree of the other set.",
    );
    let section = if changed.is_empty() {
        section.detail(Detail::Page)
    } else {
        section.block(shape_table("call trees", changed))
    };
    if others.is_empty() {
        return section;
    }
    let count = numbers::counted(others.len() as u64, "call tree");
    let title = format!("{count} in one set only, so rare that this can be chance");
    let others = Block::from(shape_table("rare call trees", others));
    section.block(others.folded(Fold::Closed, title).detail(Detail::Page))
}

fn shape_table(caption: &str, shapes: &[ShapeChange]) -> Table {
    let columns = columns![
        Text "category", Name "entry", Text "change", Number "before", Number "after",
        Number "mean before", Number "mean after", Number "p"
    ];
    let mean = |ns: Option<f64>| ns.map_or_else(Cell::empty, Cell::duration);
    let row = |shape: &ShapeChange| {
        let row = TableRow::new([
            Cell::name(SpanStyle::Category, &shape.id),
            Cell::named(Prose::operation(&shape.service, &shape.operation)),
            Cell::text(phrases::fate_word(shape.fate)),
            Cell::count(shape.requests_before),
            Cell::count(shape.requests_after),
            mean(shape.latency_before_ns),
            mean(shape.latency_after_ns),
            Cell::p_value(shape.p_value),
        ]);
        differences(shape, row)
    };
    let table = Table::new(caption, &columns).columns_for(Detail::Page, &["mean before", "mean after"]);
    table.preview(PREVIEW).at_most(MOST, shapes, row)
}

/// Differences between a call tree and the most similar one of the other set, and examples of it.
fn differences(shape: &ShapeChange, row: TableRow) -> TableRow {
    let same_calls = shape.nearest.is_some() && shape.differences.is_empty();
    let same_calls = if same_calls { "the same calls in another order or grouping" } else { "" };
    let row = row.note(Detail::Page, "", same_calls).note(Detail::Page, "most like", most_similar(shape));
    let (first, further) = shape.differences.split_at(shape.differences.len().min(DIFFERENCES));
    let note = |row: TableRow, detail, difference| {
        row.note(detail, "", Prose::quoted(&phrases::difference(difference)))
    };
    let row = first.iter().fold(row, |row, difference| note(row, Detail::Summary, difference));
    let further = further.iter().take(DIFFERENCES_MOST - DIFFERENCES);
    let row = further.fold(row, |row, difference| note(row, Detail::Page, difference));
    row.note(Detail::Page, "e.g. trace", Prose::names(SpanStyle::Trace, &shape.trace_ids, TRACES))
}

/// The most similar call tree of the other set, and how much of it is the same.
fn most_similar(shape: &ShapeChange) -> Prose {
    let Some(nearest) = &shape.nearest else { return Prose::default() };
    let same = shape.similarity.map_or_else(String::new, |similarity| {
        format!(": {} of the call paths are in both", numbers::share(similarity))
    });
    Prose::name(SpanStyle::Category, nearest).plain(same)
}
