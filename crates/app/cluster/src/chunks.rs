//! Parts as numbered chunks: small enough for a message, and checked when they are put together.

use std::collections::BTreeMap;
use std::fmt;

/// Most bytes of a chunk.
pub(crate) const CHUNK_BYTES_MAX: usize = 1 << 20;

/// Most chunks of a part: 1 GiB. The largest segments have parts of a tenth of that.
const CHUNKS_MAX: u32 = 1 << 10;

/// A chunk of what a worker answers for a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Chunk {
    /// Index of the unit in its round.
    pub(crate) unit: u32,
    /// Which chunk, from 0.
    pub(crate) number: u32,
    /// How many there are; 0 if the unit cannot be read, then the bytes are the reason.
    pub(crate) total: u32,
    /// CRC-32C of the bytes.
    pub(crate) crc32c: u32,
    pub(crate) bytes: Vec<u8>,
}

/// A row that a worker sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum WorkerRow {
    Chunk(Chunk),
    /// It has advanced since its last row; names one of its units.
    Advanced(u32),
}

/// What a worker answers for a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum UnitAnswer {
    /// The encoded partial result.
    Part(Vec<u8>),
    /// Why there is none.
    Unreadable(String),
}

/// Why chunks cannot be put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChunkError {
    /// Other bytes than were sent, or numbers that contradict each other.
    Damaged,
    /// A unit that this attempt did not ask for, by its index.
    Unknown(u32),
    /// A chunk of a unit that had arrived before, by the index of the unit.
    Twice(u32),
    /// A part that would have more than [`CHUNKS_MAX`] chunks, by the index of its unit and the number of chunks.
    TooLarge(u32, u32),
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChunkError::Damaged => f.write_str("a chunk of a result is damaged"),
            ChunkError::Unknown(unit) => {
                write!(f, "there is a result of unit {unit}, which was not asked for")
            }
            ChunkError::Twice(unit) => write!(f, "a chunk of the result of unit {unit} arrived twice"),
            ChunkError::TooLarge(unit, chunks) => write!(
                f,
                "the result of unit {unit} is to have {chunks} chunks of {CHUNK_BYTES_MAX} bytes; at most {CHUNKS_MAX} are accepted"
            ),
        }
    }
}

impl UnitAnswer {
    /// The answer for a unit as chunks, at least one. A part that the root would not accept counts as unreadable.
    pub(crate) fn into_chunks(self, unit: u32) -> Vec<Chunk> {
        self.into_chunks_within(unit, CHUNKS_MAX as usize * CHUNK_BYTES_MAX)
    }

    fn into_chunks_within(self, unit: u32, bytes_max: usize) -> Vec<Chunk> {
        let chunk = |number: usize, total: usize, bytes: &[u8]| Chunk {
            unit,
            number: number as u32,
            total: total as u32,
            crc32c: crc32c::crc32c(bytes),
            bytes: bytes.to_vec(),
        };
        match self {
            UnitAnswer::Unreadable(reason) => vec![chunk(0, 0, reason.as_bytes())],
            UnitAnswer::Part(part) if part.is_empty() => vec![chunk(0, 1, &part)],
            UnitAnswer::Part(part) if part.len() > bytes_max => {
                let reason = format!("its result has {} bytes, more than {bytes_max}", part.len());
                vec![chunk(0, 0, reason.as_bytes())]
            }
            UnitAnswer::Part(part) => {
                let total = part.len().div_ceil(CHUNK_BYTES_MAX);
                let chunks = part.chunks(CHUNK_BYTES_MAX).enumerate();
                chunks.map(|(number, bytes)| chunk(number, total, bytes)).collect()
            }
        }
    }
}

/// Puts chunks together, in any order.
#[derive(Debug)]
pub(crate) struct Assembler {
    units: BTreeMap<u32, UnitState>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum UnitState {
    Missing,
    /// How many chunks there are, and those that arrived, by their numbers.
    Begun(u32, BTreeMap<u32, Vec<u8>>),
    Answered,
}

impl Assembler {
    /// Waits for the answers for some units.
    pub(crate) fn new(units: impl IntoIterator<Item = u32>) -> Assembler {
        Assembler { units: units.into_iter().map(|unit| (unit, UnitState::Missing)).collect() }
    }

    /// Adds a chunk; returns the answer that it completes.
    pub(crate) fn add(&mut self, chunk: Chunk) -> Result<Option<UnitAnswer>, ChunkError> {
        if chunk.bytes.len() > CHUNK_BYTES_MAX || crc32c::crc32c(&chunk.bytes) != chunk.crc32c {
            return Err(ChunkError::Damaged);
        }
        let state = self.units.get_mut(&chunk.unit).ok_or(ChunkError::Unknown(chunk.unit))?;
        if chunk.total == 0 {
            return match std::mem::replace(state, UnitState::Answered) {
                UnitState::Missing => {
                    Ok(Some(UnitAnswer::Unreadable(String::from_utf8_lossy(&chunk.bytes).into_owned())))
                }
                _ => Err(ChunkError::Twice(chunk.unit)),
            };
        }
        if chunk.total > CHUNKS_MAX {
            return Err(ChunkError::TooLarge(chunk.unit, chunk.total));
        }
        if *state == UnitState::Missing {
            *state = UnitState::Begun(chunk.total, BTreeMap::new());
        }
        let UnitState::Begun(total, chunks) = state else { return Err(ChunkError::Twice(chunk.unit)) };
        if *total != chunk.total || chunk.number >= *total {
            return Err(ChunkError::Damaged);
        }
        if chunks.insert(chunk.number, chunk.bytes).is_some() {
            return Err(ChunkError::Twice(chunk.unit));
        }
        if chunks.len() < *total as usize {
            return Ok(None);
        }
        let part = std::mem::take(chunks).into_values().collect::<Vec<_>>().concat();
        *state = UnitState::Answered;
        Ok(Some(UnitAnswer::Part(part)))
    }

    /// Units without an answer.
    pub(crate) fn missing(&self) -> impl Iterator<Item = u32> + '_ {
        let missing = self.units.iter().filter(|(_, state)| **state != UnitState::Answered);
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
    fn chunks_in_any_order_are_the_part() {
        for bytes in [0, 1, CHUNK_BYTES_MAX, CHUNK_BYTES_MAX + 1, 3 * CHUNK_BYTES_MAX] {
            let mut chunks = UnitAnswer::Part(part(bytes)).into_chunks(7);
            assert_eq!(chunks.len(), bytes.div_ceil(CHUNK_BYTES_MAX).max(1));
            chunks.reverse();
            let last = chunks.pop();
            let mut assembler = Assembler::new([7, 8]);
            for chunk in chunks {
                assert_eq!(assembler.add(chunk), Ok(None));
            }
            assert_eq!(assembler.missing().collect::<Vec<_>>(), [7, 8]);
            assert_eq!(last.map(|chunk| assembler.add(chunk)), Some(Ok(Some(UnitAnswer::Part(part(bytes))))));
            assert_eq!(assembler.missing().collect::<Vec<_>>(), [8]);
        }
    }

    #[test]
    fn a_unit_that_cannot_be_read_is_answered_by_the_reason() {
        let chunks = UnitAnswer::Unreadable("is missing".to_owned()).into_chunks(3);
        let mut assembler = Assembler::new([3]);
        let answers: Vec<_> = chunks.into_iter().map(|chunk| assembler.add(chunk)).collect();
        assert_eq!(answers, [Ok(Some(UnitAnswer::Unreadable("is missing".to_owned())))]);
        assert_eq!(assembler.missing().count(), 0);
    }

    #[test]
    fn what_arrives_twice_is_noticed() {
        let chunks = UnitAnswer::Part(part(2 * CHUNK_BYTES_MAX)).into_chunks(0);
        let mut assembler = Assembler::new([0]);
        assert_eq!(assembler.add(chunks[0].clone()), Ok(None));
        assert_eq!(assembler.add(chunks[0].clone()), Err(ChunkError::Twice(0)));
        let unreadable = UnitAnswer::Unreadable(String::new()).into_chunks(0);
        let mut assembler = Assembler::new([0]);
        assert!(chunks.iter().cloned().all(|chunk| assembler.add(chunk).is_ok()));
        assert_eq!(assembler.add(chunks[1].clone()), Err(ChunkError::Twice(0)));
        assert_eq!(assembler.add(unreadable[0].clone()), Err(ChunkError::Twice(0)));
    }

    #[test]
    fn damage_and_unknown_units_are_noticed() {
        let chunk = UnitAnswer::Part(part(2 * CHUNK_BYTES_MAX)).into_chunks(0).remove(0);
        let added = |chunk: Chunk| Assembler::new([0]).add(chunk);
        let mut changed = chunk.clone();
        changed.bytes[5] ^= 1;
        assert_eq!(added(changed), Err(ChunkError::Damaged));
        assert_eq!(added(Chunk { unit: 1, ..chunk.clone() }), Err(ChunkError::Unknown(1)));
        assert_eq!(added(Chunk { number: 2, ..chunk.clone() }), Err(ChunkError::Damaged));
        let mut assembler = Assembler::new([0]);
        assert_eq!(assembler.add(chunk.clone()), Ok(None));
        assert_eq!(assembler.add(Chunk { number: 1, total: 3, ..chunk }), Err(ChunkError::Damaged));
    }

    #[test]
    fn a_part_that_would_be_too_large_is_an_error_at_both_sides() {
        let added = |total: u32| {
            let chunk = UnitAnswer::Part(part(1)).into_chunks(0).remove(0);
            Assembler::new([0]).add(Chunk { total, ..chunk })
        };
        assert_eq!(added(CHUNKS_MAX), Ok(None));
        assert_eq!(added(CHUNKS_MAX + 1), Err(ChunkError::TooLarge(0, CHUNKS_MAX + 1)));
        assert_eq!(added(u32::MAX), Err(ChunkError::TooLarge(0, u32::MAX)));
        let bytes = vec![0; CHUNK_BYTES_MAX + 1];
        let large = Chunk { unit: 0, number: 0, total: 1, crc32c: crc32c::crc32c(&bytes), bytes };
        assert_eq!(Assembler::new([0]).add(large), Err(ChunkError::Damaged));
        let sent = |bytes: usize| UnitAnswer::Part(part(bytes)).into_chunks_within(0, 10);
        assert_eq!(sent(10).len(), 1);
        let reason = UnitAnswer::Unreadable("its result has 11 bytes, more than 10".to_owned());
        assert_eq!(Assembler::new([0]).add(sent(11).remove(0)), Ok(Some(reason)));
    }

    #[test]
    fn what_is_allocated_is_what_arrived() {
        let chunk = UnitAnswer::Part(part(1)).into_chunks(0).remove(0);
        let mut assembler = Assembler::new([0]);
        assert_eq!(assembler.add(Chunk { total: CHUNKS_MAX, number: 5, ..chunk }), Ok(None));
        let begun = UnitState::Begun(CHUNKS_MAX, BTreeMap::from([(5, part(1))]));
        assert_eq!(assembler.units.get(&0), Some(&begun));
    }
}
