//! Active problems of a store.

use crate::StoreIssue;
use laggard_model::Timestamp;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Active problems, at most one per name.
#[derive(Debug, Default)]
pub(crate) struct IssueList {
    known: Mutex<BTreeMap<&'static str, StoreIssue>>,
}

/// Whether a problem stops ingestion or queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Severity {
    Blocks,
    Warns,
}

impl IssueList {
    /// Records a problem; an active one of this name keeps its start time.
    pub(crate) fn report(&self, name: &'static str, severity: Severity, now: Timestamp, text: String) {
        let mut known = self.known.lock().expect("no thread panics while it holds the lock");
        let since = known.get(name).map_or(now, |earlier| earlier.since);
        if !known.contains_key(name) {
            tracing::warn!(problem = name, "{text}");
        }
        known.insert(name, StoreIssue { name, text, since, blocks: severity == Severity::Blocks });
    }

    /// Clears a problem.
    pub(crate) fn clear(&self, name: &'static str) {
        let mut known = self.known.lock().expect("no thread panics while it holds the lock");
        if known.remove(name).is_some() {
            tracing::info!(problem = name, "over");
        }
    }

    pub(crate) fn list(&self) -> Vec<StoreIssue> {
        let known = self.known.lock().expect("no thread panics while it holds the lock");
        known.values().cloned().collect()
    }
}
