//! A document as one self-contained page: it loads nothing, works offline, without scripts, on paper and on a phone.
//!
//! Everything is rendered here, charts included (SVG); the script in `assets/report.js` only adds sorting, readouts,
//! and zooming, and opens folded parts for printing.

mod chart;
mod flame;
mod heat_map;
mod table;
mod timeline;

use crate::Document;
use crate::document::{
    Block, BlockContent, Figure, Fold, LegendEntry, Prose, Section, Sentences, Span, SpanStyle, Tone,
};
use crate::{names, numbers};
use maud::{Markup, PreEscaped, html};

/// Shared with the pages of the service.
const COLORS: &str = include_str!("../../../assets/colors.css");
const STYLE: &str = include_str!("../../../assets/report.css");
const SCRIPT: &str = include_str!("../../../assets/report.js");

/// The page may run this one script, use its own styles, and load nothing at all. The hash is the script's
/// SHA-256; a test recomputes it and says what to put here after `assets/report.js` has changed.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
     script-src 'sha256-ta1HF5faRg3kA71OWv5e2O0W23Socl6UhQMlk7mBfbU='; \
     base-uri 'none'; form-action 'none'";

/// Columns of a name.
const NAME_ROOM: usize = 64;

/// Sentences of a list that are shown unfolded, and that a page can bear.
const UNFOLDED: usize = 20;
const MOST: usize = 500;

/// The page. Text is escaped; long lists are folded or, where a page would not bear them, cut with a remark.
pub(crate) fn html(document: &Document) -> String {
    let title = format!("{}: {}", document.verdict, names::shorten(&document.headline.text(), 120));
    let policy = POLICY;
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="Laggard";
                meta http-equiv="Content-Security-Policy" content=(policy);
                title { (title) }
                style { "\n" (PreEscaped(COLORS)) (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the verdict" }
                header {
                    p.brand { "Laggard" }
                    @if let Some(time) = &document.time { p.window { (time) } }
                }
                main #main {
                    (verdict(document))
                    nav aria-label="Sections" {
                        ul { @for section in navigable(document) {
                            li { a href=(format!("#{}", section.id)) { (section.title) } }
                        } }
                    }
                    @for section in &document.sections { (self::section(section)) }
                }
                footer { p { "Written by Laggard. The same report as data: " code { "--output json" } "." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    lined(&page.into_string())
}

/// A line for each larger element, so that two pages can be compared line by line.
fn lined(page: &str) -> String {
    const ENDS: [&str; 12] = [
        "</tr>",
        "</li>",
        "</div>",
        "</p>",
        "</h2>",
        "</section>",
        "</svg>",
        "</table>",
        "</ul>",
        "</rect>",
        "</details>",
        "</head>",
    ];
    let mut text = page.to_owned();
    for end in ENDS {
        text = text.replace(end, &format!("{end}\n"));
    }
    text + "\n"
}

fn navigable(document: &Document) -> impl Iterator<Item = &Section> {
    document.sections.iter().filter(|section| section.tone != Tone::Unsure)
}

fn verdict(document: &Document) -> Markup {
    html! {
        section #verdict class=(format!("verdict {}", tone_class(document.tone))) aria-labelledby="verdict-title" {
            p.chip { (document.verdict) }
            h1 #verdict-title { (prose(&document.headline)) }
            @for remark in &document.remarks { p { (prose(remark)) } }
            dl.figures { @for figure in &document.figures { (self::figure(figure)) } }
        }
    }
}

fn figure(figure: &Figure) -> Markup {
    html! {
        div {
            dt { (figure.name) }
            dd {
                strong { (prose(&figure.value.text)) }
                @if !figure.remark.is_empty() { " " span { (figure.remark) } }
            }
        }
    }
}

const fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Neutral => "neutral",
        Tone::Bad => "bad",
        Tone::Good => "good",
        Tone::Warning | Tone::Unsure => "unsure",
    }
}

fn section(section: &Section) -> Markup {
    let title_id = format!("{}-title", section.id);
    let class = if section.tone == Tone::Unsure { "cautions" } else { "" };
    let introduction = if section.introduction.is_empty() { &section.remark } else { &section.introduction };
    html! {
        section #(section.id) class=(class) aria-labelledby=(title_id) {
            h2 #(title_id) { (section.title) }
            @if !introduction.is_empty() { p.remark { (sentence_case(introduction)) } }
            @for (index, block) in section.blocks.iter().enumerate() {
                (self::block(block, &format!("{}-{index}", section.id)))
            }
        }
    }
}

/// With a capital letter, and a full stop at its end.
fn sentence_case(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    let stop = if text.ends_with(['.', '!', '?', ':']) { "" } else { "." };
    format!("{first}{}{stop}", chars.as_str())
}

/// A block; `key` is unique on the page.
fn block(block: &Block, key: &str) -> Markup {
    let id = block.id.as_deref();
    if block.fold != Fold::Never {
        let class = match block.fold {
            Fold::Alternative => "fold alternative",
            _ => "fold",
        };
        return html! {
            details class=(class) id=[id] open[block.fold == Fold::Open] {
                summary { @if block.title.is_empty() { "Details" } @else { (prose(&block.title)) } }
                (content(&block.content, key))
            }
        };
    }
    html! {
        div.block id=[id] {
            @if !block.title.is_empty() { h3 { (prose(&block.title)) } }
            (content(&block.content, key))
        }
    }
}

fn content(content: &BlockContent, key: &str) -> Markup {
    match content {
        BlockContent::Sentences(list) => sentences(list),
        BlockContent::Table(table) => table::table(table, key),
        BlockContent::Tree(table) => table::tree(table, key),
        BlockContent::HeatMap(map) => heat_map::heat_map(map, key),
        BlockContent::Chart(chart) => chart::chart(chart, key),
        BlockContent::Timeline(timeline) => timeline::timeline(timeline, key),
        BlockContent::Flame(flame) => flame::flame(flame, key),
    }
}

fn sentences(list: &Sentences) -> Markup {
    if list.label.is_empty() {
        return html! { @for sentence in &list.sentences { p { (prose(sentence)) } } };
    }
    let shown = &list.sentences[..list.sentences.len().min(MOST)];
    let (open, folded) = shown.split_at(shown.len().min(UNFOLDED));
    let items = |sentences: &[Prose]| {
        html! { ul.sentences { @for sentence in sentences { li { (prose(sentence)) } } } }
    };
    html! {
        (items(open))
        @if !folded.is_empty() {
            details { summary { (numbers::count(folded.len() as u64)) " more" } (items(folded)) }
        }
        (rest(list.sentences.len() - shown.len(), "sentences"))
    }
}

/// Says so when not everything is on the page.
fn rest(omitted: usize, what: &str) -> Markup {
    html! {
        @if omitted > 0 {
            p.remark { (numbers::count(omitted as u64)) " more " (what) " are in the JSON output." }
        }
    }
}

/// Spans; names are isolated from the direction of the text around them.
fn prose(prose: &Prose) -> Markup {
    html! { @for span in &prose.0 { (self::span(span)) } }
}

fn span(span: &Span) -> Markup {
    let link = span.link.as_ref().map(|id| format!("#{id}"));
    let text = match span.style {
        SpanStyle::Plain => html! { (span.text) },
        SpanStyle::Strong => html! { strong { (span.text) } },
        SpanStyle::Faint => html! { span.faint { (span.text) } },
        style => name(style, &span.text),
    };
    html! { @if let Some(link) = link { a href=(link) { (text) } } @else { (text) } }
}

fn name(style: SpanStyle, name: &str) -> Markup {
    let class = match style {
        SpanStyle::Service => "service",
        SpanStyle::Operation => "operation",
        SpanStyle::Replica => "replica",
        SpanStyle::Label => "kind",
        SpanStyle::Category | SpanStyle::Trace => "id",
        _ => "name",
    };
    let shown = names::label(name, NAME_ROOM);
    let full = (shown != name).then_some(name);
    html! { bdi class=(class) title=[full] { (shown) } }
}

fn legend(entries: &[LegendEntry]) -> Markup {
    html! {
        @if !entries.is_empty() {
            ul.legend aria-label="Legend" {
                @for entry in entries {
                    li {
                        svg width="16" height="12" aria-hidden="true" {
                            rect class=(entry.color.class()) width="16" height="12" {}
                        }
                        @if !entry.symbol.is_empty() { strong { (entry.symbol) } " " }
                        (entry.label)
                    }
                }
            }
        }
    }
}

/// A share of the width as an attribute.
fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// A tenth of a pixel is enough.
fn pixels(value: f64) -> String {
    format!("{}", (value * 10.0).round() / 10.0)
}
