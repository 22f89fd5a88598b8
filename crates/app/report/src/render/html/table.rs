//! Tables and trees.

use super::{legend, percent, prose, rest};
use crate::document::{
    Cell, Column, ColumnKind, Detail, Emphasis, Graphic, GraphicMark, GraphicShape, Lane, Note, Table,
    TableRow, Tone,
};
use crate::numbers;
use maud::{Markup, html};

/// Rows with remarks shown unfolded; the rest follow in a folded table.
const UNFOLDED: usize = 20;

/// Longer tables without remarks scroll on their own.
const TALL: usize = 24;

/// Rows a page can bear.
const MOST: usize = 2_000;

/// Deeper rows of a tree are indented no further, and say how deep they are.
const DEPTH: u32 = 16;

pub(super) fn table(table: &Table, key: &str) -> Markup {
    let shown = &table.rows[..table.rows.len().min(MOST)];
    let noted = shown.iter().any(|row| !row.notes.is_empty());
    let (open, folded) = shown.split_at(if noted { shown.len().min(UNFOLDED) } else { shown.len() });
    let class = if open.len() > TALL { "tall" } else { "short" };
    html! {
        (legend(&table.legend))
        div class=(class) { (grid(table, open, noted, key)) }
        @if !folded.is_empty() {
            details.fold {
                summary { (numbers::count(folded.len() as u64)) " more " (table.caption.to_lowercase()) }
                (grid(table, folded, noted, &format!("{key}-more")))
            }
        }
        (rest(table.rows.len() - shown.len() + table.omitted as usize, &table.caption.to_lowercase()))
    }
}

pub(super) fn tree(table: &Table, key: &str) -> Markup {
    let shown = &table.rows[..table.rows.len().min(MOST)];
    let id = format!("filter-{key}");
    html! {
        div.tree {
            @if let Some(filter) = &table.filter {
                p.choice {
                    input type="checkbox" id=(id) checked[filter.active];
                    " " label for=(id) { (filter.label) }
                }
            }
            (scroller(&table.caption, &html! { table.nodes { (head(table, false)) (body(table, shown, false)) } }))
        }
        (rest(table.rows.len() - shown.len() + table.omitted as usize, &table.caption.to_lowercase()))
    }
}

/// On a phone rows with remarks become cards; the roles keep them a table for those who listen to it.
fn grid(table: &Table, rows: &[TableRow], cards: bool, _key: &str) -> Markup {
    let sortable = if rows.len() > 1 { " sortable" } else { "" };
    if cards {
        return html! {
            table class=(format!("cards{sortable}")) role="table" { (head(table, true)) (body(table, rows, true)) }
        };
    }
    let inner = html! { table class=(format!("plain{sortable}")) { (head(table, false)) (body(table, rows, false)) } };
    scroller(&table.caption, &inner)
}

/// A box that scrolls sideways on its own.
pub(super) fn scroller(label: &str, content: &Markup) -> Markup {
    html! { div.scroll role="region" aria-label=(label) tabindex="0" { (content) } }
}

fn head(table: &Table, roles: bool) -> Markup {
    let role = |name: &'static str| roles.then_some(name);
    html! {
        caption.away { (table.caption) }
        thead role=[role("rowgroup")] {
            tr role=[role("row")] {
                @for column in &table.columns {
                    th scope="col" role=[role("columnheader")] data-sort=[sort(column)] class=[class(column)] {
                        @if column.kind == ColumnKind::Graphic && column.title.is_empty() {
                            span.away { "Chart" }
                        } @else { (column.title) }
                    }
                }
                @if has_remark_column(table) { th scope="col" role=[role("columnheader")] { "Remarks" } }
            }
        }
    }
}

/// Whether remarks have a separate column, because no column of names has space for them.
fn has_remark_column(table: &Table) -> bool {
    let noted = table.rows.iter().any(|row| !row.notes.is_empty());
    noted && !table.columns.iter().any(|column| column.kind == ColumnKind::Name)
}

/// How a column is sorted; one without a title has nothing to press.
const fn sort(column: &Column) -> Option<&'static str> {
    match column.kind {
        _ if column.title.is_empty() => None,
        ColumnKind::Number => Some("number"),
        ColumnKind::Name | ColumnKind::Text => Some("text"),
        ColumnKind::Prose | ColumnKind::Graphic => None,
    }
}

const fn class(column: &Column) -> Option<&'static str> {
    match column.kind {
        ColumnKind::Number => Some("number"),
        ColumnKind::Graphic => Some("picture"),
        ColumnKind::Text => Some("word"),
        ColumnKind::Name | ColumnKind::Prose => None,
    }
}

fn body(table: &Table, rows: &[TableRow], roles: bool) -> Markup {
    // The row's heading: its first name, else its first cell.
    let named = table.columns.iter().position(|column| column.kind == ColumnKind::Name).unwrap_or(0);
    let has_remarks = has_remark_column(table);
    html! {
        tbody role=[roles.then_some("rowgroup")] {
            @for row in rows {
                tr role=[roles.then_some("row")] class=[emphasis(row.emphasis)] {
                    @for (index, (column, cell)) in table.columns.iter().zip(&row.cells).enumerate() {
                        @if index == named { (heading(row, cell, roles, !has_remarks)) }
                        @else { (self::cell(column, cell, roles)) }
                    }
                    @if has_remarks { td.remarks role=[roles.then_some("cell")] { (notes(&row.notes)) } }
                }
            }
        }
    }
}

const fn emphasis(emphasis: Emphasis) -> Option<&'static str> {
    match emphasis {
        Emphasis::Usual => None,
        Emphasis::Worse => Some("worse"),
        Emphasis::Better => Some("better"),
        Emphasis::Way => Some("way"),
        Emphasis::Aside => Some("aside"),
    }
}

fn heading(row: &TableRow, cell: &Cell, roles: bool, noted: bool) -> Markup {
    let depth = (row.depth > 0).then(|| format!("depth d{}", row.depth.min(DEPTH)));
    html! {
        th scope="row" role=[roles.then_some("rowheader")] class=[depth] {
            @if row.depth > DEPTH { span.faint { "depth " (row.depth) " " } }
            (value(cell))
            @if noted { (notes(&row.notes)) }
        }
    }
}

fn notes(notes: &[Note]) -> Markup {
    let (folded, open): (Vec<&Note>, Vec<&Note>) = notes.iter().partition(|note| note.detail == Detail::Page);
    let list = |notes: &[&Note]| {
        html! {
            ul.notes {
                @for note in notes {
                    li {
                        @if !note.label.is_empty() { span.faint { (note.label) " " } }
                        (prose(&note.text))
                    }
                }
            }
        }
    };
    html! {
        @if !open.is_empty() { (list(&open)) }
        @if !folded.is_empty() { details { summary { "Details" } (list(&folded)) } }
    }
}

fn cell(column: &Column, cell: &Cell, roles: bool) -> Markup {
    let value = (column.kind == ColumnKind::Number)
        .then(|| cell.value.map_or_else(|| "NaN".to_owned(), |value| value.to_string()));
    let label = (roles && !column.title.is_empty()).then_some(column.title.as_str());
    html! {
        td role=[roles.then_some("cell")] class=[class(column)] data-label=[label] data-value=[value] {
            (self::value(cell))
        }
    }
}

fn value(cell: &Cell) -> Markup {
    let tone = match cell.tone {
        Tone::Neutral => None,
        Tone::Bad => Some("tone bad"),
        Tone::Good => Some("tone good"),
        Tone::Warning | Tone::Unsure => Some("tone unsure"),
    };
    html! {
        @if let Some(tone) = tone { span class=(tone) { (prose(&cell.text)) } } @else { (prose(&cell.text)) }
        @if let Some(graphic) = &cell.graphic { (self::graphic(graphic)) }
    }
}

fn graphic(graphic: &Graphic) -> Markup {
    html! {
        svg.graphic width="100%" height="16" aria-hidden="true" { @for mark in &graphic.marks { (self::mark(mark)) } }
    }
}

fn mark(mark: &GraphicMark) -> Markup {
    let (y, height) = match mark.lane {
        Lane::Full => (2, 12),
        Lane::Thin => (5, 6),
        Lane::Upper => (2, 6),
        Lane::Lower => (8, 6),
    };
    let (x, x2, middle) = (percent(mark.from), percent(mark.to), y + height / 2);
    let color = mark.color.class();
    match mark.shape {
        GraphicShape::Bar => {
            let width = percent((mark.to - mark.from).max(0.004));
            html! { rect class=(color) x=(x) y=(y) width=(width) height=(height) {} }
        }
        GraphicShape::Line => {
            html! { line class=(format!("{color} stroke")) x1=(x) x2=(x2) y1=(middle) y2=(middle) {} }
        }
        GraphicShape::Tick => {
            html! { line class=(format!("{color} stroke")) x1=(x) x2=(x) y1=(y) y2=(y + height) {} }
        }
        GraphicShape::Dot => html! { circle class=(color) cx=(x) cy=(middle) r="3.5" {} },
        GraphicShape::Ring => html! { circle class=(format!("{color} ring")) cx=(x) cy=(middle) r="3.5" {} },
    }
}
