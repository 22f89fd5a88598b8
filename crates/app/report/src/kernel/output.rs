//! The list of renderers of kernel traces.

use super::{KernelDiagnosis, KernelPathReport, KernelStatsReport, markdown};
use crate::{Output, TextStyle, html, json, text};
use std::io;

/// Writes critical paths in one form; `style` concerns [`Output::Text`] only.
///
/// # Errors
/// Those of `out`.
pub fn render_kernel_path(
    output: Output,
    report: &KernelPathReport,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match output {
        Output::Text => text::kernel_path(report, style, out),
        Output::Json => json::write(report, out),
        Output::Markdown => markdown::path(report, out),
        Output::Html => html::kernel_path(report, out),
    }
}

/// Writes a diagnosis in one form; `style` concerns [`Output::Text`] only.
///
/// # Errors
/// Those of `out`.
pub fn render_kernel_diagnosis(
    output: Output,
    report: &KernelDiagnosis,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match output {
        Output::Text => text::kernel_diagnosis(report, style, out),
        Output::Json => json::write(report, out),
        Output::Markdown => markdown::diagnosis(report, out),
        Output::Html => html::kernel_diagnosis(report, out),
    }
}

/// Writes what a trace holds in one form; `style` concerns [`Output::Text`] only.
///
/// # Errors
/// Those of `out`.
pub fn render_kernel_stats(
    output: Output,
    report: &KernelStatsReport,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match output {
        Output::Text => text::kernel_stats(report, style, out),
        Output::Json => json::write(report, out),
        Output::Markdown => markdown::stats(report, out),
        Output::Html => html::kernel_stats(report, out),
    }
}
