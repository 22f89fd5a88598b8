//! Text with a meaning, and the color that shows it.

use crate::names::{columns, visible};

/// Whether escape sequences may be written. The caller knows the terminal and `NO_COLOR`; this crate does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColorChoice {
    /// Write escape sequences of the sixteen standard colors.
    On,
    /// Write plain text.
    Off,
}

/// The style of a part of a text. Color is never the only sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Paint {
    Plain,
    Strong,
    Faint,
    Bad,
    Good,
    Unsure,
}

impl Paint {
    /// Parameters of the SGR control sequence (ECMA-48, 8.3.117).
    const fn parameters(self) -> &'static str {
        match self {
            Paint::Plain => "",
            Paint::Strong => "1",
            Paint::Faint => "2",
            Paint::Bad => "1;31",
            Paint::Good => "1;32",
            Paint::Unsure => "1;33",
        }
    }
}

/// Text that is safe to show, with its paint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Painted {
    text: String,
    paint: Paint,
}

impl Painted {
    /// Control characters are made visible: no escape sequence of the input reaches the terminal.
    pub(crate) fn new(text: &str, paint: Paint) -> Painted {
        Painted { text: visible(text).into_owned(), paint }
    }

    pub(crate) fn plain(text: impl AsRef<str>) -> Painted {
        Painted::new(text.as_ref(), Paint::Plain)
    }

    pub(crate) fn strong(text: impl AsRef<str>) -> Painted {
        Painted::new(text.as_ref(), Paint::Strong)
    }

    pub(crate) fn faint(text: impl AsRef<str>) -> Painted {
        Painted::new(text.as_ref(), Paint::Faint)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) const fn paint(&self) -> Paint {
        self.paint
    }

    pub(crate) fn columns(&self) -> usize {
        columns(&self.text)
    }

    /// The same paint on other text.
    pub(crate) fn with_text(&self, text: &str) -> Painted {
        Painted::new(text, self.paint)
    }

    pub(crate) fn write(&self, color: ColorChoice, out: &mut String) {
        let parameters = self.paint.parameters();
        if color == ColorChoice::Off || parameters.is_empty() || self.text.trim().is_empty() {
            out.push_str(&self.text);
            return;
        }
        out.extend(["\u{1b}[", parameters, "m", &self.text, "\u{1b}[0m"]);
    }
}

/// A bar of `cells` columns that is full at share 1, in eighths of a column.
pub(crate) fn bar(share: f64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let mut eighths = (share * cells as f64 * 8.0).round() as usize;
    if share > 0.0 {
        eighths = eighths.max(1);
    }
    let full = eighths / 8;
    let mut text = "█".repeat(full);
    text.push_str(EIGHTHS[eighths % 8]);
    text.push_str(&" ".repeat(cells - columns(&text)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_a_fixed_width_and_show_the_smallest_share() {
        assert_eq!(bar(0.0, 4), "    ");
        assert_eq!(bar(1e-9, 4), "▏   ");
        assert_eq!(bar(0.5, 4), "██  ");
        assert_eq!(bar(0.99, 4), "████");
        assert_eq!(bar(7.0, 4), "████");
        assert_eq!(bar(f64::NAN, 2), "  ");
    }

    #[test]
    fn escapes_are_written_only_with_color_on() {
        let mut on = String::new();
        Painted::strong("a\u{1b}[2Jb").write(ColorChoice::On, &mut on);
        assert_eq!(on, "\u{1b}[1ma\\u{1b}[2Jb\u{1b}[0m");
        let mut off = String::new();
        Painted::strong("a").write(ColorChoice::Off, &mut off);
        assert_eq!(off, "a");
    }
}
