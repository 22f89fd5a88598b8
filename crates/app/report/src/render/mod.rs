//! Outputs of reports: each renders a [`Document`], JSON the report itself.

mod html;
pub(crate) mod json;
mod junit;
mod markdown;
mod sarif;
mod test_cases;
pub(crate) mod text;

use crate::Document;
use serde::{Deserialize, Serialize};
use std::io;
pub use test_cases::{HasTestCases, TestCases};
pub(crate) use test_cases::{Rule, TestCase, TestOutcome};
pub use text::{ColorChoice, TextStyle};
use utoipa::ToSchema;

/// The columns of a name that is shortened, where nothing narrower is required.
const NAME_ROOM: usize = 60;

/// A report that can be shown.
pub trait Present: Serialize {
    /// The report as blocks.
    fn present(&self) -> Document;
}

impl<R: Present> Present for Box<R> {
    fn present(&self) -> Document {
        R::present(self)
    }
}

/// An output format of reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// For a person at a terminal.
    Text,
    /// The report itself (`docs/manual/json/diagnose.md`).
    Json,
    /// For an incident channel: at most forty lines.
    Markdown,
    /// One self-contained page.
    Html,
    /// The report as blocks, for programs that show it (`docs/manual/json/document.md`).
    Document,
}

impl Output {
    /// All formats, in the order in which help lists them.
    pub const ALL: [Output; 5] =
        [Output::Text, Output::Json, Output::Markdown, Output::Html, Output::Document];

    /// The name for `--output`, its help, and the media type.
    const fn row(self) -> [&'static str; 3] {
        match self {
            Output::Text => ["text", "A verdict card for a terminal", "text/plain; charset=utf-8"],
            Output::Json => ["json", "The report as data", "application/json"],
            Output::Markdown => {
                ["markdown", "For an incident channel, at most 40 lines", "text/markdown; charset=utf-8"]
            }
            Output::Html => ["html", "One self-contained page", "text/html; charset=utf-8"],
            Output::Document => {
                ["document", "The report as blocks (laggard schema document)", "application/json"]
            }
        }
    }

    /// The word for `--output`.
    pub const fn name(self) -> &'static str {
        self.row()[0]
    }

    /// Its description in help.
    pub const fn description(self) -> &'static str {
        self.row()[1]
    }

    /// The media type of a response in this format.
    pub const fn media_type(self) -> &'static str {
        self.row()[2]
    }
}

/// Writes a report in one format; `style` concerns [`Output::Text`] only.
///
/// # Errors
/// Those of `out`.
pub fn render<R: Present>(
    output: Output,
    report: &R,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match output {
        Output::Json => json::write(report, out),
        Output::Text => out.write_all(text::text(&report.present(), style).as_bytes()),
        Output::Markdown => out.write_all(markdown::markdown(&report.present()).as_bytes()),
        Output::Html => out.write_all(html::html(&report.present()).as_bytes()),
        Output::Document => json::write_compact(&report.present(), out),
    }
}

/// An output format of differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiffOutput {
    /// As other reports.
    Report(Output),
    /// JUnit XML, one test case for each transaction or operation: what every continuous integration shows.
    Junit,
    /// SARIF 2.1.0, one result for each that fails: what code hosts show.
    Sarif,
}

impl DiffOutput {
    /// All formats, in the order in which help lists them.
    pub fn all() -> impl Iterator<Item = DiffOutput> {
        Output::ALL.into_iter().map(DiffOutput::Report).chain([DiffOutput::Junit, DiffOutput::Sarif])
    }

    /// The word for `--output`.
    pub const fn name(self) -> &'static str {
        match self {
            DiffOutput::Report(output) => output.name(),
            DiffOutput::Junit => "junit",
            DiffOutput::Sarif => "sarif",
        }
    }

    /// Its description in help.
    pub const fn description(self) -> &'static str {
        match self {
            DiffOutput::Report(output) => output.description(),
            DiffOutput::Junit => "JUnit XML: one test case a transaction",
            DiffOutput::Sarif => "SARIF 2.1.0: one result for each transaction that got slower",
        }
    }
}

/// Writes a difference in one format; `style` concerns text only.
///
/// # Errors
/// Those of `out`.
pub fn render_difference<R: Present + HasTestCases>(
    output: DiffOutput,
    difference: &R,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match output {
        DiffOutput::Report(output) => render(output, difference, style, out),
        DiffOutput::Junit => junit::write(&difference.test_cases(), out),
        DiffOutput::Sarif => sarif::write(&difference.test_cases(), out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_parsed_by_name() {
        for output in Output::ALL {
            let name = serde_json::Value::from(output.name());
            assert_eq!(Output::deserialize(name).ok(), Some(output));
        }
    }
}
