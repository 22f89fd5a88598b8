//! What keeps a store from working as it should.

use crate::Problem;
use laggard_model::Timestamp;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Problems that are there now, one of a name.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    known: Mutex<BTreeMap<&'static str, Problem>>,
}

/// Whether data are not taken or not answered because of a problem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gravity {
    Blocks,
    Warns,
}

impl Problems {
    /// Notes a problem; one of this name keeps its beginning.
    pub(crate) fn tell(&self, name: &'static str, gravity: Gravity, now: Timestamp, text: String) {
        let mut known = self.known.lock().expect("no thread panics while it holds the lock");
        let since = known.get(name).map_or(now, |earlier| earlier.since);
        if !known.contains_key(name) {
            tracing::warn!(problem = name, "{text}");
        }
        known.insert(name, Problem { name, text, since, blocks: gravity == Gravity::Blocks });
    }

    /// A problem is over.
    pub(crate) fn clear(&self, name: &'static str) {
        let mut known = self.known.lock().expect("no thread panics while it holds the lock");
        if known.remove(name).is_some() {
            tracing::info!(problem = name, "over");
        }
    }

    /// All of them, by name.
    pub(crate) fn list(&self) -> Vec<Problem> {
        let known = self.known.lock().expect("no thread panics while it holds the lock");
        known.values().cloned().collect()
    }
}
