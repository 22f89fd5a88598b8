//! Names that come from the input: made harmless to look at, measured, and shortened.

use crate::numbers;
use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

/// Replaces the middle of a shortened name.
const ELLIPSIS: char = '…';

/// Most characters per column: combining accents take no column.
const CHARS_PER_COLUMN: usize = 4;

/// The text with everything that acts instead of showing spelled out: control characters (which a terminal
/// obeys), line and paragraph separators, and marks that turn the direction of writing. Idempotent.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Whether a character must never reach a terminal or a page as it is.
pub(crate) fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Columns a terminal needs for the text, character by character.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(char_columns).sum()
}

pub(crate) fn char_columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The text in at most `room` columns: what does not fit is cut out of the middle, because names often
/// differ at their ends.
pub(crate) fn shorten(text: &str, room: usize) -> Cow<'_, str> {
    if fits(text, room) {
        return Cow::Borrowed(text);
    }
    let tail_room = room.saturating_sub(1) / 2;
    let head_room = room.saturating_sub(1) - tail_room;
    let head = prefix(text.chars(), head_room);
    let tail: String = prefix(text.chars().rev(), tail_room).chars().rev().collect();
    // A text that was shortened before keeps a single mark.
    let mut short = head.trim_end_matches(ELLIPSIS).to_owned();
    if room > 0 {
        short.push(ELLIPSIS);
    }
    short.push_str(tail.trim_start_matches(|c| c == ELLIPSIS || char_columns(c) == 0));
    Cow::Owned(short)
}

fn fits(text: &str, room: usize) -> bool {
    let mut used = 0;
    for (index, c) in text.chars().enumerate() {
        used += char_columns(c);
        if used > room || index >= room * CHARS_PER_COLUMN {
            return false;
        }
    }
    true
}

/// The longest prefix that fits.
fn prefix(chars: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 0;
    chars
        .take(room * CHARS_PER_COLUMN)
        .take_while(|&c| {
            used += char_columns(c);
            used <= room
        })
        .collect()
}

/// Columns given to a name quoted in a sentence, and to the running text between two of them.
const QUOTED_ROOM: usize = 64;
const PROSE_ROOM: usize = 500;

/// Parts of a sentence that are shown.
const PARTS: usize = 60;

/// A piece of a sentence that quotes names in backticks; visible and shortened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SentencePart {
    /// Running text.
    Prose(String),
    /// A quoted name, without its backticks.
    Quoted(String),
}

/// Splits a sentence at its backticks. An unpaired backtick makes all of it prose.
pub(crate) fn parts(sentence: &str) -> Vec<SentencePart> {
    let prose = |text| SentencePart::Prose(visible(&shorten(text, PROSE_ROOM)).into_owned());
    if sentence.matches('`').count() % 2 == 1 {
        return vec![prose(sentence)];
    }
    let pieces = sentence.split('`').enumerate().take(PARTS);
    let marked = pieces.map(|(index, text)| match index % 2 {
        1 => SentencePart::Quoted(label(text, QUOTED_ROOM)),
        _ => prose(text),
    });
    let mut parts: Vec<SentencePart> =
        marked.filter(|part| *part != SentencePart::Prose(String::new())).collect();
    if sentence.split('`').nth(PARTS).is_some() {
        parts.push(SentencePart::Prose(ELLIPSIS.to_string()));
    }
    parts
}

/// The first `limit` names, visible and shortened, and how many are left: `a, b, c and 4 more`.
pub(crate) fn list(names: &[String], limit: usize, room_each: usize) -> String {
    some_of(names.iter().map(|name| label(name, room_each)), limit)
}

/// The first `limit` phrases, and how many are left: `a, b, c and 4 more`.
pub(crate) fn some_of(phrases: impl ExactSizeIterator<Item = String>, limit: usize) -> String {
    let omitted = phrases.len().saturating_sub(limit);
    let shown = phrases.take(limit).collect::<Vec<String>>().join(", ");
    match omitted {
        0 => shown,
        omitted => format!("{shown} and {} more", numbers::count(omitted as u64)),
    }
}

/// A name for display: visible, at most `room` columns, never empty.
pub(crate) fn label(name: &str, room: usize) -> String {
    if name.is_empty() {
        return "(unnamed)".to_owned();
    }
    // A name can be megabytes long; only its ends are ever shown.
    shorten(&visible(&shorten(name, room * 2)), room).into_owned()
}

/// A name in backticks, without any of its own.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", label(name, 64).replace('`', "'"))
}

/// A phrase as the beginning of a sentence.
pub(crate) fn capitalized(phrase: &str) -> String {
    let mut characters = phrase.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.collect::<String>() + characters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_text() {
        assert_eq!(visible("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(visible("line\nnext\t\u{9b}2J"), "line\\nnext\\t\\u{9b}2J");
        assert_eq!(visible("user\u{202e}txt.exe"), "user\\u{202e}txt.exe");
        assert_eq!(visible("größe 数据"), "größe 数据");
        let once = visible("\u{1b}\u{7f}").into_owned();
        assert_eq!(visible(&once), once);
    }

    #[test]
    fn long_names_are_shortened_in_the_middle() {
        assert_eq!(shorten("checkout-service", 16), "checkout-service");
        assert_eq!(shorten("checkout-service", 9), "chec…vice");
        assert_eq!(shorten("checkout", 1), "…");
        assert_eq!(shorten("check…vice", 6), "che…ce");
        assert_eq!(shorten("abc…rest", 6), "abc…st");
        assert_eq!(shorten("checkout", 0), "");
        assert_eq!(shorten("数据存储服务", 7), "数…务");
        assert!(columns(&shorten("数据存储服务", 7)) <= 7);
    }

    #[test]
    fn stacked_combining_marks_are_limited() {
        let pile = format!("a{}", "\u{301}".repeat(10_000));
        assert!(shorten(&pile, 10).chars().count() <= 10 * CHARS_PER_COLUMN + 1);
    }

    #[test]
    fn sentences_split_at_paired_backticks_only() {
        assert_eq!(
            parts("`a` is slow"),
            [SentencePart::Quoted("a".to_owned()), SentencePart::Prose(" is slow".to_owned())]
        );
        assert_eq!(parts("it`s"), [SentencePart::Prose("it`s".to_owned())]);
        assert_eq!(parts(""), []);
        assert_eq!(parts(&"`a` ".repeat(10_000)).len(), PARTS);
    }

    #[test]
    fn lists_count_omitted_items() {
        let names: Vec<String> = ["a", "b", "", "d"].iter().map(|n| n.to_string()).collect();
        assert_eq!(list(&names, 3, 20), "a, b, (unnamed) and 1 more");
        assert_eq!(list(&names[..1], 3, 20), "a");
    }
}
