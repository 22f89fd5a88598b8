//! Tables of aligned columns that fit their page.

use super::page::Page;
use super::paint::{Paint, Piece};
use crate::names::{columns, shorten};

/// Columns between two cells.
const GAP: usize = 2;

/// A flexible cell is never narrower, unless its content is.
const FLEXIBLE_MIN: usize = 8;

/// How a column behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// Names: to the left, shortened when the page is narrow.
    Name,
    /// Numbers: to the right, never shortened.
    Number,
    /// Fixed text: to the left, never shortened.
    Fixed,
}

/// A column's title and behavior.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) title: String,
    pub(super) fit: Fit,
}

/// Rows of cells, some followed by notes that take the whole width.
pub(super) struct Table {
    indent: usize,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

struct Row {
    head: Vec<Piece>,
    cells: Vec<Piece>,
    notes: Vec<Note>,
}

struct Note {
    label: Piece,
    text: Vec<Piece>,
}

impl Table {
    pub(super) fn new(indent: usize, columns: &[(&str, Fit)]) -> Table {
        let columns = columns.iter().map(|&(title, fit)| Column { title: title.to_owned(), fit }).collect();
        Table { indent, columns, rows: Vec::new() }
    }

    /// Adds a row with one cell per column.
    pub(super) fn row(&mut self, cells: Vec<Piece>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(Row { head: Vec::new(), cells, notes: Vec::new() });
    }

    /// Adds wrapped text under the last row, in line with its name.
    pub(super) fn note(&mut self, label: &str, text: Vec<Piece>) {
        if let Some(row) = self.rows.last_mut() {
            row.notes.push(Note { label: Piece::faint(label), text });
        }
    }

    pub(super) fn print(self, page: &mut Page) {
        let widths = self.widths(page.width());
        let titles: Vec<Piece> =
            self.columns.iter().map(|column| Piece::faint(column.title.as_str())).collect();
        page.line(&self.laid_out(&titles, &widths));
        let note_indent = self.note_indent(&widths);
        for row in &self.rows {
            if let [first, ..] = row.head.as_slice() {
                let lead = " ".repeat((note_indent - GAP).saturating_sub(first.columns()));
                page.line(&[&[Piece::plain(lead)], row.head.as_slice()].concat());
            }
            page.line(&self.laid_out(&row.cells, &widths));
            for note in &row.notes {
                let lead = [Piece::plain(" ".repeat(note_indent)), note.label.clone()];
                page.wrapped(&lead, &note.text);
            }
        }
    }

    /// Notes stand under the second column when the first is a rank, else a little to the right.
    fn note_indent(&self, widths: &[usize]) -> usize {
        let ranked = self.columns.first().is_some_and(|column| column.fit == Fit::Number);
        if ranked { self.indent + widths[0] + GAP } else { self.indent + GAP }
    }

    /// Natural widths, the widest names shrunk until the rows fit the page.
    fn widths(&self, page: usize) -> Vec<usize> {
        let natural = |at: usize| {
            let cells = self.rows.iter().map(|row| row.cells[at].columns());
            let heads = self.rows.iter().filter(|_| at == 0).filter_map(|row| row.head.first());
            cells
                .chain(heads.map(Piece::columns))
                .chain([columns(&self.columns[at].title)])
                .max()
                .unwrap_or(0)
                .min(page)
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(natural).collect();
        let gaps = self.indent + GAP * self.columns.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > page {
            let names = (0..widths.len()).filter(|&at| self.columns[at].fit == Fit::Name);
            let Some(widest) = names.max_by_key(|&at| widths[at]).filter(|&at| widths[at] > FLEXIBLE_MIN)
            else {
                break;
            };
            widths[widest] -= 1;
        }
        widths
    }

    fn laid_out(&self, cells: &[Piece], widths: &[usize]) -> Vec<Piece> {
        let mut line = vec![Piece::plain(" ".repeat(self.indent))];
        for (at, cell) in cells.iter().enumerate() {
            let short = cell.with_text(&shorten(cell.text(), widths[at]));
            let padding = Piece::new(&" ".repeat(widths[at] - short.columns()), Paint::Plain);
            if at > 0 {
                line.push(Piece::plain(" ".repeat(GAP)));
            }
            match self.columns[at].fit {
                Fit::Number => line.extend([padding, short]),
                Fit::Name | Fit::Fixed => line.extend([short, padding]),
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::super::paint::ColorChoice;
    use super::*;

    #[test]
    fn names_shrink_and_numbers_stay() {
        let mut table = Table::new(1, &[("#", Fit::Number), ("name", Fit::Name), ("hits", Fit::Number)]);
        table.row(vec![Piece::plain("1"), Piece::plain("checkout-service"), Piece::plain("1,234")]);
        table.note("on ", vec![Piece::plain("node1, node2, node3")]);
        table.row(vec![Piece::plain("10"), Piece::plain("数据"), Piece::plain("7")]);
        let mut page = Page::new(23, ColorChoice::Off);
        table.print(&mut page);
        let expected = "  #  name          hits\n  1  check…rvice  1,234\n     on node1, node2,\n        node3\n 10  数据             7\n";
        assert_eq!(page.finish(), expected);
    }
}
