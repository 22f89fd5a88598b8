//! Runs plans over the bytes of a packet.

use super::print::{Print, Printed};
use super::{Branch, ByteOrder, FIRST_HIDDEN, NO_SLOT, NumberPlan, PlanStep, Repetition, Slot, ValueForm};

/// Why a plan stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ctf) enum PlanStop {
    /// The bytes at hand end before.
    Short,
    /// The bytes are not a record of this class.
    Malformed,
}

/// A position in the bytes of a packet, with the clock as of there.
#[derive(Clone, Copy, Debug)]
pub(in crate::ctf) struct Cursor<'a> {
    /// Bytes from a position on that is a multiple of every alignment.
    pub(in crate::ctf) bytes: &'a [u8],
    /// Bits from there.
    pub(in crate::ctf) at: u64,
    /// Bits that may be read; not more than there are.
    pub(in crate::ctf) end: u64,
    /// The clock in cycles.
    pub(in crate::ctf) clock: u64,
    /// Steps that may still be made. Some take no bits, so that without a limit a short packet with long metadata
    /// would take forever.
    pub(in crate::ctf) effort: u64,
}

/// Values read. A text is stored as its offset (upper half) and its length (lower half).
#[derive(Debug, Default)]
pub(in crate::ctf) struct Registers {
    slots: Vec<u64>,
    /// Which of the slots before [`FIRST_HIDDEN`] were read.
    pub(in crate::ctf) present: u64,
    /// Fields as text.
    pub(in crate::ctf) printed: Printed,
    /// The byte order of the numbers in arrays.
    array_order: ByteOrder,
}

impl Registers {
    /// Registers with this number of slots.
    pub(in crate::ctf) fn with_slots(slots: usize) -> Registers {
        Registers { slots: vec![0; slots.max(usize::from(FIRST_HIDDEN))], ..Registers::default() }
    }

    /// Forgets what was read of the last record into slots from `first` on.
    #[inline]
    pub(in crate::ctf) fn forget_from(&mut self, first: Slot) {
        self.present &= (1 << first) - 1;
    }

    pub(in crate::ctf) fn forget_text(&mut self) {
        self.printed.clear();
    }

    /// The value of a slot before [`FIRST_HIDDEN`], when it was read.
    #[inline]
    pub(in crate::ctf) fn get(&self, slot: Slot) -> Option<u64> {
        (self.present >> slot & 1 != 0).then(|| self.slots[usize::from(slot)])
    }

    /// The bytes of a text in a slot before [`FIRST_HIDDEN`], up to its first zero byte.
    #[inline]
    pub(in crate::ctf) fn text<'a>(&self, slot: Slot, bytes: &'a [u8]) -> &'a [u8] {
        self.get(slot).map_or(&[], |position| text_at(position, bytes))
    }

    /// An array of numbers of eight bytes in a slot before [`FIRST_HIDDEN`].
    pub(in crate::ctf) fn array<'a>(
        &self,
        slot: Slot,
        bytes: &'a [u8],
    ) -> impl Iterator<Item = u64> + use<'a> {
        let position = self.get(slot).unwrap_or(0);
        let (from, length) = ((position >> 32) as usize, (position & 0xffff_ffff) as usize);
        let is_big = self.array_order == ByteOrder::Big;
        bytes.get(from..from + length).unwrap_or_default().chunks_exact(8).map(move |number| {
            let number = number.try_into().unwrap_or_default();
            if is_big { u64::from_be_bytes(number) } else { u64::from_le_bytes(number) }
        })
    }

    #[inline]
    fn set(&mut self, slot: Slot, value: u64) {
        if slot == NO_SLOT {
            return;
        }
        if slot < FIRST_HIDDEN {
            self.present |= 1 << slot;
        }
        self.slots[usize::from(slot)] = value;
    }

    #[inline]
    fn value(&self, slot: Slot) -> u64 {
        self.slots[usize::from(slot)]
    }
}

#[inline]
fn text_at(position: u64, bytes: &[u8]) -> &[u8] {
    let (from, length) = ((position >> 32) as usize, (position & 0xffff_ffff) as usize);
    let text = bytes.get(from..from + length).unwrap_or_default();
    memchr::memchr(0, text).map_or(text, |end| &text[..end])
}

/// The clock when its low `bits` bits become `value`: it never goes back, so it has wrapped at most once.
#[inline]
pub(in crate::ctf) fn advanced(clock: u64, value: u64, bits: u32) -> u64 {
    if bits >= 64 {
        return value;
    }
    let mask = (1u64 << bits) - 1;
    let moved = (clock & !mask) | (value & mask);
    if moved < clock { moved.wrapping_add(mask + 1) } else { moved }
}

impl<'a> Cursor<'a> {
    /// Runs a plan.
    ///
    /// # Errors
    /// When the bytes end before the plan, or do not fit it; the registers then hold some of both records.
    #[inline]
    pub(in crate::ctf) fn run(
        &mut self,
        plan: &[PlanStep],
        registers: &mut Registers,
    ) -> Result<(), PlanStop> {
        self.effort = self.effort.checked_sub(plan.len() as u64).ok_or(PlanStop::Malformed)?;
        for step in plan {
            match step {
                PlanStep::NumberPlan(number) => self.number(number, registers)?,
                PlanStep::Skip(bits) => self.skip(*bits)?,
                PlanStep::Align(align) => self.align(*align)?,
                PlanStep::Characters { count, slot } => self.characters(*count, *slot, registers)?,
                PlanStep::Text { slot } => self.text(*slot, registers)?,
                PlanStep::Select { slot, flip, branches, otherwise } => {
                    match selected(branches, registers.value(*slot) ^ flip) {
                        Some(branch) => self.run_inner(&branch.plan, registers)?,
                        None if *otherwise => {}
                        None => return Err(PlanStop::Malformed),
                    }
                }
                other => self.rare(other, registers)?,
            }
        }
        Ok(())
    }

    // Its own function so that the outer plan is inlined where it is run, and only branches recurse.
    fn run_inner(&mut self, plan: &[PlanStep], registers: &mut Registers) -> Result<(), PlanStop> {
        self.run(plan, registers)
    }

    fn rare(&mut self, step: &PlanStep, registers: &mut Registers) -> Result<(), PlanStop> {
        match step {
            PlanStep::Leb { signed, clock, slot } => self.leb(*signed, *clock, *slot, registers),
            PlanStep::Elements { count, bits, stride, slot, order } => {
                let (from, elements) = ((self.at / 8) as usize, registers.value(*count));
                if let Some(but_one) = elements.checked_sub(1) {
                    self.skip(stride.saturating_mul(but_one).saturating_add(*bits))?;
                }
                registers.set(*slot, position(from, elements.saturating_mul(stride / 8) as usize));
                registers.array_order = *order;
                Ok(())
            }
            PlanStep::Loop { count, body } => self.repeat(*count, body, registers),
            PlanStep::Print(print) => {
                self.print(print, registers);
                Ok(())
            }
            _ => unreachable!("the steps that `run` does itself"),
        }
    }

    /// Elements that take no bits read nothing new: the first is all of them.
    fn repeat(
        &mut self,
        count: Repetition,
        body: &[PlanStep],
        registers: &mut Registers,
    ) -> Result<(), PlanStop> {
        for _ in 0..times(count, registers) {
            let before = self.at;
            self.run_inner(body, registers)?;
            if self.at == before {
                break;
            }
        }
        Ok(())
    }

    #[inline]
    fn skip(&mut self, bits: u64) -> Result<(), PlanStop> {
        let end = self.at.saturating_add(bits);
        if end > self.end {
            return Err(PlanStop::Short);
        }
        self.at = end;
        Ok(())
    }

    #[inline]
    pub(in crate::ctf) fn align(&mut self, align: u32) -> Result<(), PlanStop> {
        let mask = u64::from(align) - 1;
        self.skip(self.at.wrapping_neg() & mask)
    }

    #[inline]
    fn number(&mut self, number: &NumberPlan, registers: &mut Registers) -> Result<(), PlanStop> {
        let from = self.at + u64::from(number.ahead);
        let to = from + u64::from(number.bits);
        if to > self.end {
            return Err(PlanStop::Short);
        }
        self.at = to;
        let raw = self.read(number.form, from, u32::from(number.bits));
        if number.clock {
            self.clock = advanced(self.clock, raw, u32::from(number.bits));
        }
        let unused = 64 - u32::from(number.bits);
        registers
            .set(number.slot, if number.signed { ((raw << unused) as i64 >> unused) as u64 } else { raw });
        Ok(())
    }

    /// Available bits.
    #[inline]
    fn read(&self, form: ValueForm, from: u64, bits: u32) -> u64 {
        let bytes = &self.bytes[(from / 8) as usize..];
        match form {
            ValueForm::Byte => u64::from(bytes[0]),
            ValueForm::Le2 => u64::from(u16::from_le_bytes(first(bytes))),
            ValueForm::Le4 => u64::from(u32::from_le_bytes(first(bytes))),
            ValueForm::Le8 => u64::from_le_bytes(first(bytes)),
            ValueForm::Be2 => u64::from(u16::from_be_bytes(first(bytes))),
            ValueForm::Be4 => u64::from(u32::from_be_bytes(first(bytes))),
            ValueForm::Be8 => u64::from_be_bytes(first(bytes)),
            ValueForm::BitsLe => bits_le(bytes, (from % 8) as u32, bits),
            ValueForm::BitsBe => bits_be(bytes, (from % 8) as u32, bits),
        }
    }

    fn leb(
        &mut self,
        signed: bool,
        clock: bool,
        slot: Slot,
        registers: &mut Registers,
    ) -> Result<(), PlanStop> {
        self.align(8)?;
        let mut value = 0u64;
        let mut shift = 0u32;
        loop {
            let from = (self.at / 8) as usize;
            self.skip(8)?;
            let byte = self.bytes[from];
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                if signed && shift < 64 && byte & 0x40 != 0 {
                    value |= u64::MAX << shift;
                }
                break;
            }
            if shift > 70 {
                return Err(PlanStop::Malformed);
            }
        }
        if clock {
            self.clock = advanced(self.clock, value, shift);
        }
        registers.set(slot, value);
        Ok(())
    }

    #[inline]
    fn text(&mut self, slot: Slot, registers: &mut Registers) -> Result<(), PlanStop> {
        let from = (self.at / 8) as usize;
        let rest = self.bytes.get(from..(self.end / 8) as usize).ok_or(PlanStop::Short)?;
        let length = memchr::memchr(0, rest).ok_or(PlanStop::Short)?;
        self.at += 8 * (length as u64 + 1);
        registers.set(slot, position(from, length));
        Ok(())
    }

    #[inline]
    fn characters(
        &mut self,
        count: Repetition,
        slot: Slot,
        registers: &mut Registers,
    ) -> Result<(), PlanStop> {
        let count = times(count, registers);
        let from = (self.at / 8) as usize;
        self.skip(count.saturating_mul(8))?;
        registers.set(slot, position(from, count as usize));
        Ok(())
    }

    fn print(&self, print: &Print, registers: &mut Registers) {
        let Registers { slots, printed, .. } = registers;
        match print {
            Print::NumberPlan { name, slot, how } => {
                printed.number(name.as_deref(), slots[usize::from(*slot)], *how)
            }
            Print::Text { name, slot } => {
                printed.text(name.as_deref(), text_at(slots[usize::from(*slot)], self.bytes));
            }
            Print::Open { name } => printed.open(name.as_deref()),
            Print::Close => printed.close(),
        }
    }
}

#[inline]
fn times(count: Repetition, registers: &Registers) -> u64 {
    match count {
        Repetition::Fixed(count) => count,
        Repetition::Slot(slot) => registers.value(slot),
    }
}

/// Windows are smaller than 4 GiB.
#[inline]
fn position(from: usize, length: usize) -> u64 {
    (from as u64) << 32 | (length as u64 & 0xffff_ffff)
}

#[inline]
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("checked against the end")
}

#[inline]
fn selected(branches: &[Branch], value: u64) -> Option<&Branch> {
    branches.iter().find(|branch| branch.spans.iter().any(|span| (span.first..=span.last).contains(&value)))
}

/// `bits` bits, the first at bit `from` (0 to 7) of the first byte, counted from the least significant.
#[inline]
fn bits_le(bytes: &[u8], from: u32, bits: u32) -> u64 {
    if let Some(word) = bytes.first_chunk().filter(|_| from + bits <= 64) {
        return (u64::from_le_bytes(*word) >> from) << (64 - bits) >> (64 - bits);
    }
    let count = (from + bits).div_ceil(8) as usize;
    let word = bytes[..count].iter().rev().fold(0u128, |word, &byte| word << 8 | u128::from(byte));
    mask(word >> from, bits)
}

/// The same, counted from the most significant.
#[inline]
fn bits_be(bytes: &[u8], from: u32, bits: u32) -> u64 {
    if let Some(word) = bytes.first_chunk().filter(|_| from + bits <= 64) {
        return u64::from_be_bytes(*word) << from >> (64 - bits);
    }
    let count = (from + bits).div_ceil(8);
    let word = bytes[..count as usize].iter().fold(0u128, |word, &byte| word << 8 | u128::from(byte));
    mask(word >> (8 * count - from - bits), bits)
}

fn mask(value: u128, bits: u32) -> u64 {
    (value & ((1u128 << bits) - 1)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bit by bit, as the specification says it.
    fn slowly(bytes: &[u8], from: u32, bits: u32, big_endian: bool) -> u64 {
        let bit = |index: u32| match big_endian {
            false => u64::from(bytes[(index / 8) as usize] >> (index % 8) & 1),
            true => u64::from(bytes[(index / 8) as usize] >> (7 - index % 8) & 1),
        };
        (0..bits).fold(0, |value, index| match big_endian {
            false => value | bit(from + index) << index,
            true => value << 1 | bit(from + index),
        })
    }

    proptest! {
        #[test]
        fn bit_fields_match_bitwise_reading(bytes: [u8; 12], from in 0_u32..8, bits in 1_u32..=64, length in 9_usize..=12) {
            let needed = (from + bits).div_ceil(8) as usize;
            for bytes in [&bytes[..needed], &bytes[..length.max(needed)]] {
                prop_assert_eq!(bits_le(bytes, from, bits), slowly(bytes, from, bits, false));
                prop_assert_eq!(bits_be(bytes, from, bits), slowly(bytes, from, bits, true));
            }
        }
    }

    #[test]
    fn a_clock_of_few_bits_wraps_once() {
        assert_eq!(advanced(0x1_0000_0005, 6, 32), 0x1_0000_0006);
        assert_eq!(advanced(0x1_0000_0005, 5, 32), 0x1_0000_0005);
        assert_eq!(advanced(0x1_0000_0005, 4, 32), 0x2_0000_0004);
        assert_eq!(advanced(0x7ff_ffff, 0, 27), 0x800_0000);
        assert_eq!(advanced(9, 4, 64), 4);
        assert_eq!(advanced(u64::MAX, 0, 32), 0);
    }
}
