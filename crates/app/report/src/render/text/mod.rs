//! A document for a person at a terminal.

pub(crate) mod page;
pub(crate) mod paint;
mod table;
mod timeline;

use crate::Document;
use crate::document::{Block, BlockContent, Detail, Prose, Section, Sentences, SpanStyle, Tone};
use crate::numbers;
use page::Page;
pub use paint::ColorChoice;
use paint::{Paint, Painted};

/// Narrower pages are laid out for this width.
const WIDTH_MIN: u16 = 60;

/// Wider pages are laid out for this width: longer lines are hard to read.
const WIDTH_MAX: u16 = 100;

/// Sentences of a list that are shown.
const SENTENCES: usize = 10;

/// How text is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextStyle {
    /// Whether to write colors.
    pub color: ColorChoice,
    /// Columns of the terminal; at least 60 and at most 100 are used.
    pub width: u16,
}

/// The document in lines that all fit the width. Nothing in it acts on the terminal: control characters are
/// spelled out.
pub(crate) fn text(document: &Document, style: &TextStyle) -> String {
    let width = usize::from(style.width.clamp(WIDTH_MIN, WIDTH_MAX));
    let mut page = Page::new(width, style.color);
    verdict(&mut page, document);
    for section in document.sections.iter().filter(|section| section.detail <= Detail::Full) {
        write_section(&mut page, section);
    }
    page.finish()
}

fn verdict(page: &mut Page, document: &Document) {
    let mark = match document.tone {
        Tone::Bad | Tone::Warning => "[!]",
        Tone::Good => "[ok]",
        Tone::Unsure => "[?]",
        Tone::Neutral => "[=]",
    };
    let paint = match document.tone {
        Tone::Neutral => Paint::Strong,
        tone => paint_of(tone),
    };
    page.wrapped(
        &[Painted::new(mark, paint), Painted::plain(" ")],
        &[Painted::new(&document.verdict, paint)],
    );
    page.blank();
    for sentence in std::iter::once(&document.headline).chain(&document.remarks) {
        page.wrapped(&[Painted::plain("  ")], &pieces(sentence));
    }
}

fn write_section(page: &mut Page, section: &Section) {
    let mut blocks = section.blocks.iter().filter(|block| is_shown(block)).peekable();
    if blocks.peek().is_none() {
        return;
    }
    page.heading(&section.title, &section.remark);
    for (index, block) in blocks.enumerate() {
        if index > 0 && !matches!(block.content, BlockContent::Sentences(_)) {
            page.blank();
        }
        if !block.title.is_empty() {
            page.wrapped(&[Painted::plain(" ")], &pieces(&block.title));
        }
        match &block.content {
            BlockContent::Sentences(sentences) => write_sentences(page, sentences),
            BlockContent::Table(table) | BlockContent::Tree(table) => table::print(page, table),
            BlockContent::Timeline(timeline) => timeline::print(page, timeline),
            BlockContent::HeatMap(_) | BlockContent::Chart(_) | BlockContent::Flame(_) => {}
        }
    }
}

/// Pictures that text cannot draw are left out; tables beside them hold the same.
fn is_shown(block: &Block) -> bool {
    let drawable = match &block.content {
        BlockContent::Sentences(sentences) => !sentences.sentences.is_empty(),
        BlockContent::Table(table) | BlockContent::Tree(table) => !table.rows.is_empty(),
        BlockContent::Timeline(timeline) => !timeline.segments.is_empty(),
        BlockContent::HeatMap(_) | BlockContent::Chart(_) | BlockContent::Flame(_) => false,
    };
    drawable && block.detail <= Detail::Full
}

fn write_sentences(page: &mut Page, list: &Sentences) {
    let lead = match list.label.is_empty() {
        true => vec![Painted::plain("  ")],
        false => vec![Painted::plain(" "), Painted::new("-", paint_of(list.tone)), Painted::plain(" ")],
    };
    for sentence in list.sentences.iter().take(SENTENCES) {
        page.wrapped(&lead, &pieces(sentence));
    }
    more(page, list.sentences.len().saturating_sub(SENTENCES) as u64, "remarks");
}

/// Says so when not everything is shown.
fn more(page: &mut Page, omitted: u64, what: &str) {
    if omitted > 0 {
        let omitted = numbers::count(omitted);
        page.line(&[Painted::faint(format!("  ... and {omitted} more {what}: see the html or json output"))]);
    }
}

const fn paint_of(tone: Tone) -> Paint {
    match tone {
        Tone::Neutral => Paint::Plain,
        Tone::Bad => Paint::Bad,
        Tone::Good => Paint::Good,
        Tone::Warning | Tone::Unsure => Paint::Unsure,
    }
}

/// Spans as pieces, names shortened.
fn pieces(prose: &Prose) -> Vec<Painted> {
    let piece = |span: &crate::document::Span| match span.style {
        SpanStyle::Plain => Painted::plain(&span.text),
        SpanStyle::Faint => Painted::faint(&span.text),
        SpanStyle::Strong => Painted::strong(&span.text),
        SpanStyle::Label | SpanStyle::Category | SpanStyle::Trace => {
            Painted::plain(crate::names::label(&span.text, super::NAME_ROOM))
        }
        _ => Painted::strong(crate::names::label(&span.text, super::NAME_ROOM)),
    };
    prose.0.iter().map(piece).collect()
}
