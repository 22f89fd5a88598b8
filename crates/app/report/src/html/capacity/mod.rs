//! How much is left as one self-contained page: charts and tables are there without a script.

mod chart;
mod curves;
mod demands;
mod latency;
mod over_time;
mod overview;

use super::markup::Markup;
use super::{POLICY, SCRIPT, STYLE, basis, head, overview as shared};
use crate::capacity::{CapacityReport, capacity_verdict_word};
use crate::names;
use std::io;

const CAPACITY_STYLE: &str = include_str!("../../../assets/capacity.css");

/// A part of the page: whether the report has something for it, and what writes it.
struct Section {
    id: &'static str,
    title: &'static str,
    has: fn(&CapacityReport) -> bool,
    write: fn(&mut Markup, &CapacityReport),
}

/// The page from top to bottom, below the verdict.
const SECTIONS: [Section; 8] = [
    Section { id: "what-if", title: "What if", has: |r| r.what_if.is_some(), write: overview::what_if },
    Section {
        id: "curves",
        title: "Throughput, latency and utilization",
        has: curves::drawable,
        write: curves::write,
    },
    Section {
        id: "over-time",
        title: "Capacity over time",
        has: over_time::drawable,
        write: over_time::write,
    },
    Section { id: "tiers", title: "Tiers", has: |r| r.model.is_some(), write: demands::tiers },
    Section {
        id: "demands",
        title: "What transactions demand",
        has: |r| r.model.is_some(),
        write: demands::transactions,
    },
    Section {
        id: "latency",
        title: "Where the latency goes",
        has: |r| !r.latency.is_empty(),
        write: latency::write,
    },
    Section {
        id: "losses",
        title: "Lost, repaired or mistrusted",
        has: |_| true,
        write: |m, r| basis::losses(m, &r.input.losses),
    },
    Section { id: "basis", title: "What this rests on", has: |_| true, write: overview::basis },
];

/// Writes how much is left as one HTML page without any reference to the outside. Text from the input is escaped.
///
/// # Errors
/// Those of `out`.
pub(crate) fn capacity(report: &CapacityReport, out: &mut dyn io::Write) -> io::Result<()> {
    let mut m = Markup::default();
    m.raw("<!doctype html>\n<html lang=\"en\">\n");
    let headline = names::shorten(&report.headline, 120).replace('`', "");
    let title = format!("{}: {headline}", capacity_verdict_word(report.verdict));
    head(&mut m, &title, POLICY, &[STYLE, CAPACITY_STYLE]);
    m.raw("<body>\n<a class=\"skip\" href=\"#main\">Skip to the answer</a>\n");
    overview::header(&mut m, report);
    m.open("main", &[("id", "main")]);
    overview::verdict(&mut m, report);
    let shown = SECTIONS.iter().filter(|section| (section.has)(report));
    super::navigation(&mut m, shown.map(|section| [section.id, section.title]));
    shared::missing(&mut m, &report.missing);
    shared::cautions(&mut m, &report.cautions);
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
    m.raw("<script>");
    m.raw(SCRIPT);
    m.raw("</script>\n</body>\n</html>\n");
    out.write_all(m.finish().as_bytes())
}

/// A cell with a number; its exact value is what sorting uses.
fn number(m: &mut Markup, text: &str, value: f64) {
    m.element("td", &[("class", "number"), ("data-value", &format!("{value}"))], text);
}

/// Titles of columns that hold numbers.
fn number_title(m: &mut Markup, title: &str) {
    m.element("th", &[("scope", "col"), ("class", "number"), ("data-sort", "number")], title);
}

/// The class of a part of a bar or of a line, by its place.
fn color(prefix: &str, at: usize) -> String {
    const COLORS: usize = 9;
    format!("{prefix}{}", at.min(COLORS - 1))
}
