//! What changed as one self-contained page: charts and tables are there without a script.

mod mix;
mod models;
mod overview;
mod plot;
mod signature;
mod utilization;

use super::markup::Markup;
use super::{POLICY, SCRIPT, STYLE, basis, head, overview as shared};
use crate::changes::{ChangeReport, change_verdict_word};
use crate::names;
use std::io;

const CHANGES_STYLE: &str = include_str!("../../../assets/changes.css");
const CHANGES_SCRIPT: &str = include_str!("../../../assets/changes.js");

/// SHA-256 of `assets/changes.js`; a test recomputes it and says what to put here.
const SCRIPT_HASH: &str = "sha256-K8pV+Xe58aJMWTvMkdPfbcaV8ncxhUI6WfOidqMlkfk=";

/// Servers the page has charts and tables for; the JSON output has all.
const SERVERS: usize = 12;

/// A part of the page: whether the report has something for it, and what writes it.
struct Section {
    id: &'static str,
    title: &'static str,
    has: fn(&ChangeReport) -> bool,
    write: fn(&mut Markup, &ChangeReport),
}

/// The page from top to bottom, below the verdict.
const SECTIONS: [Section; 9] = [
    Section { id: "events", title: "What happened", has: |r| !r.events.is_empty(), write: overview::events },
    Section {
        id: "utilization",
        title: "Utilization, observed and predicted",
        has: utilization::drawable,
        write: utilization::write,
    },
    Section {
        id: "signature",
        title: "Transactions before and after",
        has: signature::any,
        write: signature::write,
    },
    Section { id: "mix", title: "What clients asked for", has: |r| r.mix.is_some(), write: mix::write },
    Section { id: "models", title: "What transactions cost", has: models::any, write: models::write },
    Section { id: "segments", title: "Segments", has: models::any_segment, write: models::segments },
    Section {
        id: "ruled-out",
        title: "Looked at and found fine",
        has: |r| !r.ruled_out.is_empty(),
        write: overview::ruled_out,
    },
    Section {
        id: "losses",
        title: "Lost, repaired or mistrusted",
        has: |_| true,
        write: |m, r| basis::losses(m, &r.input.losses),
    },
    Section { id: "basis", title: "What this rests on", has: |_| true, write: overview::basis },
];

/// Writes what changed as one HTML page without any reference to the outside. Text from the input is escaped.
///
/// # Errors
/// Those of `out`.
pub(crate) fn changes(report: &ChangeReport, out: &mut dyn io::Write) -> io::Result<()> {
    let mut m = Markup::default();
    m.raw("<!doctype html>\n<html lang=\"en\">\n");
    let headline = names::shorten(&report.headline, 120).replace('`', "");
    let policy = POLICY.replacen("script-src ", &format!("script-src '{SCRIPT_HASH}' "), 1);
    let title = format!("{}: {headline}", change_verdict_word(report.verdict));
    head(&mut m, &title, &policy, &[STYLE, CHANGES_STYLE]);
    m.raw("<body>\n<a class=\"skip\" href=\"#main\">Skip to the answer</a>\n");
    overview::header(&mut m, report);
    m.open("main", &[("id", "main")]);
    overview::verdict(&mut m, report);
    let shown = SECTIONS.iter().filter(|section| (section.has)(report));
    super::navigation(&mut m, shown.map(|section| [section.id, section.title]));
    shared::missing(&mut m, &report.missing);
    shared::cautions(&mut m, &overview::all_cautions(report));
    for section in SECTIONS.iter().filter(|section| (section.has)(report)) {
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
    for script in [SCRIPT, CHANGES_SCRIPT] {
        m.raw("<script>");
        m.raw(script);
        m.raw("</script>\n");
    }
    m.raw("</body>\n</html>\n");
    out.write_all(m.finish().as_bytes())
}

/// A cell with a number; its exact value is what sorting uses.
fn number(m: &mut Markup, text: &str, value: f64) {
    m.element("td", &[("class", "number"), ("data-value", &format!("{value}"))], text);
}

/// Titles of columns after the first, which hold numbers.
fn number_titles(m: &mut Markup, titles: &[&str]) {
    for title in titles {
        m.element("th", &[("scope", "col"), ("class", "number"), ("data-sort", "number")], title);
    }
}

/// Says so when not all are on the page.
fn rest(m: &mut Markup, all: usize, shown: usize, what: &str) {
    if all > shown {
        let left = crate::numbers::count((all - shown) as u64);
        super::remark(m, &format!("{left} more {what} are in the JSON output."));
    }
}
