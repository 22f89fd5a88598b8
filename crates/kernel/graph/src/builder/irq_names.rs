//! The wait that a hard interrupt ends, by the name of its handler.

use super::settings::IrqName;
use crate::path::WorkerState;
use laggard_model::{KernelTexts, TextId};

/// The rules, with cached results.
#[derive(Debug)]
pub(super) struct IrqNames {
    rules: Vec<IrqName>,
    /// By the name's handle: not looked up yet, or the rules' result.
    known: Vec<Option<Option<WorkerState>>>,
}

impl IrqNames {
    pub(super) fn new(rules: Vec<IrqName>) -> IrqNames {
        IrqNames { rules, known: Vec::new() }
    }

    /// The state of the wait that an interrupt of this name ends, if a rule matches.
    pub(super) fn state(&mut self, name: TextId, texts: &KernelTexts) -> Option<WorkerState> {
        if self.known.len() <= name.index() {
            self.known.resize(name.index() + 1, None);
        }
        *self.known[name.index()].get_or_insert_with(|| {
            let text = texts.text(name).as_bytes();
            self.rules.iter().find(|rule| matches(rule.pattern.as_bytes(), text)).map(|rule| rule.state)
        })
    }
}

/// Whether a text matches the pattern: `*` matches any text, `#` digits. Backtracks only to the last wildcard, so the
/// cost is at most the product of the lengths.
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
    text.iter().take_while(|symbol| symbol.is_ascii_digit()).count()
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
            ("virtio1-req.0", Some(WorkerState::BlockDevice)),
            ("nvme0q3", Some(WorkerState::BlockDevice)),
            ("ahci[0000:00:17.0]", Some(WorkerState::BlockDevice)),
            ("mmc0", Some(WorkerState::BlockDevice)),
            ("virtio12-input.0", Some(WorkerState::Network)),
            ("virtio0-rx", Some(WorkerState::Network)),
            ("enp3s0-TxRx-0", Some(WorkerState::Network)),
            ("wlp2s0", Some(WorkerState::Network)),
            ("mlx5_comp3@pci:0000:3b:00.0", Some(WorkerState::Network)),
            ("i8042", Some(WorkerState::UserInput)),
            ("xhci_hcd", Some(WorkerState::UserInput)),
            ("rtc0", Some(WorkerState::Timer)),
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
