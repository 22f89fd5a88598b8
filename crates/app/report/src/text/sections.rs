//! Sections that several reports share.

use super::page::Page;
use super::paint::{Paint, Piece};
use crate::{names, numbers};
use laggard_model::Losses;

/// Sentences listed; the other outputs list all.
const ROWS: usize = 10;

pub(super) fn bullets(page: &mut Page, title: &str, sentences: &[String], mark: Paint) {
    if sentences.is_empty() {
        return;
    }
    page.heading(title, "");
    for sentence in sentences.iter().take(ROWS) {
        let lead = [Piece::plain(" "), Piece::new("-", mark), Piece::plain(" ")];
        page.sentence(&lead, sentence, Paint::Plain, Paint::Strong);
    }
    more(page, sentences.len(), ROWS, "remarks");
}

pub(super) fn losses(page: &mut Page, losses: &Losses) {
    if losses.is_empty() {
        return;
    }
    page.heading("Lost, repaired or mistrusted", "");
    let counts = losses.iter().map(|(_, found)| numbers::count(found.count).len());
    let widest = counts.max().unwrap_or(0);
    for (loss, found) in losses.iter() {
        let count = format!("{:>width$}  ", numbers::count(found.count), width = widest + 1);
        let mut pieces = vec![Piece::plain(loss.phrase())];
        if !found.example.is_empty() {
            pieces.push(Piece::faint(format!(" (e.g. {})", names::label(&found.example, 120))));
        }
        page.wrapped(&[Piece::plain(count)], &pieces);
    }
}

/// Says so when not all rows are shown.
pub(super) fn more(page: &mut Page, all: usize, shown: usize, what: &str) {
    if all > shown {
        let left = numbers::count((all - shown) as u64);
        page.line(&[Piece::faint(format!("  ... and {left} more {what}: see the html or json output"))]);
    }
}
