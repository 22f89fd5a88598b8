//! The list of renderers of changes.

use super::{ChangeReport, markdown::markdown};
use crate::{Output, TextStyle, html, json, text};
use std::io;

/// Writes what changed in one form; `style` concerns [`Output::Text`] only.
///
/// # Errors
/// Those of `out`.
pub fn render_changes(
    output: Output,
    report: &ChangeReport,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match output {
        Output::Text => text::changes(report, style, out),
        Output::Json => json::write(report, out),
        Output::Markdown => markdown(report, out),
        Output::Html => html::changes(report, out),
    }
}
