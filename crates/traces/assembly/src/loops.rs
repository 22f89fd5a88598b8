//! Loops among siblings: runs of equal groups collapse to one (algorithms §1.3).

use crate::PERIOD_MAX;
use laggard_model::Fingerprint;

/// Collapses runs among the siblings of one node after another; reuses its buffers, because
/// there is a node for every span.
#[derive(Default)]
pub(crate) struct Loops {
    sequence: Vec<Fingerprint>,
    /// The rest after the periods so far, as indices into `sequence`.
    left: Vec<u32>,
    /// For what is left in the end: its number.
    dense: Vec<u32>,
}

impl Loops {
    /// The slot of each sibling after loops collapse: for period 1, 2, … a group equal to the group before
    /// it takes that group's slots. Slots are dense, and a slot's first use comes in growing order.
    ///
    /// `slots` is as long as `siblings`.
    pub(crate) fn collapse(&mut self, siblings: impl Iterator<Item = Fingerprint>, slots: &mut [u32]) {
        self.sequence.clear();
        self.sequence.extend(siblings);
        self.left.clear();
        self.left.extend(0..self.sequence.len() as u32);
        slots.copy_from_slice(&self.left);
        for period in 1..=PERIOD_MAX.min(self.sequence.len() / 2) {
            self.collapse_period(period, slots);
        }
        if self.left.len() < slots.len() {
            self.number(slots);
        }
    }

    fn collapse_period(&mut self, period: usize, slots: &mut [u32]) {
        let (sequence, left) = (&self.sequence, &mut self.left);
        // Retained entries move to the front, never beyond those still to be examined.
        let (mut retained, mut position) = (0, 0);
        while position < left.len() {
            let repeats = retained >= period
                && position + period <= left.len()
                && (0..period).all(|k| {
                    sequence[left[position + k] as usize] == sequence[left[retained - period + k] as usize]
                });
            if !repeats {
                left[retained] = left[position];
                retained += 1;
                position += 1;
                continue;
            }
            for k in 0..period {
                slots[left[position + k] as usize] = left[retained - period + k];
            }
            position += period;
        }
        left.truncate(retained);
    }

    /// Slots still point at representatives, possibly through several periods; makes them dense.
    fn number(&mut self, slots: &mut [u32]) {
        self.dense.clear();
        self.dense.resize(slots.len(), 0);
        for (number, &representative) in self.left.iter().enumerate() {
            self.dense[representative as usize] = number as u32;
        }
        for index in 0..slots.len() {
            // A representative points at itself or at an earlier sibling, so its own slot is final by now.
            let representative = slots[index] as usize;
            slots[index] = if representative == index { self.dense[index] } else { slots[representative] };
        }
    }
}
