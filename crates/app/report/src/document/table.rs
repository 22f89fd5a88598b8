//! Tables and trees.

use super::{Cell, Detail, LegendEntry, Prose};
use serde::Serialize;
use utoipa::ToSchema;

/// Rows that text shows unless a table says otherwise.
const PREVIEW: u32 = 10;

/// Rows and columns.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Table {
    /// Its subject, for screen readers, and in `... and 3 more suspects`.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, the most important first.
    pub rows: Vec<TableRow>,
    /// Rows shown where room is short.
    pub preview: u32,
    /// Rows that exist, but are not part of the document.
    pub omitted: u64,
    /// Meaning of the colors of its pictures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub legend: Vec<LegendEntry>,
    /// How pages can hide rows that are [`Emphasis::Aside`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
}

/// A choice to hide rows that are aside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Filter {
    /// The label of the choice.
    pub label: String,
    /// Whether they are hidden at first.
    pub active: bool,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Column {
    /// Its title.
    pub title: String,
    /// How its cells are laid out.
    pub kind: ColumnKind,
    /// Which outputs show it.
    pub detail: Detail,
}

/// How the cells of a column are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// Names, to the left; shortened when room is short.
    Name,
    /// Numbers, to the right; never shortened.
    Number,
    /// Short words, to the left; never shortened.
    Text,
    /// Sentences; wrapped. The last column, if any.
    Prose,
    /// Pictures; text draws bars only.
    Graphic,
}

/// Columns as kind and title: `columns![Name "operation", Number "factor"]`.
macro_rules! columns {
    ($($kind:ident $title:expr),*) => { [$(($title, $crate::document::ColumnKind::$kind)),*] };
}
pub(crate) use columns;

/// A row: one cell for each column, and notes about the row.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TableRow {
    /// One for each column.
    pub cells: Vec<Cell>,
    /// Notes about the row.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// How much it matters.
    #[serde(skip_serializing_if = "Emphasis::is_usual")]
    pub emphasis: Emphasis,
    /// In a tree, the number of rows above it up to the root.
    pub depth: u32,
}

/// How much a row matters.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Emphasis {
    /// As the others.
    #[default]
    Usual,
    /// Marked: a suspect, or what got worse.
    Worse,
    /// Marked: what got better.
    Better,
    /// Leads to a marked row.
    Way,
    /// Neither marked nor on the way to a marked one.
    Aside,
}

impl Emphasis {
    fn is_usual(&self) -> bool {
        *self == Emphasis::Usual
    }
}

/// A remark on a row.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Note {
    /// Its first word: `between`, `since`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Its text.
    pub text: Prose,
    /// `summary`: everywhere. `full`: on pages and, for the first rows, in text. `page`: folded on pages.
    pub detail: Detail,
}

impl Table {
    /// A table of columns given as title and kind.
    pub(crate) fn new(caption: &str, columns: &[(&str, ColumnKind)]) -> Table {
        let column = |&(title, kind): &(&str, ColumnKind)| Column {
            title: title.to_owned(),
            kind,
            detail: Detail::Summary,
        };
        Table {
            caption: caption.to_owned(),
            columns: columns.iter().map(column).collect(),
            rows: Vec::new(),
            preview: PREVIEW,
            omitted: 0,
            legend: Vec::new(),
            filter: None,
        }
    }

    /// Limits columns, given by title, to outputs of a level of detail.
    pub(crate) fn columns_for(mut self, detail: Detail, titles: &[&str]) -> Table {
        for column in self.columns.iter_mut().filter(|column| titles.contains(&column.title.as_str())) {
            column.detail = detail;
        }
        self
    }

    pub(crate) fn rows(mut self, rows: impl IntoIterator<Item = TableRow>) -> Table {
        self.rows.extend(rows);
        self
    }

    /// Limits the number of rows; the others are counted.
    pub(crate) fn at_most<T>(mut self, limit: usize, all: &[T], row: impl FnMut(&T) -> TableRow) -> Table {
        self.omitted = all.len().saturating_sub(limit) as u64;
        self.rows.extend(all.iter().take(limit).map(row));
        self
    }

    /// Limits the number of rows and preserves their order; rows marked as worse are preferred.
    pub(crate) fn excerpt(&self, limit: usize) -> Vec<TableRow> {
        if self.rows.len() <= limit {
            return self.rows.clone();
        }
        let mut indices: Vec<usize> = (0..self.rows.len()).collect();
        indices.sort_by_key(|&index| self.rows[index].emphasis != Emphasis::Worse);
        indices.truncate(limit);
        indices.sort_unstable();
        indices.into_iter().map(|index| self.rows[index].clone()).collect()
    }

    pub(crate) const fn preview(mut self, rows: u32) -> Table {
        self.preview = rows;
        self
    }

    pub(crate) fn filter(mut self, label: impl Into<String>, active: bool) -> Table {
        self.filter = Some(Filter { label: label.into(), active });
        self
    }
}

impl TableRow {
    pub(crate) fn new(cells: impl IntoIterator<Item = Cell>) -> TableRow {
        TableRow {
            cells: cells.into_iter().collect(),
            notes: Vec::new(),
            emphasis: Emphasis::Usual,
            depth: 0,
        }
    }

    pub(crate) fn note(mut self, detail: Detail, label: &str, text: impl Into<Prose>) -> TableRow {
        let text = text.into();
        if !text.is_empty() {
            self.notes.push(Note { label: label.to_owned(), text, detail });
        }
        self
    }

    pub(crate) const fn emphasis(mut self, emphasis: Emphasis) -> TableRow {
        self.emphasis = emphasis;
        self
    }

    pub(crate) const fn depth(mut self, depth: u32) -> TableRow {
        self.depth = depth;
        self
    }
}
