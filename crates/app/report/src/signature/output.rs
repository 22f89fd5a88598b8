//! The lists of renderers of signatures and of their differences.

use super::{Signature, SignatureDiff, junit, markdown, sarif};
use crate::{Output, TextStyle, html, json, text};
use std::io;

/// A form in which a difference can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiffOutput {
    /// As other reports.
    Report(Output),
    /// JUnit XML, one test case a transaction: what every continuous integration shows.
    Junit,
    /// SARIF 2.1.0, one result for each transaction that got slower: what code hosts show.
    Sarif,
}

/// Writes a signature in one form; `style` concerns [`Output::Text`] only. JSON is the file itself.
///
/// # Errors
/// Those of `out`.
pub fn render_signature(
    output: Output,
    signature: &Signature,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match output {
        Output::Text => text::signature(signature, style, out),
        Output::Json => json::write(signature, out),
        Output::Markdown => markdown::signature(signature, out),
        Output::Html => html::signature(signature, out),
    }
}

/// Writes a difference in one form; `style` concerns text only.
///
/// # Errors
/// Those of `out`.
pub fn render_signature_diff(
    output: DiffOutput,
    diff: &SignatureDiff,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match output {
        DiffOutput::Report(Output::Text) => text::signature_diff(diff, style, out),
        DiffOutput::Report(Output::Json) => json::write(diff, out),
        DiffOutput::Report(Output::Markdown) => markdown::diff(diff, out),
        DiffOutput::Report(Output::Html) => html::signature_diff(diff, out),
        DiffOutput::Junit => junit::write(diff, out),
        DiffOutput::Sarif => sarif::write(diff, out),
    }
}
