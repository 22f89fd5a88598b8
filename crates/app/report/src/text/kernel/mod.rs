//! Kernel traces, for a person at a terminal.

mod diagnosis;
mod path;
mod stats;
mod timeline;

pub(crate) use diagnosis::kernel_diagnosis;
pub(crate) use path::kernel_path;
pub(crate) use stats::kernel_stats;

use super::page::Page;
use super::paint::{Paint, Piece};
use super::{TextStyle, WIDTH_MAX, WIDTH_MIN};
use crate::names::{Part, parts};

/// Rows of each table; the other outputs list more.
const ROWS: usize = 12;

/// Columns a name may take.
const NAME_ROOM: usize = 32;

/// Columns of a bar.
const BAR: usize = 16;

fn page(style: &TextStyle) -> Page {
    Page::new(usize::from(style.width.clamp(WIDTH_MIN, WIDTH_MAX)), style.color)
}

/// The first lines: a mark, a word, and the answer.
fn verdict(page: &mut Page, mark: &str, word: &str, paint: Paint, headline: &str) {
    let lead = [Piece::new(mark, paint), Piece::plain(" ")];
    page.wrapped(&lead, &[Piece::new(word, paint)]);
    page.blank();
    page.sentence(&[Piece::plain("  ")], headline, Paint::Plain, Paint::Strong);
}

/// A sentence as pieces, its quoted names emphasized.
fn spoken(sentence: &str) -> Vec<Piece> {
    let piece = |part| match part {
        Part::Prose(text) => Piece::plain(text),
        Part::Quoted(name) => Piece::strong(name),
    };
    parts(sentence).into_iter().map(piece).collect()
}

/// A sentence in one line of a table, without emphasis.
fn flat(sentence: &str) -> String {
    sentence.replace('`', "")
}
