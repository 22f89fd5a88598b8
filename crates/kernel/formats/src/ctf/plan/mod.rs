//! Decode plans: what reading a record comes to, worked out once a class and not once a record.
//!
//! A plan is a list of steps over a position counted in bits from the packet's beginning. Fields that are not requested
//! are merged into skip steps; a fixed-size record that is not requested is one step.

mod compile;
mod print;
mod run;
mod scopes;
mod state;

pub(super) use compile::{Compiler, FieldDecoder};
pub(super) use run::{Cursor, PlanStop, Registers, advanced};

use super::class::{ByteOrder, FieldRole};

/// A number's index among the registers.
pub(super) type Slot = u16;

/// No slot: the value is not stored.
pub(super) const NO_SLOT: Slot = Slot::MAX;

/// The first slot of fields requested by name; earlier ones are the roles'.
pub(super) const FIRST_FIELD: Slot = 16;

/// The first slot of lengths and selectors; earlier slots also record whether they were read.
pub(super) const FIRST_HIDDEN: Slot = 64;

/// The slot of a role.
pub(super) const fn role_slot(role: FieldRole) -> Slot {
    role as Slot
}

pub(super) type Plan = Box<[PlanStep]>;

/// Byte layout of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ValueForm {
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
pub(super) struct NumberPlan {
    /// Bits skipped before it.
    pub(super) ahead: u32,
    pub(super) bits: u8,
    pub(super) form: ValueForm,
    /// Two's complement.
    pub(super) signed: bool,
    /// Whether it advances the clock.
    pub(super) clock: bool,
    /// Its slot.
    pub(super) slot: Slot,
}

/// A repetition count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Repetition {
    /// A constant.
    Fixed(u64),
    /// The value of a register.
    Slot(Slot),
}

/// Values of a selector, the least and the greatest; of signed ones with the sign bit flipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ByteSpan {
    pub(super) first: u64,
    pub(super) last: u64,
}

/// One way on.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) spans: Box<[ByteSpan]>,
    pub(super) plan: Plan,
}

/// One step of a plan.
#[derive(Clone, Debug)]
pub(super) enum PlanStep {
    /// To the next multiple of a number of bits.
    Align(u32),
    /// So many bits on.
    Skip(u64),
    NumberPlan(NumberPlan),
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
    /// A string of a fixed number of bytes.
    Characters {
        count: Repetition,
        slot: Slot,
    },
    /// Elements of fixed size; the last is not padded. `slot` is where they are, if they are numbers of eight bytes that were
    /// requested.
    Elements {
        count: Slot,
        bits: u64,
        stride: u64,
        slot: Slot,
        order: ByteOrder,
    },
    /// Elements of any size.
    Loop {
        count: Repetition,
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
