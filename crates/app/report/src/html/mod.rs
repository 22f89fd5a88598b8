//! One self-contained page: it loads nothing, works offline, without scripts, on paper and on a phone.
//!
//! Everything is rendered here, charts included (SVG); the script in `assets/report.js` only adds sorting,
//! a readout for the heat map, and opens folded parts for printing.

mod basis;
mod capacity;
mod markup;
mod overview;
mod time_axis;

pub(crate) use capacity::capacity;
use markup::Markup;

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// The page may run this one script, use its own styles, and load nothing at all. The hash is the script's
/// SHA-256; a test recomputes it and says what to put here after `assets/report.js` has changed.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
     script-src 'sha256-tlfYYGLZkbQEUzdt39cy7LwyUrPJX7wr0xz4WJAhdoc='; \
     base-uri 'none'; form-action 'none'";

/// Columns given to a name in a table.
const NAME_ROOM: usize = 64;

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

/// A box that scrolls sideways on its own, for tables and charts wider than the page.
fn scroller(m: &mut Markup, label: &str, content: impl FnOnce(&mut Markup)) {
    let attributes = [("class", "scroll"), ("role", "region"), ("aria-label", label), ("tabindex", "0")];
    m.within("div", &attributes, content);
}

/// A paragraph in smaller type.
fn remark(m: &mut Markup, text: &str) {
    m.element("p", &[("class", "remark")], text);
}
