//! Writing damaged files of the log anew: what can be read stays, and what is lost is counted in its place.

use super::decode::{DecodeError, decode_batch};
use super::encode::encode_batch;
use super::frame::{self, FrameItem, Frames};
use laggard_engine::Batch;
use laggard_model::Loss;

/// A file of the log as it is to be written instead of a damaged or missing one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RepairedFile {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// Bytes of the damaged file that are no record.
    pub(crate) lost_bytes: u64,
    /// Records that are missing.
    pub(crate) lost_records: u64,
    /// Records that stay.
    pub(crate) records: u64,
}

impl RepairedFile {
    /// The name of the file whose first record has this number.
    pub(crate) fn name(first: u64) -> String {
        frame::file_name(first)
    }
}

// Limit: records lost in a row of a damaged log | it is not repaired, but a server reads what can be read
const LOST_RECORDS_MAX: u64 = 1 << 20;

/// A batch that stands for lost ones.
pub(crate) fn lost_batch(records: u64) -> Batch {
    let mut batch = Batch::default();
    batch.losses.add_many(Loss::CorruptLog, records, || "the write-ahead log".to_owned());
    batch
}

/// Repairs a file whose first record is `first`, with the next file's first record, if there is one. `None` if nothing is lost:
/// a last write that a loss of power has cut off was not acknowledged.
///
/// # Errors
/// When another version of the program wrote it, or too much is lost in a row.
pub(crate) fn repaired(
    file: &[u8],
    first: u64,
    next: Option<u64>,
) -> Result<Option<RepairedFile>, &'static str> {
    if let frame::FileHead::OtherVersion(_) = frame::check_head(file, first) {
        return Err(OTHER_VERSION);
    }
    let mut out = Rewriting::new(first);
    for item in Frames::new(file, first, next.unwrap_or(u64::MAX)) {
        match item {
            FrameItem::Record { number, payload } => {
                out.fill_up_to(number)?;
                let range = payload.len() as u64;
                match decode_batch(&file[payload.clone()]) {
                    Ok(_) => out.record(&file[payload]),
                    Err(DecodeError::Version(_)) => return Err(OTHER_VERSION),
                    Err(DecodeError::Malformed) => {
                        out.lost_bytes += range;
                        out.fill_up_to(number + 1)?;
                    }
                }
            }
            FrameItem::DamagedRange(lost) => out.lost_bytes += lost.len() as u64,
            // The writer has abandoned what is behind the last record, unless records are missing.
            FrameItem::Tail(lost) if next.is_some_and(|next| out.next < next) => {
                out.lost_bytes += lost.len() as u64;
            }
            FrameItem::Tail(_) => {}
        }
    }
    if let Some(next) = next {
        out.fill_up_to(next)?;
    }
    Ok((out.lost_bytes > 0 || out.lost_records > 0).then(|| out.finish(first)))
}

/// A file instead of those that are missing before `next`, with the records from `first` on.
///
/// # Errors
/// When too many are missing.
pub(crate) fn missing_file(first: u64, next: u64) -> Result<RepairedFile, &'static str> {
    let mut out = Rewriting::new(first);
    out.fill_up_to(next)?;
    Ok(out.finish(first))
}

const OTHER_VERSION: &str = "it is of a version that this program does not know";
const TOO_MUCH: &str =
    "too many records are missing in a row to fill them in; a server reads what can be read";

/// A file that is being written anew.
struct Rewriting {
    bytes: Vec<u8>,
    /// Number of the next record.
    next: u64,
    lost_bytes: u64,
    lost_records: u64,
    records: u64,
}

impl Rewriting {
    fn new(first: u64) -> Rewriting {
        let bytes = frame::head(first).to_vec();
        Rewriting { bytes, next: first, lost_bytes: 0, lost_records: 0, records: 0 }
    }

    fn record(&mut self, payload: &[u8]) {
        self.frame(|bytes| bytes.extend_from_slice(payload));
        self.records += 1;
    }

    /// Numbers have no gaps, so every lost record is a batch; the first one has the losses of all.
    fn fill_up_to(&mut self, number: u64) -> Result<(), &'static str> {
        let lost = number.saturating_sub(self.next);
        if lost > LOST_RECORDS_MAX {
            return Err(TOO_MUCH);
        }
        for index in 0..lost {
            let batch = if index == 0 { lost_batch(lost) } else { Batch::default() };
            self.frame(|bytes| encode_batch(&batch, bytes));
        }
        self.lost_records += lost;
        Ok(())
    }

    fn frame(&mut self, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = frame::begin_frame(self.next, &mut self.bytes);
        payload(&mut self.bytes);
        frame::end_frame(start, &mut self.bytes);
        self.next += 1;
    }

    fn finish(self, first: u64) -> RepairedFile {
        RepairedFile {
            name: frame::file_name(first),
            bytes: self.bytes,
            lost_bytes: self.lost_bytes,
            lost_records: self.lost_records,
            records: self.records,
        }
    }
}
