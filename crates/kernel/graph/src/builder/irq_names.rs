//! What a hard interrupt means, by its handler's name.

use super::settings::IrqName;
use crate::path::PieceState;
use laggard_model::{KernelTexts, TextId};

/// The rules, with what they said of names seen before.
#[derive(Debug)]
pub(super) struct IrqNames {
    rules: Vec<IrqName>,
    /// By the name's handle: nothing yet, or what the rules say.
    known: Vec<Option<Option<PieceState>>>,
}

impl IrqNames {
    pub(super) fn new(rules: Vec<IrqName>) -> IrqNames {
        IrqNames { rules, known: Vec::new() }
    }

    /// The state of a wait that an interrupt of this name ends, if a rule knows it.
    pub(super) fn state(&mut self, name: TextId, texts: &KernelTexts) -> Option<PieceState> {
        if self.known.len() <= name.index() {
            self.known.resize(name.index() + 1, None);
        }
        *self.known[name.index()].get_or_insert_with(|| {
            let text = texts.text(name).as_bytes();
            self.rules.iter().find(|rule| matches(rule.pattern.as_bytes(), text)).map(|rule| rule.state)
        })
    }
}

/// Whether a text is of the pattern's form: `*` any text, `#` digits. Goes back only to the last wildcard, so the cost
/// is at most the product of the lengths.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut last_star = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            last_star = Some((p, t));
            p += 1;
        } else if pattern.get(p) == Some(&b'#') && text[t].is_ascii_digit() {
            p += 1;
            t += digits(&text[t..]);
        } else if pattern.get(p) == Some(&text[t]) && text[t] != b'#' {
            p += 1;
            t += 1;
        } else if let Some((star, from)) = last_star {
            last_star = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&rest| rest == b'*')
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|letter| letter.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::GraphSettings;

    #[test]
    fn names_of_common_drivers_are_known() {
        let mut names = IrqNames::new(GraphSettings::default().irq_names);
        let mut texts = KernelTexts::default();
        let cases = [
            ("virtio1-req.0", Some(PieceState::BlockDevice)),
            ("nvme0q3", Some(PieceState::BlockDevice)),
            ("ahci[0000:00:17.0]", Some(PieceState::BlockDevice)),
            ("mmc0", Some(PieceState::BlockDevice)),
            ("virtio12-input.0", Some(PieceState::Network)),
            ("virtio0-rx", Some(PieceState::Network)),
            ("enp3s0-TxRx-0", Some(PieceState::Network)),
            ("wlp2s0", Some(PieceState::Network)),
            ("mlx5_comp3@pci:0000:3b:00.0", Some(PieceState::Network)),
            ("i8042", Some(PieceState::UserInput)),
            ("xhci_hcd", Some(PieceState::UserInput)),
            ("rtc0", Some(PieceState::Timer)),
            ("virtio0-config", None),
            ("virtio-req", None),
            ("acpi", None),
            ("", None),
        ];
        for (name, state) in cases {
            let id = texts.intern(name);
            assert_eq!(names.state(id, &texts), state, "{name}");
            assert_eq!(names.state(id, &texts), state, "{name}, again");
        }
    }

    #[test]
    fn wildcards_find_a_later_match() {
        assert!(matches(b"*req", b"reqreq"));
        assert!(matches(b"a*b*c", b"a-b-bc"));
        assert!(!matches(b"a*b*c", b"a-b-b"));
        assert!(matches(b"*", b""));
        assert!(!matches(b"#", b""));
        assert!(!matches(b"x#y", b"xy"));
        assert!(matches(b"x#y", b"x123y"));
    }
}
