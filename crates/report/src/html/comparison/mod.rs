//! The comparison as one self-contained page.

use crate::Comparison;
use std::io;

pub(crate) fn comparison(comparison: &Comparison, out: &mut dyn io::Write) -> io::Result<()> {
    crate::json::write(comparison, out)
}
