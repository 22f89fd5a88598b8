//! One self-contained page: it loads nothing, works offline, without scripts, on paper and on a phone.
//!
//! Everything is rendered here, charts included (SVG); the script in `assets/report.js` only adds sorting,
//! a readout for the heat map, and opens folded parts for printing.

mod baseline;
mod basis;
mod call_tree;
mod capacity;
mod categories;
mod changes;
mod comparison;
mod heat_map;
mod kernel;
mod latency;
mod markup;
mod overview;
mod periods;
mod replicas;
mod signature;
mod suspects;
mod time_axis;

use crate::{Report, facts, names};
pub(crate) use capacity::capacity;
pub(crate) use changes::changes;
pub(crate) use comparison::comparison;
pub(crate) use kernel::{kernel_diagnosis, kernel_path, kernel_stats};
use markup::Markup;
pub(crate) use signature::{signature, signature_diff};
use std::io;

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// The page may run this one script, use its own styles, and load nothing at all. The hash is the script's
/// SHA-256; a test recomputes it and says what to put here after `assets/report.js` has changed.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
     script-src 'sha256-tlfYYGLZkbQEUzdt39cy7LwyUrPJX7wr0xz4WJAhdoc='; \
     base-uri 'none'; form-action 'none'";

/// Columns given to a name in a table.
const NAME_ROOM: usize = 64;

/// A part of the page: whether the report has something for it, and what writes it.
struct Section {
    id: &'static str,
    title: &'static str,
    has: fn(&Report) -> bool,
    write: fn(&mut Markup, &Report),
}

/// The page from top to bottom, below the verdict.
const SECTIONS: [Section; 11] = [
    Section { id: "suspects", title: "Suspects", has: |r| !r.suspects.is_empty(), write: suspects::write },
    Section { id: "periods", title: "Slow periods", has: |r| !r.incidents.is_empty(), write: periods::write },
    Section {
        id: "baseline",
        title: "Against the baseline",
        has: |r| r.baseline.is_some(),
        write: baseline::write,
    },
    Section {
        id: "heat-map",
        title: "Operations by replica",
        has: heat_map::drawable,
        write: heat_map::write,
    },
    Section { id: "latency", title: "Latency of requests", has: latency::drawable, write: latency::write },
    Section { id: "trees", title: "Call trees", has: call_tree::any, write: call_tree::write },
    Section {
        id: "replicas",
        title: "Replicas that stand out",
        has: |r| !r.replicas.is_empty(),
        write: replicas::write,
    },
    Section {
        id: "categories",
        title: "Request categories",
        has: |r| !r.categories.is_empty(),
        write: categories::write,
    },
    Section {
        id: "ruled-out",
        title: "Ruled out or not judged",
        has: |r| !r.ruled_out.is_empty(),
        write: basis::ruled_out,
    },
    Section {
        id: "losses",
        title: "Lost, repaired or mistrusted",
        has: |_| true,
        write: |m, r| basis::losses(m, &r.input.losses),
    },
    Section { id: "basis", title: "What this rests on", has: |_| true, write: basis::write },
];

/// Writes the report as one HTML page without any reference to the outside.
///
/// Text from the report is escaped. Long lists are folded or, where a page would not bear them, cut with a
/// remark; the JSON output always has everything.
///
/// # Errors
/// Those of `out`.
pub fn html(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut m = Markup::default();
    m.raw("<!doctype html>\n<html lang=\"en\">\n");
    let headline = names::shorten(&report.headline, 120).replace('`', "");
    head(&mut m, &format!("{}: {headline}", facts::verdict(report.verdict)), POLICY, &[STYLE]);
    m.raw("<body>\n<a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n");
    overview::header(&mut m, report);
    m.open("main", &[("id", "main")]);
    overview::verdict(&mut m, report);
    let shown = SECTIONS.iter().filter(|section| (section.has)(report));
    navigation(&mut m, shown.map(|section| [section.id, section.title]));
    overview::missing(&mut m, &report.missing);
    overview::cautions(&mut m, &report.cautions);
    for section in SECTIONS.iter().filter(|section| (section.has)(report)) {
        write_section(&mut m, section, report);
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

fn head(m: &mut Markup, title: &str, policy: &str, styles: &[&'static str]) {
    m.raw("<head>\n<meta charset=\"utf-8\">\n");
    m.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    m.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"Laggard\">\n");
    m.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", policy)]);
    m.raw("\n");
    m.element("title", &[], title);
    m.raw("\n<style>\n");
    styles.iter().for_each(|style| m.raw(style));
    m.raw("</style>\n</head>\n");
}

/// Links to the sections of a page, given as id and title.
fn navigation(m: &mut Markup, sections: impl Iterator<Item = [&'static str; 2]>) {
    m.open("nav", &[("aria-label", "Sections")]);
    m.open("ul", &[]);
    for [id, title] in sections {
        m.open("li", &[]);
        m.element("a", &[("href", &format!("#{id}"))], title);
        m.close("li");
    }
    m.close("ul");
    m.close("nav");
}

fn write_section(m: &mut Markup, section: &Section, report: &Report) {
    let title_id = format!("{}-title", section.id);
    m.open("section", &[("id", section.id), ("aria-labelledby", &title_id)]);
    m.element("h2", &[("id", &title_id)], section.title);
    m.raw("\n");
    (section.write)(m, report);
    m.close("section");
}

/// A box that scrolls sideways on its own, for tables and charts wider than the page.
fn scroller(m: &mut Markup, label: &str, content: impl FnOnce(&mut Markup)) {
    let attributes = [("class", "scroll"), ("role", "region"), ("aria-label", label), ("tabindex", "0")];
    m.within("div", &attributes, content);
}

/// A paragraph in smaller type.
fn remark(m: &mut Markup, text: &str) {
    m.element("p", &[("class", "remark")], text);
}

/// `service operation` with its parts told apart.
fn operation(m: &mut Markup, service: &str, operation: &str) {
    if !service.is_empty() {
        m.name("service", service, NAME_ROOM);
        m.text(" ");
    }
    m.name("operation", operation, NAME_ROOM);
}
