use crate::changes::ChangeReport;
use std::io;
pub(crate) fn changes(_report: &ChangeReport, _out: &mut dyn io::Write) -> io::Result<()> {
    Ok(())
}
