//! A builder of HTML that cannot be injected into: what comes from the report is escaped on every road in.

use crate::names::{Part, label, parts, shorten, visible};
use std::fmt::Write as _;

/// Characters of a name shown in a tooltip when the page shows less.
const TOOLTIP_ROOM: usize = 500;

/// An attribute; its value is escaped.
pub(super) type Attribute<'a> = (&'static str, &'a str);

/// Collects HTML. Tags, attribute names and raw pieces are literals of this crate; all else is escaped.
#[derive(Default)]
pub(super) struct Markup {
    html: String,
}

impl Markup {
    pub(super) fn finish(self) -> String {
        self.html
    }

    /// Markup that is part of the program.
    pub(super) fn raw(&mut self, html: &'static str) {
        self.html.push_str(html);
    }

    /// Text, escaped.
    pub(super) fn text(&mut self, text: &str) {
        for c in visible(text).chars() {
            match c {
                '&' => self.html.push_str("&amp;"),
                '<' => self.html.push_str("&lt;"),
                '>' => self.html.push_str("&gt;"),
                '"' => self.html.push_str("&quot;"),
                '\'' => self.html.push_str("&#39;"),
                c => self.html.push(c),
            }
        }
    }

    pub(super) fn open(&mut self, tag: &'static str, attributes: &[Attribute<'_>]) {
        self.html.push('<');
        self.html.push_str(tag);
        for (name, value) in attributes {
            self.html.push(' ');
            self.html.push_str(name);
            self.html.push_str("=\"");
            self.text(value);
            self.html.push('"');
        }
        self.html.push('>');
    }

    /// Closes a tag; block tags end their line.
    pub(super) fn close(&mut self, tag: &'static str) {
        self.html.extend(["</", tag, ">"]);
        if !matches!(
            tag,
            "a" | "bdi" | "figcaption" | "code" | "span" | "strong" | "title" | "h1" | "h2" | "h3"
        ) {
            self.html.push('\n');
        }
    }

    /// An element with whatever `content` puts into it.
    pub(super) fn within(
        &mut self,
        tag: &'static str,
        attributes: &[Attribute<'_>],
        content: impl FnOnce(&mut Markup),
    ) {
        self.open(tag, attributes);
        content(self);
        self.close(tag);
    }

    /// An element that holds text.
    pub(super) fn element(&mut self, tag: &'static str, attributes: &[Attribute<'_>], text: &str) {
        self.within(tag, attributes, |m| m.text(text));
    }

    /// A name from the input: kept apart from the direction of the text around it, shortened to `room`
    /// columns, with more of it in a tooltip.
    pub(super) fn name(&mut self, class: &str, name: &str, room: usize) {
        let shown = label(name, room);
        let full = visible(&shorten(name, TOOLTIP_ROOM)).into_owned();
        if full == shown || name.is_empty() {
            return self.element("bdi", &[("class", class)], &shown);
        }
        self.element("bdi", &[("class", class), ("title", &full)], &shown);
    }

    /// A sentence of the report, its quoted names as code.
    pub(super) fn sentence(&mut self, text: &str) {
        for part in parts(text) {
            match part {
                Part::Prose(text) => self.text(&text),
                Part::Quoted(name) => self.element("code", &[], &name),
            }
        }
    }

    /// A shape of an SVG without content. `numbers` are coordinates, to a tenth of a pixel.
    pub(super) fn shape(&mut self, tag: &'static str, class: &str, numbers: &[(&'static str, f64)]) {
        self.open_shape(tag, class, numbers);
        self.close(tag);
    }

    /// As [`Markup::shape`], left open.
    pub(super) fn open_shape(&mut self, tag: &'static str, class: &str, numbers: &[(&'static str, f64)]) {
        self.html.extend(["<", tag, " class=\""]);
        self.text(class);
        self.html.push('"');
        for (name, value) in numbers {
            let rounded = (value * 10.0).round() / 10.0;
            write!(self.html, " {name}=\"{rounded}\"").expect("writing to a string cannot fail");
        }
        self.html.push('>');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_from_the_report_is_escaped() {
        let mut m = Markup::default();
        m.element("td", &[("title", "\"><script>")], "<img src=x onerror='a'>\u{1b}&");
        assert_eq!(
            m.finish(),
            "<td title=\"&quot;&gt;&lt;script&gt;\">&lt;img src=x onerror=&#39;a&#39;&gt;\\u{1b}&amp;</td>\n"
        );
    }

    #[test]
    fn long_names_keep_more_in_a_tooltip() {
        let mut m = Markup::default();
        m.name("n", "abcdefghij", 5);
        m.name("n", "abc", 5);
        assert_eq!(m.finish(), "<bdi class=\"n\" title=\"abcdefghij\">ab…ij</bdi><bdi class=\"n\">abc</bdi>");
    }

    #[test]
    fn coordinates_are_short() {
        let mut m = Markup::default();
        m.shape("rect", "a", &[("x", 1.0 / 3.0), ("y", 2.0)]);
        assert_eq!(m.finish(), "<rect class=\"a\" x=\"0.3\" y=\"2\"></rect>\n");
    }
}
