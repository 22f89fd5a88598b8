//! Frames in a file: writing them, and finding them again in a file that may be damaged.

use std::ops::Range;

const MAGIC: [u8; 7] = *b"LAGGWAL";
const VERSION: u8 = 1;

/// Bytes of a file's head: magic, version, number of the first record, checksum of these.
pub(super) const HEAD_BYTES: usize = 20;

/// Bytes of a frame without its payload.
pub(super) const FRAME_BYTES: usize = 16;

/// Longest payload: more than the largest accepted batch. A greater length is damage.
pub(super) const PAYLOAD_BYTES_MAX: usize = 1 << 30;

/// The name of the file that begins with this record; names sort like numbers.
pub(super) fn file_name(first: u64) -> String {
    format!("{first:020}.log")
}

/// The first record of a file, by its name; `None` for a file that is not of the log.
pub(crate) fn first_of_name(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log").filter(|digits| digits.len() == 20)?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// The head of a file.
pub(super) fn head(first: u64) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..7].copy_from_slice(&MAGIC);
    head[7] = VERSION;
    head[8..16].copy_from_slice(&first.to_le_bytes());
    let sum = crc32c::crc32c(&head[..16]);
    head[16..].copy_from_slice(&sum.to_le_bytes());
    head
}

/// The header of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FileHead {
    /// The head of a log file.
    Good,
    /// The head of a log file of another version.
    OtherVersion(u8),
    /// Something else, or too little.
    Bad,
}

pub(super) fn check_head(file: &[u8], first: u64) -> FileHead {
    let Some(found) = file.first_chunk::<HEAD_BYTES>() else { return FileHead::Bad };
    let mut expected = head(first);
    if *found == expected {
        return FileHead::Good;
    }
    expected[7] = found[7];
    let sum = crc32c::crc32c(&expected[..16]);
    expected[16..].copy_from_slice(&sum.to_le_bytes());
    if *found == expected { FileHead::OtherVersion(found[7]) } else { FileHead::Bad }
}

/// Begins a frame at the end of `out`; [`end_frame`] completes it once the payload is behind it.
pub(super) fn begin_frame(number: u64, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&number.to_le_bytes());
    start
}

pub(super) fn end_frame(start: usize, out: &mut [u8]) {
    let length = out.len() - start - FRAME_BYTES;
    let sum = crc32c::crc32c(&out[start + 8..]);
    let length = u32::try_from(length).expect("batches are smaller than the longest payload");
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    out[start + 4..start + 8].copy_from_slice(&sum.to_le_bytes());
}

/// The next item of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FrameItem {
    Record {
        number: u64,
        /// Where its payload is.
        payload: Range<usize>,
    },
    /// Bytes that are no record, before one that is.
    DamagedRange(Range<usize>),
    /// Bytes at the end that are no record.
    Tail(Range<usize>),
}

/// Walks over a file's frames.
pub(super) struct Frames<'a> {
    file: &'a [u8],
    at: usize,
    /// The number of the next record, or of the first that was lost.
    expected: u64,
    /// First record number of the next file.
    end: u64,
}

impl<'a> Frames<'a> {
    /// Frames of a file whose head may be damaged; records are from `first` to before `end`.
    pub(super) fn new(file: &'a [u8], first: u64, end: u64) -> Frames<'a> {
        let start = if check_head(file, first) == FileHead::Good { HEAD_BYTES } else { 0 };
        Frames { file, at: start, expected: first, end }
    }

    /// The number of the record that would come next.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// The frame at an offset, if its number is in `numbers`.
    fn frame(&self, offset: usize, numbers: Range<u64>) -> Option<(u64, Range<usize>)> {
        let frame = self.file.get(offset..)?.first_chunk::<FRAME_BYTES>()?;
        let number = u64::from_le_bytes(*frame.last_chunk().expect("16 bytes have 8 last ones"));
        if !numbers.contains(&number) {
            return None;
        }
        let word = |from: usize| u32::from_le_bytes(frame[from..from + 4].try_into().expect("4 bytes"));
        let (length, sum) = (word(0) as usize, word(4));
        let payload = offset + FRAME_BYTES..offset + FRAME_BYTES + length;
        if length > PAYLOAD_BYTES_MAX || payload.end > self.file.len() {
            return None;
        }
        let intact = crc32c::crc32c(&self.file[offset + 8..payload.end]) == sum;
        intact.then_some((number, payload))
    }

    /// The expected frame, at the expected offset.
    fn expected_frame(&self) -> Option<(u64, Range<usize>)> {
        let numbers = self.expected..self.end.min(self.expected.saturating_add(1));
        self.frame(self.at, numbers)
    }

    /// The next frame behind damage. Every byte is tried, but a checksum is computed only where a number
    /// stands that can follow: so few bytes cannot have held more records than this.
    fn resynchronized(&self) -> Option<(u64, usize)> {
        (self.at + 1..self.file.len()).find_map(|offset| {
            let lost_max = ((offset - self.at) / FRAME_BYTES) as u64;
            let numbers = self.expected..self.end.min(self.expected.saturating_add(lost_max + 1));
            self.frame(offset, numbers).map(|(number, _)| (number, offset))
        })
    }
}

impl Iterator for Frames<'_> {
    type Item = FrameItem;

    fn next(&mut self) -> Option<FrameItem> {
        if self.at >= self.file.len() {
            return None;
        }
        if let Some((number, payload)) = self.expected_frame() {
            self.at = payload.end;
            self.expected = number + 1;
            return Some(FrameItem::Record { number, payload });
        }
        let start = self.at;
        let Some((number, found)) = self.resynchronized() else {
            self.at = self.file.len();
            return Some(FrameItem::Tail(start..self.at));
        };
        self.at = found;
        self.expected = number;
        Some(FrameItem::DamagedRange(start..found))
    }
}
