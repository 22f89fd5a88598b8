//! The comparison as one self-contained page: no script is needed to read it, none to print it.

mod flame;
mod operations;
mod overview;
mod shapes;
mod tree;

use super::markup::Markup;
use super::{POLICY, SCRIPT, STYLE, head};
use crate::comparison::{Comparison, verdict_word};
use crate::names;
use std::io;

const COMPARISON_STYLE: &str = include_str!("../../../assets/comparison.css");
const COMPARISON_SCRIPT: &str = include_str!("../../../assets/comparison.js");

/// SHA-256 of `assets/comparison.js`; a test recomputes it and says what to put here.
const SCRIPT_HASH: &str = "sha256-BdlgJCyc7fhFFrbixi36Qnxxu3qNApxDapOFg0I/uXk=";

/// A part of the page: whether the comparison has something for it, and what writes it.
struct Section {
    id: &'static str,
    title: &'static str,
    has: fn(&Comparison) -> bool,
    write: fn(&mut Markup, &Comparison),
}

/// The page from top to bottom, below the verdict.
const SECTIONS: [Section; 8] = [
    Section {
        id: "latency",
        title: "Why the mean latency changed",
        has: |c| c.latency.is_some(),
        write: overview::latency,
    },
    Section { id: "entries", title: "By entry", has: |c| c.entries.len() > 1, write: overview::entries },
    Section { id: "flame", title: "Differential flame graph", has: flame::drawable, write: flame::write },
    Section {
        id: "operations",
        title: "Operations",
        has: |c| !c.operations.is_empty(),
        write: operations::write,
    },
    Section { id: "tree", title: "Differential call tree", has: |c| !c.paths.is_empty(), write: tree::write },
    Section { id: "shapes", title: "Call-tree shapes", has: |c| !c.shapes.is_empty(), write: shapes::write },
    Section {
        id: "ruled-out",
        title: "Looked at and found alike",
        has: |c| !c.ruled_out.is_empty(),
        write: overview::ruled_out,
    },
    Section { id: "basis", title: "What this rests on", has: |_| true, write: overview::basis },
];

/// Writes the comparison as one HTML page without any reference to the outside. Text from the input is escaped.
///
/// # Errors
/// Those of `out`.
pub(crate) fn comparison(comparison: &Comparison, out: &mut dyn io::Write) -> io::Result<()> {
    let mut m = Markup::default();
    m.raw("<!doctype html>\n<html lang=\"en\">\n");
    let headline = names::shorten(&comparison.headline, 120).replace('`', "");
    let policy = POLICY.replacen("script-src ", &format!("script-src '{SCRIPT_HASH}' "), 1);
    let title = format!("{}: {headline}", verdict_word(comparison.verdict));
    head(&mut m, &title, &policy, &[STYLE, COMPARISON_STYLE]);
    m.raw("<body>\n<a class=\"skip\" href=\"#main\">Skip to the answer</a>\n");
    m.raw("<header><p class=\"brand\">Laggard</p>\n<p class=\"window\">Comparison of two sets of requests</p></header>\n");
    m.open("main", &[("id", "main")]);
    overview::verdict(&mut m, comparison);
    let shown = SECTIONS.iter().filter(|section| (section.has)(comparison));
    super::navigation(&mut m, shown.map(|section| [section.id, section.title]));
    overview::cautions(&mut m, comparison);
    for section in SECTIONS.iter().filter(|section| (section.has)(comparison)) {
        let title_id = format!("{}-title", section.id);
        m.open("section", &[("id", section.id), ("aria-labelledby", &title_id)]);
        m.element("h2", &[("id", &title_id)], section.title);
        m.raw("\n");
        (section.write)(&mut m, comparison);
        m.close("section");
    }
    m.close("main");
    m.raw("<footer><p>Written by Laggard. The same comparison as data: <code>--output json</code>.</p></footer>\n");
    for script in [SCRIPT, COMPARISON_SCRIPT] {
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
