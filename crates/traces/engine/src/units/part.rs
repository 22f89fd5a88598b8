//! Partial results on their way: the units that they are of, and a checksum.

use super::{UnitFold, UnitId};
use laggard_wire::{Malformed, PackedReader, Unpacked, put_varint};
use std::fmt;

/// First byte of every part; differs between versions of the program that encode differently.
const VERSION: u8 = 1;

/// Least bytes of the id of a unit.
const UNIT_BYTES_MIN: usize = 2;

/// Why bytes are not a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartError {
    /// They were changed on the way, or something else was sent.
    Damaged,
    /// A program of another version encoded them.
    Version(u8),
    /// They are the answer to another question, by its number.
    Kind(u8),
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartError::Damaged => f.write_str("a partial result is damaged"),
            PartError::Version(version) => {
                write!(
                    f,
                    "a partial result has version {version} of the encoding; this program reads {VERSION}"
                )
            }
            PartError::Kind(kind) => write!(f, "a partial result answers another question ({kind})"),
        }
    }
}

impl std::error::Error for PartError {}

impl From<Malformed> for PartError {
    fn from(_: Malformed) -> PartError {
        PartError::Damaged
    }
}

/// The partial result of some units that follow each other: version, kind, units, partial, and their CRC-32C.
pub fn encode_part<F: UnitFold>(fold: &F, units: &[UnitId], partial: &F::Partial) -> Vec<u8> {
    let mut out = vec![VERSION, F::KIND];
    put_varint(&mut out, units.len() as u64);
    units.iter().for_each(|&unit| put_unit(&mut out, unit));
    fold.encode(partial, &mut out);
    let checksum = crc32c::crc32c(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    out
}

/// The units and the partial result of a part.
pub(super) fn decode_part<F: UnitFold>(
    fold: &F,
    bytes: &[u8],
) -> Result<(Vec<UnitId>, F::Partial), PartError> {
    let (contents, checksum) = bytes.split_last_chunk().ok_or(PartError::Damaged)?;
    if crc32c::crc32c(contents) != u32::from_le_bytes(*checksum) {
        return Err(PartError::Damaged);
    }
    let mut from = PackedReader::new(contents);
    match (from.byte()?, from.byte()?) {
        (VERSION, kind) if kind == F::KIND => {}
        (VERSION, other) => return Err(PartError::Kind(other)),
        (other, _) => return Err(PartError::Version(other)),
    }
    let units = (0..from.count(UNIT_BYTES_MIN)?).map(|_| read_unit(&mut from)).collect::<Unpacked<_>>()?;
    let partial = fold.decode(&mut from)?;
    if from.is_empty() { Ok((units, partial)) } else { Err(PartError::Damaged) }
}

/// Appends the id of a unit.
pub fn put_unit(out: &mut Vec<u8>, unit: UnitId) {
    let (kind, number) = match unit {
        UnitId::LateTraces(range) => (0, range),
        UnitId::Segment(number) => (1, number),
    };
    out.push(kind);
    put_varint(out, number);
}

/// Reads the id of a unit that was appended.
///
/// # Errors
/// When it cannot have been.
pub fn read_unit(from: &mut PackedReader<'_>) -> Unpacked<UnitId> {
    match from.byte()? {
        0 => Ok(UnitId::LateTraces(from.number()?)),
        1 => Ok(UnitId::Segment(from.number()?)),
        _ => Err(Malformed),
    }
}
