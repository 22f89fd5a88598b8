//! A cache of the handles of thread names: the same few names recur.

use laggard_model::{KernelTexts, TextId};

/// Number of cached names, as a power of two. A host has more threads, but few run at one time.
const SLOTS_LOG: u32 = 11;

/// A name as in records: 16 bytes, padded with zeros.
type PaddedName = [u8; 16];

/// Handles of the latest names, by the hash of their bytes.
#[derive(Debug, Default)]
pub(crate) struct ThreadNames {
    /// Empty before the first name: a file may list many CPUs without any name.
    slots: Vec<(PaddedName, TextId)>,
}

impl ThreadNames {
    /// The handle of a name without its padding.
    #[inline]
    pub(crate) fn id(&mut self, name: &[u8], texts: &mut KernelTexts) -> TextId {
        if name.len() > 16 {
            return texts.intern(&String::from_utf8_lossy(name));
        }
        if self.slots.is_empty() {
            self.slots.resize(1 << SLOTS_LOG, (PaddedName::default(), TextId::EMPTY));
        }
        let mut padded = PaddedName::default();
        padded[..name.len()].copy_from_slice(name);
        let value = u128::from_le_bytes(padded);
        let folded = (value as u64) ^ ((value >> 64) as u64).rotate_left(29);
        // Multiplicative hashing (Knuth 6.4): the upper bits of the product are the well mixed ones.
        let product = folded.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.slots[(product >> (64 - SLOTS_LOG)) as usize];
        if slot.0 != padded {
            *slot = (padded, texts.intern(&String::from_utf8_lossy(name)));
        }
        slot.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_handles_of_the_string_table() {
        let (mut names, mut texts) = (ThreadNames::default(), KernelTexts::default());
        for round in 0..2 {
            for number in 0..5000 {
                let name = format!("worker-{number}");
                let id = names.id(name.as_bytes(), &mut texts);
                assert_eq!(texts.text(id), name, "round {round}");
            }
        }
        assert_eq!(texts.len(), 5001);
        assert_eq!(names.id(b"", &mut texts), TextId::EMPTY);
        assert_eq!(
            names.id(b"longer than 16 bytes", &mut texts),
            TextId::EMPTY.max(texts.find("longer than 16 bytes").unwrap())
        );
    }
}
