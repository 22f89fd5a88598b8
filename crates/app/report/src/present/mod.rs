//! What each report says, in which words and in which order: one file or folder for each question.

pub(crate) mod capacity;
pub(crate) mod changes;
pub(crate) mod compare;
pub(crate) mod diagnose;
pub(crate) mod facts;
pub(crate) mod kernel;
pub(crate) mod signature;

use crate::document::{
    Block, Cell, ColumnKind, Detail, Fold, Prose, Section, Sentences, SpanStyle, Table, TableRow,
};
use crate::{Setting, names};

/// What the answer is based on: sentences, and the settings for pages.
pub(crate) fn basis(sentences: impl IntoIterator<Item = Prose>, settings: &[Setting]) -> Section {
    let section = Section::new("basis", "What this is based on").block(Sentences::paragraphs(sentences));
    if settings.is_empty() {
        return section;
    }
    let row = |setting: &Setting| {
        TableRow::new([
            Cell::text(names::label(&setting.name, 64)),
            Cell::name(SpanStyle::Name, &setting.value),
        ])
    };
    let table = Table::new("Settings", &[("Setting", ColumnKind::Text), ("Value", ColumnKind::Name)]);
    let table = Block::from(table.rows(settings.iter().map(row)));
    section.block(table.folded(Fold::Closed, "Settings used").detail(Detail::Page))
}
