//! Lines of a fixed width: wrapping, indentation, clipping.

use super::paint::{ColorChoice, Painted};
use crate::names::{columns, shorten};

/// Collects lines none of which is wider than the page.
pub(crate) struct Page {
    width: usize,
    color: ColorChoice,
    text: String,
}

impl Page {
    pub(crate) const fn new(width: usize, color: ColorChoice) -> Page {
        Page { width, color, text: String::new() }
    }

    pub(crate) const fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A blank line and a section's title, with a remark when there is room.
    pub(crate) fn heading(&mut self, title: &str, remark: &str) {
        self.blank();
        let mut pieces = vec![Painted::strong(title)];
        if !remark.is_empty() && columns(title) + 2 + columns(remark) <= self.width {
            pieces.extend([Painted::plain("  "), Painted::faint(remark)]);
        }
        self.line(&pieces);
    }

    /// One line; what does not fit is cut. Everything that is printed passes here.
    pub(crate) fn line(&mut self, pieces: &[Painted]) {
        let mut room = self.width;
        let pieces = merged(pieces);
        let end = pieces.iter().rposition(|piece| !piece.text().trim().is_empty()).map_or(0, |last| last + 1);
        for (index, piece) in pieces[..end].iter().enumerate() {
            let text = if index + 1 == end { piece.text().trim_end() } else { piece.text() };
            let short = piece.with_text(&shorten(text, room));
            room -= short.columns().min(room);
            short.write(self.color, &mut self.text);
        }
        self.text.push('\n');
    }

    /// Pieces broken between words; the first line starts with `lead`, the others as far to the right.
    pub(crate) fn wrapped(&mut self, lead: &[Painted], pieces: &[Painted]) {
        let indent: usize = lead.iter().map(Painted::columns).sum();
        let room = self.width.saturating_sub(indent).max(8);
        for (index, line) in wrap(pieces, room).into_iter().enumerate() {
            let mut whole = if index == 0 { lead.to_vec() } else { vec![Painted::plain(" ".repeat(indent))] };
            whole.extend(line);
            self.line(&whole);
        }
    }
}

/// Breaks pieces into lines of at most `room` columns.
fn wrap(pieces: &[Painted], room: usize) -> Vec<Vec<Painted>> {
    let mut lines = vec![Vec::new()];
    let mut used = 0;
    for word in words(pieces) {
        let width: usize = word.iter().map(Painted::columns).sum();
        if used > 0 && used + 1 + width > room {
            lines.push(Vec::new());
            used = 0;
        }
        let line = lines.last_mut().expect("there is always a line");
        if used > 0 {
            line.push(space(line.last(), word.first()));
            used += 1;
        }
        for piece in word {
            let short = piece.with_text(&shorten(piece.text(), room - used.min(room)));
            used += short.columns();
            line.push(short);
        }
    }
    lines
}

/// A space between two pieces: in their paint when they agree, so that they are written as one.
fn space(before: Option<&Painted>, after: Option<&Painted>) -> Painted {
    match (before, after) {
        (Some(before), Some(after)) if before.paint() == after.paint() => before.with_text(" "),
        _ => Painted::plain(" "),
    }
}

/// Neighbors of one paint become one piece.
fn merged(pieces: &[Painted]) -> Vec<Painted> {
    let mut merged: Vec<Painted> = Vec::new();
    for piece in pieces {
        match merged.last_mut() {
            Some(last) if last.paint() == piece.paint() => {
                *last = last.with_text(&[last.text(), piece.text()].concat());
            }
            _ => merged.push(piece.clone()),
        }
    }
    merged
}

/// Words, each a run of pieces without a space between them. A number keeps its unit.
fn words(pieces: &[Painted]) -> Vec<Vec<Painted>> {
    let mut words: Vec<Vec<Painted>> = Vec::new();
    let mut joined = false;
    for piece in pieces {
        for (index, text) in piece.text().split(' ').enumerate() {
            if index > 0 {
                joined = false;
            }
            if text.is_empty() {
                continue;
            }
            match words.last_mut() {
                Some(word) if joined => word.push(piece.with_text(text)),
                Some(word) if is_unit(text) => {
                    let between = space(word.last(), Some(piece));
                    word.extend([between, piece.with_text(text)]);
                }
                _ => words.push(vec![piece.with_text(text)]),
            }
            joined = true;
        }
    }
    words
}

fn is_unit(word: &str) -> bool {
    let bare = word.trim_end_matches([',', '.', ';', ')', ':']);
    columns(bare) <= 2 && matches!(bare, "%" | "ns" | "µs" | "ms" | "s" | "MB" | "kB" | "GB" | "B")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: usize, pieces: &[Painted]) -> String {
        let mut page = Page::new(width, ColorChoice::Off);
        page.wrapped(&[Painted::plain("- ")], pieces);
        page.finish()
    }

    #[test]
    fn words_wrap_under_their_indent_and_keep_units_attached() {
        let text = Painted::plain("it takes 48.2 ms, or 83 % of all");
        assert_eq!(shown(16, &[text]), "- it takes\n  48.2 ms, or\n  83 % of all\n");
    }

    #[test]
    fn parts_without_a_space_are_not_separated() {
        let pieces = [Painted::plain("on "), Painted::strong("write"), Painted::plain(": slow")];
        assert_eq!(shown(12, &pieces), "- on write:\n  slow\n");
    }

    #[test]
    fn a_word_wider_than_the_page_is_shortened() {
        let text = Painted::plain("a 数据存储服务数据存储服务 b");
        for line in shown(14, &[text]).lines() {
            assert!(columns(line) <= 14, "{line}");
        }
    }

    #[test]
    fn lines_are_clipped() {
        let mut page = Page::new(8, ColorChoice::Off);
        page.line(&[Painted::plain("12345"), Painted::plain("67890"), Painted::plain("x")]);
        assert_eq!(page.finish(), "1234…90x\n");
    }
}
