//! Decode plans: what reading a record comes to, worked out once a class and not once a record.
//!
//! A plan is a list of steps over a position counted in bits from the packet's beginning. Fields nobody asks for
//! melt into steps that only move on; a record of fixed size that nobody wants is one step.

mod compile;
mod print;
mod run;
mod scopes;
mod state;

pub(super) use compile::{Compiler, Fields};
pub(super) use run::{Cursor, Registers, Stop, advanced};

use super::class::Role;

/// A number's place among the registers.
pub(super) type Slot = u16;

/// No place: the value is not kept.
pub(super) const NO_SLOT: Slot = Slot::MAX;

/// The first slot of fields asked for by name; those before are the roles'.
pub(super) const FIRST_FIELD: Slot = 16;

/// The first slot of lengths and selectors; whether it was read is told of those before.
pub(super) const FIRST_HIDDEN: Slot = 64;

/// The slot of a role.
pub(super) const fn role_slot(role: Role) -> Slot {
    role as Slot
}

pub(super) type Plan = Box<[Step]>;

/// How the bytes of a number lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// One byte at a byte's beginning.
    Byte,
    /// Two, four or eight bytes at a byte's beginning, least significant first.
    Le2,
    /// As above.
    Le4,
    /// As above.
    Le8,
    /// Most significant first.
    Be2,
    /// As above.
    Be4,
    /// As above.
    Be8,
    /// Any bits, counted from the least significant.
    BitsLe,
    /// Any bits, counted from the most significant.
    BitsBe,
}

/// A number of fixed size, at most 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Number {
    /// Bits passed over before.
    pub(super) ahead: u32,
    pub(super) bits: u8,
    pub(super) form: Form,
    /// Two's complement.
    pub(super) signed: bool,
    /// It moves the clock on.
    pub(super) clock: bool,
    /// Where it is kept.
    pub(super) slot: Slot,
}

/// How often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Times {
    /// Always as often.
    Fixed(u64),
    /// As a register says.
    Slot(Slot),
}

/// Values of a selector, the least and the greatest; of signed ones with the sign bit flipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) last: u64,
}

/// One way on.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) spans: Box<[Span]>,
    pub(super) plan: Plan,
}

/// One step of a plan.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// To the next multiple of so many bits.
    Align(u32),
    /// So many bits on.
    Skip(u64),
    Number(Number),
    /// A number of as many bytes as it says (LEB128).
    Leb {
        signed: bool,
        clock: bool,
        slot: Slot,
    },
    /// A text up to a zero byte.
    Text {
        slot: Slot,
    },
    /// A text in so many bytes.
    Characters {
        count: Times,
        slot: Slot,
    },
    /// Elements of fixed size; the last is not padded.
    Elements {
        count: Slot,
        bits: u64,
        stride: u64,
    },
    /// Elements of any size.
    Loop {
        count: Times,
        body: Plan,
    },
    /// The branch with the register's value; when none has it, nothing, or an error.
    Select {
        slot: Slot,
        flip: u64,
        branches: Box<[Branch]>,
        otherwise: bool,
    },
    /// Writes a field as text.
    Print(print::Print),
}
