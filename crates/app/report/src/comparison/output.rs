//! The list of renderers of a comparison.

use super::{Comparison, markdown::markdown};
use crate::{Output, TextStyle, html, json, text};
use std::io;

/// Writes a comparison in one form; `style` concerns [`Output::Text`] only.
///
/// # Errors
/// Those of `out`.
pub fn render_comparison(
    output: Output,
    comparison: &Comparison,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match output {
        Output::Text => text::comparison(comparison, style, out),
        Output::Json => json::write(comparison, out),
        Output::Markdown => markdown(comparison, out),
        Output::Html => html::comparison(comparison, out),
    }
}
