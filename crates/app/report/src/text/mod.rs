//! The verdict for a person at a terminal.

mod capacity;
mod changes;
mod comparison;
mod evidence;
mod kernel;
mod page;
mod paint;
mod sections;
mod signature;
mod table;

pub(crate) use capacity::capacity;
pub(crate) use changes::changes;
pub(crate) use comparison::comparison;
pub(crate) use kernel::{kernel_diagnosis, kernel_path, kernel_stats};
pub use paint::ColorChoice;
pub(crate) use signature::{signature, signature_diff};

use crate::Report;
use page::Page;
use std::io;

/// Narrower pages are laid out for this width.
const WIDTH_MIN: u16 = 60;

/// Wider pages are laid out for this width: longer lines are hard to read.
const WIDTH_MAX: u16 = 100;

/// How text is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextStyle {
    /// Whether to write colors.
    pub color: ColorChoice,
    /// Columns of the terminal; taken as 60 when smaller and as 100 when larger.
    pub width: u16,
}

/// Writes the verdict for a person at a terminal: first the answer, then who is to blame, since when,
/// who pays, what was ruled out, and what limits trust in it.
///
/// Every line fits the width, and nothing the input brought along can act on the terminal: control
/// characters are spelled out.
///
/// # Errors
/// Those of `out`.
pub fn text(report: &Report, style: &TextStyle, out: &mut dyn io::Write) -> io::Result<()> {
    let width = usize::from(style.width.clamp(WIDTH_MIN, WIDTH_MAX));
    let mut page = Page::new(width, style.color);
    sections::verdict(&mut page, report);
    sections::missing(&mut page, report);
    sections::suspects(&mut page, report);
    evidence::periods(&mut page, report);
    evidence::baseline(&mut page, report);
    sections::replicas(&mut page, report);
    sections::categories(&mut page, report);
    sections::cautions(&mut page, report);
    sections::ruled_out(&mut page, report);
    sections::losses(&mut page, &report.input.losses);
    sections::basis(&mut page, report);
    out.write_all(page.finish().as_bytes())
}
