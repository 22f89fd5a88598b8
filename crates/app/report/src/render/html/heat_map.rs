//! Heat maps: a picture to look at, and the same as a table to listen to.

use super::table::scroller;
use super::{legend, pixels, prose, rest};
use crate::document::{HeatCell, HeatMap};
use crate::{names, numbers};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Rows and columns a page can bear.
const ROWS: usize = 80;
const COLUMNS: usize = 500;

/// Columns of the table that repeats the picture, and letters from which on a cell has room for one.
const TABLE_COLUMNS: usize = 200;

/// Height of a row, in pixels; the style sheet says the same.
const ROW: f64 = 20.0;

/// Columns of text of a column's title.
const TITLE: usize = 18;

/// Room for slanted column titles of up to so many columns of text, in pixels, and the class that moves the
/// row titles down as far.
const TITLES: [(usize, f64, &str); 4] = [
    (3, 20.0, "heat-rows t0"),
    (8, 52.0, "heat-rows t1"),
    (12, 72.0, "heat-rows t2"),
    (TITLE, 104.0, "heat-rows t3"),
];

/// Columns narrower than this have no room for a title each.
const TITLE_MIN: f64 = 13.0;

pub(super) fn heat_map(map: &HeatMap, key: &str) -> Markup {
    let columns = map.columns.len();
    if map.rows.is_empty() || columns == 0 || map.cells.len() != map.rows.len() * columns {
        return html! {};
    }
    let view = View::of(map);
    html! {
        (legend(&map.legend))
        (signs(map))
        div.heat {
            ul class=(view.rows_class) aria-hidden="true" {
                @for row in &map.rows[..view.rows] { li { bdi { (names::label(&row.text(), 44)) } } }
            }
            div.heat-scroll role="region" aria-label=(map.caption) tabindex="0" { (view.picture(key)) }
        }
        output.readout hidden aria-live="polite" {}
        (rest(map.columns.len() - view.columns, "columns"))
        (rest(map.rows.len() - view.rows, "rows"))
        // Letters need no table: what deviates is listed elsewhere, and thousands of cells are too many.
        @if !view.lettered {
            details.fold.alternative {
                summary { "The same as a table" }
                (scroller(&map.caption, &view.table()))
            }
        }
    }
}

/// Meaning of a frame and of an empty cell.
fn signs(map: &HeatMap) -> Markup {
    html! {
        @if !map.frame_label.is_empty() || !map.empty_label.is_empty() {
            ul.legend {
                @if !map.frame_label.is_empty() {
                    li {
                        svg width="16" height="12" aria-hidden="true" { rect.flag x="1" y="1" width="14" height="10" {} }
                        (map.frame_label)
                    }
                }
                @if !map.empty_label.is_empty() {
                    li {
                        svg width="16" height="12" aria-hidden="true" { circle.muted cx="8" cy="6" r="1.5" {} }
                        (map.empty_label)
                    }
                }
            }
        }
    }
}

/// The part of a map that is shown.
struct View<'a> {
    map: &'a HeatMap,
    rows: usize,
    columns: usize,
    lettered: bool,
    width: f64,
    top: f64,
    rows_class: &'static str,
}

impl View<'_> {
    fn of(map: &HeatMap) -> View<'_> {
        let columns = map.columns.len().min(COLUMNS);
        let lettered = map.cells.iter().flatten().any(|cell| cell.symbol.is_some());
        let least = if lettered { 14.0 } else { 4.0 };
        let width = (840.0 / columns as f64).floor().clamp(least, if lettered { 18.0 } else { 44.0 });
        let shown = map.columns[..columns].iter();
        let longest = shown.map(|name| names::columns(&names::label(&name.text(), TITLE))).max().unwrap_or(0);
        let titles = TITLES.into_iter().find(|&(room, ..)| longest <= room).unwrap_or(TITLES[3]);
        View {
            map,
            rows: map.rows.len().min(ROWS),
            columns,
            lettered,
            width,
            top: titles.1,
            rows_class: titles.2,
        }
    }

    fn cell(&self, row: usize, column: usize) -> Option<&HeatCell> {
        self.map.cells[row * self.map.columns.len() + column].as_ref()
    }

    fn picture(&self, key: &str) -> Markup {
        let (width, height) =
            (self.width * self.columns as f64 + self.top, ROW * self.rows as f64 + self.top);
        let id = format!("map-{key}");
        html! {
            svg.heat-map role="img" aria-labelledby=(id) width=(pixels(width)) height=(pixels(height)) {
                title #(id) { (self.map.caption) @if !self.lettered { "; the table below holds the same figures" } }
                (self.titles())
                @for row in 0..self.rows { (self.row(row)) }
            }
        }
    }

    fn titles(&self) -> Markup {
        let mut free_from = f64::MIN;
        let y = self.top - 6.0;
        let short = self.top <= TITLES[0].1;
        html! {
            @for (index, title) in self.map.columns[..self.columns].iter().enumerate() {
                @let x = (index as f64 + 0.5) * self.width;
                @let framed = (0..self.rows).any(|row| self.cell(row, index).is_some_and(|cell| cell.framed));
                @if !title.is_empty() && x >= free_from && (self.width >= TITLE_MIN || framed) {
                    @let () = free_from = x + TITLE_MIN;
                    @let turn = (!short).then(|| format!("rotate(-50 {} {})", pixels(x), pixels(y)));
                    text.column-title x=(pixels(x)) y=(pixels(y)) transform=[turn] {
                        (names::label(&title.text(), TITLE))
                    }
                }
            }
        }
    }

    /// Cells that say nothing as one path for each color, the others as shapes.
    fn row(&self, row: usize) -> Markup {
        let y = self.top + row as f64 * ROW;
        let (width, height) = (self.width - 1.0, ROW - 1.0);
        let mut paths: BTreeMap<(&str, bool), String> = BTreeMap::new();
        let (mut letters, mut places) = (String::new(), String::new());
        for column in 0..self.columns {
            let Some(cell) = self.cell(row, column) else { continue };
            let x = column as f64 * self.width;
            if cell.words.is_empty() {
                let path = paths.entry((cell.color.class(), cell.pale)).or_default();
                let _ = write!(path, "M{} {y}h{width}v{height}h-{width}z", pixels(x));
            }
            if let Some(symbol) = cell.symbol {
                letters.push(symbol);
                let _ = write!(places, "{} ", pixels(x + width / 2.0));
            }
        }
        let title = names::label(&self.map.rows[row].text(), 60);
        let frames = self.frames(row, y);
        html! {
            @for ((color, pale), path) in &paths { path class=(class(color, *pale)) d=(path) {} }
            @for column in 0..self.columns { (self.shape(row, column, y, &title)) }
            @if !frames.is_empty() { path.flag d=(frames) {} }
            @if !letters.is_empty() { text.cell x=(places.trim_end()) y=(pixels(y + ROW / 2.0 + 3.0)) { (letters) } }
        }
    }

    /// The frames of a row as one path.
    fn frames(&self, row: usize, y: f64) -> String {
        let (width, height) = (self.width - 3.0, ROW - 3.0);
        let framed = |column: &usize| self.cell(row, *column).is_some_and(|cell| cell.framed);
        let frame = |column: usize| {
            let x = pixels(column as f64 * self.width + 1.0);
            format!("M{x} {}h{width}v{height}h-{width}z", y + 1.0)
        };
        (0..self.columns).filter(framed).map(frame).collect()
    }

    fn shape(&self, row: usize, column: usize, y: f64, title: &str) -> Markup {
        let (x, width, height) = (column as f64 * self.width, self.width - 1.0, ROW - 1.0);
        let Some(cell) = self.cell(row, column) else {
            let dotted = !self.map.empty_label.is_empty();
            return html! {
                @if dotted {
                    circle.muted cx=(pixels(x + width / 2.0)) cy=(pixels(y + height / 2.0)) r="1" {}
                }
            };
        };
        html! {
            @if !cell.words.is_empty() {
                rect class=(class(cell.color.class(), cell.pale)) x=(pixels(x)) y=(pixels(y)) width=(pixels(width)) height=(pixels(height)) {
                    title { (title) (self.column_words(column)) ": " (cell.words) }
                }
            }
        }
    }

    /// ` on node7`, `, step 7`; nothing without a title.
    fn column_words(&self, column: usize) -> String {
        let title = &self.map.columns[column];
        if title.is_empty() { String::new() } else { format!(" / {}", names::label(&title.text(), 40)) }
    }

    fn table(&self) -> Markup {
        let columns = self.columns.min(TABLE_COLUMNS);
        html! {
            table.plain {
                caption.away { (self.map.caption) }
                thead { tr {
                    th scope="col" { "Row" }
                    @for (index, column) in self.map.columns[..columns].iter().enumerate() {
                        th scope="col" {
                            @if column.is_empty() { (index + 1) } @else { (names::label(&column.text(), 28)) }
                        }
                    }
                } }
                tbody { @for row in 0..self.rows { tr {
                    th scope="row" { (prose(&self.map.rows[row])) }
                    @for column in 0..columns { td { (words(self.map, self.cell(row, column))) } }
                } } }
            }
        }
    }
}

fn class(color: &str, pale: bool) -> String {
    if pale { format!("{color} pale") } else { color.to_owned() }
}

fn words(map: &HeatMap, cell: Option<&HeatCell>) -> String {
    let Some(cell) = cell else { return map.empty_label.clone() };
    match (cell.words.is_empty(), cell.symbol) {
        (false, _) => cell.words.clone(),
        (true, Some(symbol)) => symbol.to_string(),
        (true, None) => numbers::count(1),
    }
}
