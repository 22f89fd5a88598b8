//! Counts of wake-ups by pairs of threads.

use laggard_model::{EventKind, KernelEvent, KernelTexts, TextId, Tid};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of pairs counted.
const PAIRS_MAX: usize = 100_000;

/// Wake-ups by the names of waker and woken thread.
#[derive(Debug, Default)]
pub(crate) struct Wakings {
    running: HashMap<u16, (Tid, TextId)>,
    pairs: HashMap<(Waker, TextId), u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Waker {
    Thread(TextId),
    Interrupt,
    Unknown,
}

impl Wakings {
    pub(crate) fn push(&mut self, event: &KernelEvent) {
        let (EventKind::Waking { name, .. } | EventKind::TryToWakeUp { name, .. }) = event.kind else {
            if let EventKind::Switch { next, next_name, .. } = event.kind {
                self.running.insert(event.cpu.0, (next, next_name));
            }
            return;
        };
        let interrupted = event.flags.is_some_and(|flags| flags.hard_irq() || flags.soft_irq());
        let waker = match self.running.get(&event.cpu.0) {
            _ if interrupted => Waker::Interrupt,
            Some(&(tid, name))
                if event.recorded.is_none_or(|recorded| recorded == tid) && tid != Tid::IDLE =>
            {
                Waker::Thread(name)
            }
            _ => Waker::Unknown,
        };
        let key = (waker, name);
        if self.pairs.len() < PAIRS_MAX || self.pairs.contains_key(&key) {
            *self.pairs.entry(key).or_default() += 1;
        }
    }

    /// Counts by the names of waker and woken thread.
    pub(crate) fn counts(&self, texts: &KernelTexts) -> BTreeMap<(String, String), u64> {
        let mut counts = BTreeMap::new();
        for (&(waker, woken), &count) in &self.pairs {
            let waker = match waker {
                Waker::Thread(name) => texts.text(name).to_owned(),
                Waker::Interrupt => "an interrupt".to_owned(),
                Waker::Unknown => "(unknown)".to_owned(),
            };
            *counts.entry((waker, texts.text(woken).to_owned())).or_default() += count;
        }
        counts
    }
}
