//! Questions about more requests than fit in memory, in two rounds over units of the stored data.
//!
//! ```text
//! units of a store      round one: Count            the root                   round two: Take
//! segment 7  ─┐  requests and calls by kind   ─┐                       ┌─► requests at these levels ─┐
//! segment 8  ─┼─►  and level of their hash     ─┼─► Levels within a ────┼─►  with all of their calls  ─┼─► Requests
//! late traces ┘                                ─┘   limit of calls      └─►                           ─┘
//! ```
//!
//! A unit's partial result has names of its own and an encoding, so that it does not matter in which thread or process it was made.
//! [`Gathering`] takes each unit exactly once, and merges in the order of the units: what arrives first changes nothing.
//!
//! What is taken are requests with their calls, not tables made of them. The method goes back to single requests (calls that were
//! hit, calls that are missing), and a call is encoded in a fraction of the bytes of its rows in those tables.

mod count;
mod gather;
mod levels;
mod part;
mod take;
mod thinning;

pub use count::{Count, CountedKinds};
pub use gather::{Gathering, GatheringError};
pub(crate) use levels::level;
pub use levels::{CallCount, Levels, incomplete_category};
pub use part::{PartError, encode_part, put_unit, read_unit};
pub use take::{SelectedRequests, Take};
pub use thinning::Thinning;

use crate::RequestSlice;
use laggard_model::Timestamp;
use laggard_wire::{PackedReader, Unpacked, put_difference, put_varint};
use std::fmt;
use std::ops::RangeInclusive;

/// A part of a store that is read at once; its requests are in no other. Ordered as their partial results are merged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum UnitId {
    /// The traces with spans that came late, of one range of trace ids; ranges are numbered from 0.
    LateTraces(u64),
    /// The other traces of a segment, by its number.
    Segment(u64),
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnitId::LateTraces(range) => write!(f, "range {range} of late traces"),
            UnitId::Segment(number) => write!(f, "segment {number}"),
        }
    }
}

/// A computation over units whose partial results can be sent.
///
/// Laws, checked by `contract::check_units`: merging a fresh partial changes nothing; merging is associative; and a partial that was
/// encoded and decoded is as good as the original.
pub trait UnitFold: Send + Sync {
    /// The result for some units; contains no handles but into names of its own.
    type Partial: Send;

    /// Distinguishes the encodings of different folds.
    const KIND: u8;

    /// Whether calls of requests are needed. Without, the columns of calls may be empty.
    const NEEDS_CALLS: bool;

    /// Appends the fold itself, so that another process can compute it.
    fn encode_fold(&self, out: &mut Vec<u8>);

    /// Reads a fold that was appended.
    ///
    /// # Errors
    /// When it cannot have been. Memory stays within a small multiple of the bytes.
    fn decode_fold(from: &mut PackedReader<'_>) -> Unpacked<Self>
    where
        Self: Sized;

    /// A partial that has seen nothing.
    fn start(&self) -> Self::Partial;

    /// The partial of a unit.
    fn unit(&self, slice: &RequestSlice) -> Self::Partial;

    /// Adds the partial of later units to that of earlier ones.
    fn merge(&self, into: &mut Self::Partial, later: Self::Partial);

    /// Appends a partial.
    fn encode(&self, partial: &Self::Partial, out: &mut Vec<u8>);

    /// Reads a partial that was appended.
    ///
    /// # Errors
    /// When it cannot have been. Memory stays within a small multiple of the bytes.
    fn decode(&self, from: &mut PackedReader<'_>) -> Unpacked<Self::Partial>;
}

/// Times of starts, both ends included.
pub type StartRange = RangeInclusive<Timestamp>;

/// Least bytes of encoded times.
const RANGE_BYTES_MIN: usize = 2;

/// Appends some times.
pub fn put_ranges(out: &mut Vec<u8>, ranges: &[StartRange]) {
    put_varint(out, ranges.len() as u64);
    for range in ranges {
        put_difference(out, 0, range.start().unix_ns());
        put_difference(out, 0, range.end().unix_ns());
    }
}

/// Reads times that were appended.
///
/// # Errors
/// When they cannot have been.
pub fn read_ranges(from: &mut PackedReader<'_>) -> Unpacked<Vec<StartRange>> {
    let range = |from: &mut PackedReader<'_>| {
        let (start, end) = (from.difference(0)?, from.difference(0)?);
        Ok(Timestamp::from_unix_ns(start)..=Timestamp::from_unix_ns(end))
    };
    (0..from.count(RANGE_BYTES_MIN)?).map(|_| range(from)).collect()
}
