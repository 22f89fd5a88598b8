//! The last section of most reports: what the answer is based on.

use crate::document::{
    Block, Cell, ColumnKind, Detail, Fold, Prose, Section, Sentences, SpanStyle, Table, TableRow,
};
use crate::{Setting, names};

/// Sentences, and the settings for pages.
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
