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
pub use levels::{CallCount, Levels, incomplete_category};
pub use part::{PartError, encode_part};
pub use take::{SelectedRequests, Take};
pub use thinning::Thinning;

use crate::RequestSlice;
use laggard_model::Timestamp;
use laggard_wire::{PackedReader, Unpacked};
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
