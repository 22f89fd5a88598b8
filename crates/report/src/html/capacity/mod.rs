//! How much is left as one self-contained page.

use crate::capacity::CapacityReport;
use std::io;

pub(crate) fn capacity(_report: &CapacityReport, _out: &mut dyn io::Write) -> io::Result<()> {
    Ok(())
}
