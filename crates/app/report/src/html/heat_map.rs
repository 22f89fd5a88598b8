//! Operations by replicas: a map to look at, and the same as a table to listen to.

use super::markup::Markup;
use super::remark;
use crate::{HeatCell, HeatMap, Report, names, numbers};

/// Rows and columns the page can bear.
const ROWS: usize = 40;
const COLUMNS: usize = 200;

/// Height of a row, in pixels; the style sheet says the same.
const ROW: f64 = 24.0;

/// Columns of text given to a column's title.
const TITLE_ROOM: usize = 18;

/// Room for slanted column titles of up to so many columns of text, in pixels, and the class that moves the
/// row titles down as far.
const TITLES: [(usize, f64, &str); 3] =
    [(8, 52.0, "heat-rows t0"), (12, 72.0, "heat-rows t1"), (TITLE_ROOM, 104.0, "heat-rows t2")];

/// Columns narrower than this have no room for a title each.
const TITLE_MIN: f64 = 13.0;

/// Lower ends of the steps of the color scale; 1 is the usual time. The steps are fixed so that two
/// reports can be compared by eye.
const STEPS: [f64; 8] = [0.0, 1.1, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0];

const STEP_NAMES: [&str; 8] = ["usual", "≥ 1.1×", "≥ 1.25×", "≥ 1.5×", "≥ 2×", "≥ 4×", "≥ 8×", "≥ 16×"];

const STEP_CLASSES: [&str; 8] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"];

pub(super) fn drawable(report: &Report) -> bool {
    report.heat_map.as_ref().is_some_and(|map| {
        let cells = map.operations.len() * map.replicas.len();
        cells > 0 && cells == map.cells.len()
    })
}

pub(super) fn write(m: &mut Markup, report: &Report) {
    let Some(map) = report.heat_map.as_ref() else { return };
    let view = View::of(map);
    remark(
        m,
        "Mean self time of each operation on each replica, over the operation\u{2019}s usual self time. \
         A framed cell is one the replica test flagged.",
    );
    legend(m);
    m.raw("<div class=\"heat\">\n");
    view.row_titles(m);
    let attributes = [
        ("class", "heat-scroll"),
        ("role", "region"),
        ("aria-label", "Heat map of operations by replica"),
        ("tabindex", "0"),
    ];
    m.within("div", &attributes, |m| view.picture(m));
    m.raw("</div>\n<output class=\"readout\" hidden aria-live=\"polite\"></output>\n");
    view.remarks(m);
    m.open("details", &[("class", "fold alternative")]);
    m.element("summary", &[], "The same as a table");
    super::scroller(m, "Heat map as a table", |m| view.table(m));
    m.close("details");
}

fn legend(m: &mut Markup) {
    m.raw("<ul class=\"legend\" aria-label=\"Legend\">\n");
    for (class, name) in STEP_CLASSES.into_iter().zip(STEP_NAMES) {
        m.open("li", &[]);
        m.raw("<svg width=\"16\" height=\"12\" aria-hidden=\"true\">");
        m.shape("rect", class, &[("width", 16.0), ("height", 12.0)]);
        m.close("svg");
        m.text(name);
        m.close("li");
    }
    m.raw("<li><svg width=\"16\" height=\"12\" aria-hidden=\"true\"><rect class=\"h0\" width=\"16\" height=\"12\"/>");
    m.raw("<rect class=\"flag\" x=\"1\" y=\"1\" width=\"14\" height=\"10\"/></svg>flagged</li>\n");
    m.raw("<li><svg width=\"16\" height=\"12\" aria-hidden=\"true\"><circle class=\"never\" cx=\"8\" cy=\"6\" r=\"1.5\"/>");
    m.raw("</svg>never ran there</li>\n</ul>\n");
}

/// The step of a factor; what is not a number counts as usual.
fn step(factor: f64) -> usize {
    STEPS.iter().rposition(|&from| factor >= from).unwrap_or(0)
}

/// The part of a map that is shown.
struct View<'a> {
    map: &'a HeatMap,
    rows: usize,
    columns: usize,
    cell_width: f64,
    titles_height: f64,
    rows_class: &'static str,
}

impl View<'_> {
    fn of(map: &HeatMap) -> View<'_> {
        let columns = map.replicas.len().min(COLUMNS);
        let cell_width = (840.0 / columns as f64).floor().clamp(4.0, 44.0);
        let shown = map.replicas[..columns].iter();
        let longest = shown.map(|name| names::columns(&names::label(name, TITLE_ROOM))).max().unwrap_or(0);
        let titles = TITLES.into_iter().find(|&(room, ..)| longest <= room).unwrap_or(TITLES[2]);
        let rows = map.operations.len().min(ROWS);
        View { map, rows, columns, cell_width, titles_height: titles.1, rows_class: titles.2 }
    }

    fn cell(&self, row: usize, column: usize) -> Option<HeatCell> {
        self.map.cells[row * self.map.replicas.len() + column]
    }

    fn row_titles(&self, m: &mut Markup) {
        m.open("ul", &[("class", self.rows_class), ("aria-hidden", "true")]);
        for name in &self.map.operations[..self.rows] {
            m.open("li", &[]);
            m.name("row-title", name, 44);
            m.close("li");
        }
        m.close("ul");
    }

    fn picture(&self, m: &mut Markup) {
        let width = self.cell_width * self.columns as f64 + self.titles_height;
        let height = ROW * self.rows as f64 + self.titles_height;
        let (w, h) = (format!("{width}"), format!("{height}"));
        m.open("svg", &[("class", "heat-map"), ("role", "img"), ("width", &w), ("height", &h)]);
        m.element("title", &[], "Heat map of operations by replica; the table below holds the same figures");
        self.column_titles(m);
        for row in 0..self.rows {
            for column in 0..self.columns {
                self.draw(m, row, column);
            }
        }
        m.close("svg");
    }

    fn column_titles(&self, m: &mut Markup) {
        let mut free_from = f64::MIN;
        for column in 0..self.columns {
            let x = (column as f64 + 0.5) * self.cell_width;
            let wanted = self.cell_width >= TITLE_MIN || self.flagged_column(column);
            if !wanted || x < free_from {
                continue;
            }
            free_from = x + TITLE_MIN;
            let x = format!("{x:.1}");
            let turn = format!("rotate(-50 {x} {})", self.titles_height - 6.0);
            let y = format!("{}", self.titles_height - 6.0);
            let title = names::label(&self.map.replicas[column], TITLE_ROOM);
            m.element(
                "text",
                &[("class", "column-title"), ("x", &x), ("y", &y), ("transform", &turn)],
                &title,
            );
        }
    }

    fn flagged_column(&self, column: usize) -> bool {
        (0..self.rows).any(|row| self.cell(row, column).is_some_and(|cell| cell.flagged))
    }

    fn draw(&self, m: &mut Markup, row: usize, column: usize) {
        let (x, y) = (column as f64 * self.cell_width, self.titles_height + row as f64 * ROW);
        let (width, height) = (self.cell_width - 1.0, ROW - 1.0);
        let Some(cell) = self.cell(row, column) else {
            let middle = [("cx", x + width / 2.0), ("cy", y + height / 2.0), ("r", 1.0)];
            return m.shape("circle", "never", &middle);
        };
        let place = [("x", x), ("y", y), ("width", width), ("height", height)];
        m.open_shape("rect", STEP_CLASSES[step(cell.factor)], &place);
        let operation = names::label(&self.map.operations[row], 60);
        let replica = names::label(&self.map.replicas[column], 40);
        m.element("title", &[], &format!("{operation} on {replica}: {}", words(cell)));
        m.close("rect");
        if cell.flagged {
            let frame = [("x", x + 1.0), ("y", y + 1.0), ("width", width - 2.0), ("height", height - 2.0)];
            m.shape("rect", "flag", &frame);
        }
    }

    fn remarks(&self, m: &mut Markup) {
        let columns = (self.map.replicas.len() - self.columns) as u64;
        let left = self.map.replicas_omitted.saturating_add(columns);
        if left > 0 {
            remark(m, &format!("{} had no room in the map.", numbers::counted(left, "further replica")));
        }
        let rows = (self.map.operations.len() - self.rows) as u64;
        if rows > 0 {
            remark(m, &format!("{} had no room in the map.", numbers::counted(rows, "further operation")));
        }
    }

    fn table(&self, m: &mut Markup) {
        m.raw("<table class=\"plain\">\n<caption class=\"away\">Factor over the usual self time, by operation and replica</caption>\n");
        m.raw("<thead><tr><th scope=\"col\">Operation</th>\n");
        for name in &self.map.replicas[..self.columns] {
            m.element("th", &[("scope", "col"), ("class", "number")], &names::label(name, 28));
        }
        m.raw("</tr></thead>\n<tbody>\n");
        for row in 0..self.rows {
            m.open("tr", &[]);
            m.element("th", &[("scope", "row")], &names::label(&self.map.operations[row], 60));
            for column in 0..self.columns {
                let text = self.cell(row, column).map_or("never ran".to_owned(), brief);
                m.element("td", &[("class", "number")], &text);
            }
            m.close("tr");
        }
        m.raw("</tbody></table>\n");
    }
}

fn brief(cell: HeatCell) -> String {
    let flagged = if cell.flagged { " flagged" } else { "" };
    format!("{}{flagged}", numbers::factor(cell.factor))
}

fn words(cell: HeatCell) -> String {
    let flagged = if cell.flagged { ", flagged" } else { "" };
    let slow = numbers::count(cell.slow);
    format!(
        "{}, {slow} of {} slow{flagged}",
        numbers::factor(cell.factor),
        numbers::counted(cell.calls, "call")
    )
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
        assert_eq!(step(f64::NAN), 0);
        assert_eq!(step(-1.0), 0);
    }
}
