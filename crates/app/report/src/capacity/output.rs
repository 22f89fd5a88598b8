//! The list of renderers of capacity.

use super::{CapacityReport, markdown::markdown};
use crate::{Output, TextStyle, html, json, text};
use std::io;

/// Writes how much is left in one form; `style` concerns [`Output::Text`] only.
///
/// # Errors
/// Those of `out`.
pub fn render_capacity(
    output: Output,
    report: &CapacityReport,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match output {
        Output::Text => text::capacity(report, style, out),
        Output::Json => json::write(report, out),
        Output::Markdown => markdown(report, out),
        Output::Html => html::capacity(report, out),
    }
}
