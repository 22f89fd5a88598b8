//! Parts as numbered pieces: small enough for a message, and checked when they are put together.

use std::collections::BTreeMap;
use std::fmt;

/// Most bytes of a piece.
pub(crate) const PIECE_BYTES_MAX: usize = 1 << 20;

/// A piece of what a worker answers for a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// Index of the unit in its round.
    pub(crate) unit: u32,
    /// Which piece, from 0.
    pub(crate) number: u32,
    /// How many there are; 0 if the unit cannot be read, then the bytes are the reason.
    pub(crate) total: u32,
    /// CRC-32C of the bytes.
    pub(crate) crc32c: u32,
    pub(crate) bytes: Vec<u8>,
}

/// What a worker answers for a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum UnitAnswer {
    /// The encoded partial result.
    Part(Vec<u8>),
    /// Why there is none.
    Unreadable(String),
}

/// Why pieces cannot be put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PieceError {
    /// Other bytes than were sent, or numbers that contradict each other.
    Damaged,
    /// A unit that this attempt did not ask for, by its index.
    Unknown(u32),
    /// A piece of a unit that had arrived before, by the index of the unit.
    Twice(u32),
}

impl fmt::Display for PieceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PieceError::Damaged => f.write_str("a piece of a result is damaged"),
            PieceError::Unknown(unit) => write!(f, "there is a result of unit {unit}, which was not asked for"),
            PieceError::Twice(unit) => write!(f, "a piece of the result of unit {unit} arrived twice"),
        }
    }
}

impl UnitAnswer {
    /// The answer for a unit as pieces, at least one.
    pub(crate) fn into_pieces(self, unit: u32) -> Vec<Piece> {
        let piece = |number: usize, total: usize, bytes: &[u8]| Piece {
            unit,
            number: number as u32,
            total: total as u32,
            crc32c: crc32c::crc32c(bytes),
            bytes: bytes.to_vec(),
        };
        match self {
            UnitAnswer::Unreadable(reason) => vec![piece(0, 0, reason.as_bytes())],
            UnitAnswer::Part(part) if part.is_empty() => vec![piece(0, 1, &part)],
            UnitAnswer::Part(part) => {
                let total = part.len().div_ceil(PIECE_BYTES_MAX);
                let pieces = part.chunks(PIECE_BYTES_MAX).enumerate();
                pieces.map(|(number, bytes)| piece(number, total, bytes)).collect()
            }
        }
    }
}

/// Puts pieces together, in any order.
#[derive(Debug)]
pub(crate) struct Assembler {
    units: BTreeMap<u32, Progress>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Progress {
    Missing,
    /// The pieces by their numbers.
    Begun(Vec<Option<Vec<u8>>>),
    Answered,
}

impl Assembler {
    /// Waits for the answers for some units.
    pub(crate) fn new(units: impl IntoIterator<Item = u32>) -> Assembler {
        Assembler { units: units.into_iter().map(|unit| (unit, Progress::Missing)).collect() }
    }

    /// Adds a piece; returns the answer that it completes.
    pub(crate) fn add(&mut self, piece: Piece) -> Result<Option<UnitAnswer>, PieceError> {
        if crc32c::crc32c(&piece.bytes) != piece.crc32c {
            return Err(PieceError::Damaged);
        }
        let progress = self.units.get_mut(&piece.unit).ok_or(PieceError::Unknown(piece.unit))?;
        if piece.total == 0 {
            return match std::mem::replace(progress, Progress::Answered) {
                Progress::Missing => {
                    Ok(Some(UnitAnswer::Unreadable(String::from_utf8_lossy(&piece.bytes).into_owned())))
                }
                _ => Err(PieceError::Twice(piece.unit)),
            };
        }
        if *progress == Progress::Missing {
            *progress = Progress::Begun(vec![None; piece.total as usize]);
        }
        let Progress::Begun(pieces) = progress else { return Err(PieceError::Twice(piece.unit)) };
        if pieces.len() != piece.total as usize {
            return Err(PieceError::Damaged);
        }
        let slot = pieces.get_mut(piece.number as usize).ok_or(PieceError::Damaged)?;
        if slot.replace(piece.bytes).is_some() {
            return Err(PieceError::Twice(piece.unit));
        }
        if pieces.iter().any(Option::is_none) {
            return Ok(None);
        }
        let part = pieces.drain(..).flatten().collect::<Vec<_>>().concat();
        *progress = Progress::Answered;
        Ok(Some(UnitAnswer::Part(part)))
    }

    /// Units without an answer.
    pub(crate) fn missing(&self) -> impl Iterator<Item = u32> + '_ {
        let missing = self.units.iter().filter(|(_, progress)| **progress != Progress::Answered);
        missing.map(|(&unit, _)| unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|index| (index % 251) as u8).collect()
    }

    #[test]
    fn pieces_in_any_order_are_the_part() {
        for bytes in [0, 1, PIECE_BYTES_MAX, PIECE_BYTES_MAX + 1, 3 * PIECE_BYTES_MAX] {
            let mut pieces = UnitAnswer::Part(part(bytes)).into_pieces(7);
            assert_eq!(pieces.len(), bytes.div_ceil(PIECE_BYTES_MAX).max(1));
            pieces.reverse();
            let last = pieces.pop();
            let mut assembler = Assembler::new([7, 8]);
            for piece in pieces {
                assert_eq!(assembler.add(piece), Ok(None));
            }
            assert_eq!(assembler.missing().collect::<Vec<_>>(), [7, 8]);
            assert_eq!(last.map(|piece| assembler.add(piece)), Some(Ok(Some(UnitAnswer::Part(part(bytes))))));
            assert_eq!(assembler.missing().collect::<Vec<_>>(), [8]);
        }
    }

    #[test]
    fn a_unit_that_cannot_be_read_is_answered_by_the_reason() {
        let pieces = UnitAnswer::Unreadable("is missing".to_owned()).into_pieces(3);
        let mut assembler = Assembler::new([3]);
        let answers: Vec<_> = pieces.into_iter().map(|piece| assembler.add(piece)).collect();
        assert_eq!(answers, [Ok(Some(UnitAnswer::Unreadable("is missing".to_owned())))]);
        assert_eq!(assembler.missing().count(), 0);
    }

    #[test]
    fn what_arrives_twice_is_noticed() {
        let pieces = UnitAnswer::Part(part(2 * PIECE_BYTES_MAX)).into_pieces(0);
        let mut assembler = Assembler::new([0]);
        assert_eq!(assembler.add(pieces[0].clone()), Ok(None));
        assert_eq!(assembler.add(pieces[0].clone()), Err(PieceError::Twice(0)));
        let unreadable = UnitAnswer::Unreadable(String::new()).into_pieces(0);
        let mut assembler = Assembler::new([0]);
        assert!(pieces.iter().cloned().all(|piece| assembler.add(piece).is_ok()));
        assert_eq!(assembler.add(pieces[1].clone()), Err(PieceError::Twice(0)));
        assert_eq!(assembler.add(unreadable[0].clone()), Err(PieceError::Twice(0)));
    }

    #[test]
    fn damage_and_unknown_units_are_noticed() {
        let piece = UnitAnswer::Part(part(2 * PIECE_BYTES_MAX)).into_pieces(0).remove(0);
        let added = |piece: Piece| Assembler::new([0]).add(piece);
        let mut changed = piece.clone();
        changed.bytes[5] ^= 1;
        assert_eq!(added(changed), Err(PieceError::Damaged));
        assert_eq!(added(Piece { unit: 1, ..piece.clone() }), Err(PieceError::Unknown(1)));
        assert_eq!(added(Piece { number: 2, ..piece.clone() }), Err(PieceError::Damaged));
        let mut assembler = Assembler::new([0]);
        assert_eq!(assembler.add(piece.clone()), Ok(None));
        assert_eq!(assembler.add(Piece { number: 1, total: 3, ..piece }), Err(PieceError::Damaged));
    }
}
