//! Kernel traces as self-contained pages: pictures and tables are there without a script.

mod alignment;
mod diagnosis;
mod durations;
mod letters;
mod path;
mod projection;
mod stats;
mod timeline;

pub(crate) use diagnosis::kernel_diagnosis;
pub(crate) use path::kernel_path;
pub(crate) use stats::kernel_stats;

use super::markup::Markup;
use super::overview::{self as shared, VerdictCard};
use super::{POLICY, SCRIPT, STYLE, head, scroller};
use crate::kernel::KernelInput;
use crate::names;
use std::io;

const KERNEL_STYLE: &str = include_str!("../../../assets/kernel.css");
const KERNEL_SCRIPT: &str = include_str!("../../../assets/kernel.js");

/// SHA-256 of `assets/kernel.js`; a test recomputes it and says what to put here.
const SCRIPT_HASH: &str = "sha256-rS7TOgbNQEF13H9r65eBD2/fY1IAVPTm6kg/GJKwchQ=";

/// Rows the page can bear.
const ROWS: usize = 200;

/// A part of a page: whether the report has something for it, and what writes it.
struct Section<R> {
    id: &'static str,
    title: &'static str,
    has: fn(&R) -> bool,
    write: fn(&mut Markup, &R),
}

/// What a page says before its sections.
struct Top<'a> {
    card: VerdictCard<'a>,
    input: &'a KernelInput,
    missing: &'a [String],
    cautions: &'a [String],
}

fn write_page<R>(
    report: &R,
    top: Top<'_>,
    sections: &[Section<R>],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut m = Markup::default();
    m.raw("<!doctype html>\n<html lang=\"en\">\n");
    let headline = names::shorten(top.card.headline, 120).replace('`', "");
    let policy = POLICY.replacen("script-src ", &format!("script-src '{SCRIPT_HASH}' "), 1);
    head(&mut m, &format!("{}: {headline}", top.card.word), &policy, &[STYLE, KERNEL_STYLE]);
    m.raw("<body>\n<a class=\"skip\" href=\"#main\">Skip to the answer</a>\n");
    header(&mut m, top.input);
    m.open("main", &[("id", "main")]);
    shared::verdict_card(&mut m, top.card);
    let shown = || sections.iter().filter(|section| (section.has)(report));
    super::navigation(&mut m, shown().map(|section| [section.id, section.title]));
    shared::missing(&mut m, top.missing);
    shared::cautions(&mut m, top.cautions);
    for section in shown() {
        let title_id = format!("{}-title", section.id);
        m.open("section", &[("id", section.id), ("aria-labelledby", &title_id)]);
        m.element("h2", &[("id", &title_id)], section.title);
        m.raw("\n");
        (section.write)(&mut m, report);
        m.close("section");
    }
    m.close("main");
    m.raw(
        "<footer><p>Written by Laggard. The same report as data: <code>--output json</code>.</p></footer>\n",
    );
    for script in [SCRIPT, KERNEL_SCRIPT] {
        m.raw("<script>");
        m.raw(script);
        m.raw("</script>\n");
    }
    m.raw("</body>\n</html>\n");
    out.write_all(m.finish().as_bytes())
}

fn header(m: &mut Markup, input: &KernelInput) {
    m.open("header", &[]);
    m.raw("<p class=\"brand\">Laggard</p>\n");
    let since = input.traces.iter().find_map(|trace| trace.since.as_deref());
    if let Some(since) = since {
        m.element("p", &[("class", "window")], &format!("trace of {}", names::label(since, 40)));
    }
    m.close("header");
}

/// A cell with a number; its exact value is what sorting uses.
fn number(m: &mut Markup, text: &str, value: f64) {
    m.element("td", &[("class", "number"), ("data-value", &format!("{value}"))], text);
}

/// A column of a table.
#[derive(Clone, Copy)]
enum Column {
    /// Text, which can be sorted.
    Text(&'static str),
    /// Numbers, which can be sorted.
    Number(&'static str),
}

/// A table that can be sorted; `rows` writes its rows.
fn table(m: &mut Markup, caption: &'static str, columns: &[Column], rows: impl FnOnce(&mut Markup)) {
    scroller(m, caption, |m| {
        m.open("table", &[("class", "plain sortable")]);
        m.element("caption", &[("class", "away")], caption);
        m.open("thead", &[]);
        m.open("tr", &[]);
        for column in columns {
            match column {
                Column::Text(title) => m.element("th", &[("scope", "col"), ("data-sort", "text")], title),
                Column::Number(title) => {
                    m.element("th", &[("scope", "col"), ("class", "number"), ("data-sort", "number")], title)
                }
            }
        }
        m.close("tr");
        m.close("thead");
        m.within("tbody", &[], rows);
        m.close("table");
    });
}

/// A share as a number with a bar.
fn share_cell(m: &mut Markup, share: f64) {
    m.open("td", &[("class", "share"), ("data-value", &format!("{share}"))]);
    m.element("span", &[], &crate::numbers::share(share));
    m.raw("<svg width=\"80\" height=\"6\" aria-hidden=\"true\">");
    m.shape("rect", "bar-all", &[("width", 80.0), ("height", 6.0)]);
    let part = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    m.shape("rect", "bar-part", &[("width", 80.0 * part), ("height", 6.0)]);
    m.close("svg");
    m.close("td");
}

/// Says so when not all are on the page.
fn rest(m: &mut Markup, all: usize, shown: usize, what: &str) {
    if all > shown {
        let left = crate::numbers::count((all - shown) as u64);
        super::remark(m, &format!("{left} more {what} are in the JSON output."));
    }
}

/// A list of sentences, cut where a page would not bear it.
fn sentences(m: &mut Markup, sentences: &[String]) {
    shared::sentences(m, &sentences[..sentences.len().min(ROWS)]);
    rest(m, sentences.len(), ROWS, "remarks");
}

/// Settings under a fold.
fn settings(m: &mut Markup, settings: &[crate::Setting]) {
    if settings.is_empty() {
        return;
    }
    m.open("details", &[("class", "fold")]);
    m.raw("<summary>Settings in force</summary>\n<dl class=\"settings\">\n");
    for setting in settings {
        m.open("div", &[]);
        m.element("dt", &[], &format!("--{}", names::label(&setting.name, 40)));
        m.element("dd", &[], &names::label(&setting.value, 200));
        m.close("div");
    }
    m.close("dl");
    m.close("details");
}
