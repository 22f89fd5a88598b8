//! The bit position that is statically known while a plan is compiled.

use super::{NumberPlan, PlanStep, Repetition};

/// Steps with the position they lead to: it is `offset` beyond a multiple of `align` (bits).
#[derive(Debug)]
pub(super) struct Track {
    steps: Vec<PlanStep>,
    /// Bits to be passed over, not yet a step.
    pending: u64,
    align: u32,
    offset: u32,
}

/// Statically known alignment of a position: an offset from a multiple.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KnownAlignment {
    align: u32,
    offset: u32,
}

impl KnownAlignment {
    pub(super) const NOTHING: KnownAlignment = KnownAlignment { align: 1, offset: 0 };
    /// A multiple of every alignment.
    pub(super) const ORIGIN: KnownAlignment =
        KnownAlignment { align: crate::ctf::class::ALIGN_MAX, offset: 0 };
    /// A byte's beginning.
    const BYTE: KnownAlignment = KnownAlignment { align: 8, offset: 0 };

    /// The alignment known when one of two is the case.
    pub(super) fn or(self, other: KnownAlignment) -> KnownAlignment {
        let mut align = self.align.min(other.align);
        while self.offset % align != other.offset % align {
            align /= 2;
        }
        KnownAlignment { align, offset: self.offset % align }
    }
}

impl Track {
    pub(super) fn from(known: KnownAlignment) -> Track {
        Track { steps: Vec::new(), pending: 0, align: known.align, offset: known.offset }
    }

    pub(super) fn known(&self) -> KnownAlignment {
        KnownAlignment { align: self.align, offset: self.offset }
    }

    /// Whether it is at a byte's beginning for certain.
    pub(super) fn at_byte(&self) -> bool {
        self.align >= 8 && self.offset.is_multiple_of(8)
    }

    pub(super) fn align_to(&mut self, align: u32) {
        if align <= self.align {
            let over = self.offset % align;
            if over > 0 {
                self.skip(u64::from(align - over));
            }
            return;
        }
        self.push(PlanStep::Align(align));
        (self.align, self.offset) = (align, 0);
    }

    pub(super) fn skip(&mut self, bits: u64) {
        self.pending = self.pending.saturating_add(bits);
        self.move_by(bits);
    }

    fn move_by(&mut self, bits: u64) {
        self.offset =
            ((u64::from(self.offset) + bits % u64::from(self.align)) % u64::from(self.align)) as u32;
    }

    /// A step that does not move, or after which [`Track::lost`] is called.
    pub(super) fn push(&mut self, step: PlanStep) {
        self.flush();
        self.steps.push(step);
    }

    /// A number; what is pending is passed over by the same step.
    pub(super) fn number(&mut self, number: NumberPlan) {
        let ahead = u32::try_from(self.pending).unwrap_or_else(|_| {
            self.flush();
            0
        });
        self.pending = 0;
        self.move_by(u64::from(number.bits));
        self.steps.push(PlanStep::NumberPlan(NumberPlan { ahead, ..number }));
    }

    /// A text in `bytes` bytes.
    pub(super) fn characters(&mut self, bytes: u64, slot: super::Slot) {
        self.push(PlanStep::Characters { count: Repetition::Fixed(bytes), slot });
        self.move_by(bytes.saturating_mul(8));
    }

    /// The position is only known to be at a byte's beginning, or not at all.
    pub(super) fn lost(&mut self, at_byte: bool) {
        self.set(if at_byte { KnownAlignment::BYTE } else { KnownAlignment::NOTHING });
    }

    pub(super) fn set(&mut self, known: KnownAlignment) {
        (self.align, self.offset) = (known.align, known.offset);
    }

    fn flush(&mut self) {
        if self.pending > 0 {
            self.steps.push(PlanStep::Skip(self.pending));
            self.pending = 0;
        }
    }

    pub(super) fn finish(mut self) -> super::Plan {
        self.flush();
        self.steps.into_boxed_slice()
    }
}
