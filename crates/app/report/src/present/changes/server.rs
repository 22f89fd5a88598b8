//! One server: its chart, what changed, what transactions cost, and its segments.

use super::super::calls::call_sentence;
use super::phrases::{
    change_verdict, error, heading_of, model_letter, percent, plus_minus, segment_word, tied_sentence, when,
};
use super::{ROWS, SHIFT_COLUMNS, TRANSACTIONS, charts, difference, shift_row};
use crate::document::{
    Axis, Block, Cell, CellKind, Color, Detail, Emphasis, Fold, GraphicMark, GraphicShape, Prose, Section,
    Sentences, SpanStyle, Table, TableRow, Tone, columns,
};
use crate::times::Calendar;
use crate::{
    ChangeEvent, ChangeReport, CostModel, ReportedSegment, SegmentState, ServerChanges, SignatureShift,
    TransactionCost, numbers,
};

/// Changes, models, and segments of one server.
const CHANGES: usize = 8;
const MODELS: usize = 8;
const SEGMENTS: usize = 400;

/// Transactions of one change, before and after.
const COMPARED: usize = 60;

/// Segments that pages show unfolded.
const UNFOLDED: usize = 24;

/// Groups of transactions that always come together.
const TIED: usize = 20;

/// The section of a server; `at` is its rank.
pub(super) fn section(
    report: &ChangeReport,
    server: &ServerChanges,
    index: usize,
    calendar: &Calendar,
) -> Section {
    let cores = if server.cores == 1.0 { "1 core".to_owned() } else { format!("{} cores", server.cores) };
    let windows = numbers::counted(server.windows, "window");
    let verdict = change_verdict(server.verdict).1.to_lowercase();
    let mut section = Section::new(&format!("server-{index}"), heading_of(&server.server, &server.tier))
        .remark(format!("{cores}, {windows}: {verdict}"))
        .introduction(format!(
            "{cores}, {windows}: {verdict}. CPU per call is estimated by the model, with its 95 % interval; the \
             service time (the signature) is measured for each transaction alone, without queueing."
        ));
    section = section.blocks(charts::utilization(report, server, calendar));
    section = section.block(segments(server, calendar));
    if report.servers.len() > 1 {
        section = section.block(shifts(server, calendar));
    }
    section = section.blocks(comparisons(server, calendar));
    // Servers of one tier run the same code: the first represents all in text.
    section.blocks(models(server, if index == 0 { Detail::Full } else { Detail::Page }))
}

/// Transactions of all application changes of this server.
fn shifts(server: &ServerChanges, calendar: &Calendar) -> Block {
    let rows = server
        .changes
        .iter()
        .flat_map(|change| change.transactions.iter().map(move |transaction| (change, transaction)));
    let rows: Vec<_> = rows.collect();
    let table = Table::new("Transactions that changed", &SHIFT_COLUMNS).preview(ROWS);
    let table = table.at_most(TRANSACTIONS, &rows, |(change, shift)| {
        shift_row(Cell::time(calendar, change.onset.at), shift)
    });
    // The table before and after the change, for pages, holds these as well.
    Block::from(table)
}

/// Neighboring anomalous segments are one row.
fn merged(segments: &[ReportedSegment]) -> Vec<ReportedSegment> {
    let mut out: Vec<ReportedSegment> = Vec::new();
    for segment in segments {
        match out.last_mut() {
            Some(last)
                if segment.state == SegmentState::Anomalous && last.state == SegmentState::Anomalous =>
            {
                last.time.until = segment.time.until;
                last.windows += segment.windows;
                last.reason = None;
                (last.constant_percent, last.error) = (f64::NAN, f64::NAN);
            }
            _ => out.push(segment.clone()),
        }
    }
    out
}

fn segments(server: &ServerChanges, calendar: &Calendar) -> Block {
    let columns = columns![
        Text "from", Text "to", Number "windows", Name "segment", Number "constant", Number "error"
    ];
    let merged = merged(&server.segments);
    let table =
        Table::new("Segments", &columns).preview(ROWS).columns_for(Detail::Full, &["constant", "error"]);
    let table = table.at_most(SEGMENTS, &merged, |segment| {
        let [from, to] = calendar.ends(segment.time);
        let tone = if segment.state == SegmentState::Anomalous { Tone::Unsure } else { Tone::Neutral };
        TableRow::new([
            Cell::worded(CellKind::Time, from, Axis::instant(segment.time.since)),
            Cell::worded(CellKind::Time, to, Axis::instant(segment.time.until)),
            Cell::count(segment.windows),
            Cell::mark(segment_word(segment), tone),
            Cell::worded(CellKind::Number, percent(segment.constant_percent), segment.constant_percent),
            Cell::worded(CellKind::Number, error(segment.error), segment.error),
        ])
    });
    let block = Block::from(table);
    if merged.len() <= UNFOLDED {
        return block;
    }
    block.folded(Fold::Closed, numbers::counted(merged.len() as u64, "segment"))
}

/// Time of a call before and after each application change, for pages; the latest first.
fn comparisons(server: &ServerChanges, calendar: &Calendar) -> Vec<Block> {
    let changes = server.changes.iter().rev().filter(|change| change.kind.is_alarm());
    let tables =
        changes.map(|change| (change, before_and_after(server, change))).filter(|(_, rows)| !rows.is_empty());
    let block = |(index, (change, rows)): (usize, (&ChangeEvent, Vec<SignatureShift>))| {
        let title = format!("Before and after {}", when(&change.onset, calendar));
        let block = Block::from(comparison(&rows)).detail(Detail::Page);
        if index == 0 { block.titled(title) } else { block.folded(Fold::Closed, title) }
    };
    tables.take(CHANGES).enumerate().map(block).collect()
}

/// The signature or, without response times, the demands of the two models; the largest difference first.
fn before_and_after(server: &ServerChanges, change: &ChangeEvent) -> Vec<SignatureShift> {
    let mut rows =
        if change.signature.is_empty() { demands(server, change) } else { change.signature.clone() };
    let size = |row: &SignatureShift| {
        let size = (row.after_s - row.before_s).abs();
        if size.is_finite() { size } else { -1.0 }
    };
    rows.sort_by(|a, b| b.changed.cmp(&a.changed).then(size(b).total_cmp(&size(a))));
    rows
}

fn demands(server: &ServerChanges, change: &ChangeEvent) -> Vec<SignatureShift> {
    let model = |index: Option<u32>| index.and_then(|index| server.models.get(index as usize));
    let (Some(before), Some(after)) = (model(change.model_before), model(change.model_after)) else {
        return vec![];
    };
    let error = |low: f64, high: f64| (high - low) / (2.0 * 1.96);
    let pairs = std::iter::zip(&before.transactions, &after.transactions);
    let row = pairs.map(|(old, new)| SignatureShift {
        transaction: new.transaction.clone(),
        before_s: old.demand_s,
        before_error_s: error(old.demand_low_s, old.demand_high_s),
        after_s: new.demand_s,
        after_error_s: error(new.demand_low_s, new.demand_high_s),
        changed: change.transactions.iter().any(|shift| shift.transaction == new.transaction),
    });
    row.collect()
}

fn comparison(rows: &[SignatureShift]) -> Table {
    let columns = columns![
        Name "transaction", Number "difference", Number "95 %", Graphic "", Number "before",
        Number "after"
    ];
    let values = rows.iter().take(COMPARED).flat_map(|row| [row.before_s, row.after_s]);
    let largest = 1.05 * values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    Table::new("Transactions", &columns).at_most(COMPARED, rows, |row| {
        let error = row.before_error_s.hypot(row.after_error_s);
        let name = Cell::name(SpanStyle::Operation, &row.transaction);
        let name = if row.changed { name.then(Prose::from(" ").strong("changed")) } else { name };
        let cells = [
            name,
            difference(row.after_s - row.before_s),
            Cell::worded_seconds(plus_minus(error), error),
            dumbbell(row, largest),
            Cell::seconds(row.before_s),
            Cell::seconds(row.after_s),
        ];
        TableRow::new(cells).emphasis(if row.changed { Emphasis::Worse } else { Emphasis::Usual })
    })
}

/// A ring before, a dot after, and lines for their intervals.
fn dumbbell(row: &SignatureShift, largest: f64) -> Cell {
    if !(row.before_s.is_finite() && row.after_s.is_finite() && largest > 0.0) {
        return Cell::graphic([]);
    }
    let position = |seconds: f64| seconds / largest;
    let (before, after) = (position(row.before_s), position(row.after_s));
    let mut marks = vec![GraphicMark::line(before.min(after), before.max(after), Color::ACCENT)];
    for (value, error) in [(row.before_s, row.before_error_s), (row.after_s, row.after_error_s)] {
        if error.is_finite() {
            let (low, high) = (position(value - 1.96 * error), position(value + 1.96 * error));
            marks.push(GraphicMark::line(low, high, Color::MUTED));
        }
    }
    marks.push(GraphicMark::point(GraphicShape::Ring, before, Color::QUIET));
    marks.push(GraphicMark::point(GraphicShape::Dot, after, Color::ACCENT));
    Cell::graphic(marks)
}

/// Costs of transactions by each model, the current one first and unfolded.
fn models(server: &ServerChanges, current_detail: Detail) -> Vec<Block> {
    let current = server.models.iter().position(|model| model.current);
    let others = (0..server.models.len()).filter(|&index| Some(index) != current);
    let mut blocks = Vec::new();
    for (location, index) in current.into_iter().chain(others).take(MODELS).enumerate() {
        let model = &server.models[index];
        let title = Prose::default().faint(model_title(model, index as u32));
        let block =
            Block::from(costs(model)).detail(if model.current { current_detail } else { Detail::Page });
        let unfolded = location == 0;
        blocks.push(if unfolded { block.titled(title) } else { block.folded(Fold::Closed, title) });
        if unfolded {
            let tied = model.indistinguishable.iter().take(TIED).map(tied_sentence);
            let sentences = model.call.iter().map(call_sentence).chain(tied);
            let sentences = sentences.map(|text| Prose::quoted(&text));
            blocks.push(Block::from(Sentences::paragraphs(sentences)).detail(current_detail));
        }
    }
    blocks
}

fn model_title(model: &CostModel, index: u32) -> String {
    format!(
        "Model {}{}: {}, constant {}, error {}, condition {}",
        model_letter(index),
        if model.current { " (current)" } else { "" },
        numbers::counted(model.windows, "window"),
        percent(model.constant_percent),
        error(model.error),
        model.condition.map_or_else(|| "infinite".to_owned(), numbers::ratio),
    )
}

/// Fewer rows for models of the past.
fn costs(model: &CostModel) -> Table {
    let limit = if model.current { TRANSACTIONS } else { COMPARED };
    let columns = columns![
        Name "transaction", Number "CPU per call", Number "95 % interval", Number "service time",
        Graphic ""
    ];
    let largest = model.transactions.iter().map(|cost| cost.demand_s).fold(0.0, f64::max);
    let row = |cost: &TransactionCost| {
        let known = cost.demand_low_s.is_finite() && cost.demand_high_s.is_finite();
        let interval =
            format!("{} to {}", numbers::seconds(cost.demand_low_s), numbers::seconds(cost.demand_high_s));
        let unknown =
            if cost.distinguishable { "" } else { "not told apart from others: its own cost is not known" };
        let row = TableRow::new([
            Cell::name(SpanStyle::Operation, &cost.transaction),
            Cell::seconds(cost.demand_s),
            Cell::text(if known { interval } else { "–".to_owned() }),
            cost.service_time_s.map_or_else(|| Cell::text("–"), Cell::seconds),
            Cell::bar(cost.demand_s / largest),
        ]);
        row.note(Detail::Summary, "", Prose::default().faint(unknown))
    };
    Table::new("Transactions", &columns).preview(ROWS).at_most(limit, &model.transactions, row)
}
