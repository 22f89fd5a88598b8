//! The list of renderers.

use crate::{Report, TextStyle, html, json, markdown, text};
use std::io;

/// A form in which a report can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// For a person at a terminal.
    Text,
    /// The data itself (`docs/manual/report-json.md`).
    Json,
    /// For an incident channel: at most forty lines.
    Markdown,
    /// One self-contained page.
    Html,
}

impl Output {
    /// Every form, in the order in which help lists them.
    pub const ALL: [Output; 4] = [Output::Text, Output::Json, Output::Markdown, Output::Html];

    /// The word for `--output`.
    pub const fn name(self) -> &'static str {
        match self {
            Output::Text => "text",
            Output::Json => "json",
            Output::Markdown => "markdown",
            Output::Html => "html",
        }
    }

    /// The form of this name, in any case; `None` when there is none.
    ///
    /// ```
    /// use laggard_report::Output;
    /// assert_eq!(Output::parse("HTML"), Some(Output::Html));
    /// assert_eq!(Output::parse("pdf"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Output> {
        Output::ALL.into_iter().find(|output| output.name().eq_ignore_ascii_case(name))
    }
}

/// Writes a report in one form; `style` concerns [`Output::Text`] only.
///
/// # Errors
/// Those of `out`.
pub fn render(output: Output, report: &Report, style: &TextStyle, out: &mut dyn io::Write) -> io::Result<()> {
    match output {
        Output::Text => text(report, style, out),
        Output::Json => json(report, out),
        Output::Markdown => markdown(report, out),
        Output::Html => html(report, out),
    }
}
