//! Opening a log: data that is in it but not in segments becomes open again.

use crate::intake::{Intake, RecordPart};
use crate::log::{FILE_BYTES, LogFiles, ReplayReport, WriteAheadLog, missing, replay};
use crate::{LogPosition, StoreError};
use laggard_model::Loss;
use std::sync::Arc;

/// A store's write path, restored to its state before the store was closed.
pub(crate) struct Recovered {
    pub(crate) log: WriteAheadLog,
    pub(crate) intake: Intake,
    pub(crate) findings: ReplayReport,
}

/// Reads the log from where segments end.
///
/// # Errors
/// When the folder cannot be read, or when another version of the program wrote the log.
pub(crate) fn recover(files: Arc<dyn LogFiles>, position: &LogPosition) -> Result<Recovered, StoreError> {
    let mut intake = Intake::new(position.clone());
    let mut closings = position.closings.iter().peekable();
    let mut findings = replay(&*files, position.replay_from, &mut |number, batch| {
        while let Some(earlier) = closings.next_if(|closing| closing.head < number) {
            intake.repeat(earlier);
        }
        // What is lost of a settled record counts, too: its traces were open.
        let is_settled = number <= position.settled && batch.losses.count(Loss::CorruptLog) == 0;
        let part = if is_settled { RecordPart::Traces } else { RecordPart::All };
        intake.ingest(number, &batch, part);
    })?;
    for last in closings {
        intake.repeat(last);
    }
    let lost_from = position.replay_from.max(findings.last + 1);
    if lost_from <= position.settled {
        findings.corrupt.push(missing(lost_from, position.settled));
    }
    let last = findings.last.max(position.settled);
    intake.reach_head(last);
    let log = WriteAheadLog::new(files, last + 1, findings.files.clone(), FILE_BYTES);
    Ok(Recovered { log, intake, findings })
}

#[cfg(test)]
mod tests;
