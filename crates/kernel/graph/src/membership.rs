//! To which process and control group each thread belongs.

use crate::executions::Threads;
use crate::worker::HostId;
use laggard_model::{ControlGroup, EventKind, HostSnapshot, KernelEvent, KernelTexts, TextId, Tid};
use std::collections::BTreeMap;

/// The processes and control groups of one host: from events, and from what the recorder saw when it began and ended.
#[derive(Debug, Default)]
pub struct Membership {
    pub(crate) threads: Threads,
    /// Control groups that the recorder saw, by their paths.
    pub(crate) groups: BTreeMap<String, ControlGroup>,
    /// Whether it is known which groups have a quota.
    pub(crate) knows_quotas: bool,
    pub(crate) is_known: bool,
}

/// Scope of a CPU quota, if known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum GroupKey {
    /// A control group.
    ControlGroup(HostId, TextId),
    /// A process whose control group is unknown.
    Process(HostId, Tid),
}

impl GroupKey {
    /// The host that it is of.
    pub(crate) fn host(self) -> HostId {
        match self {
            GroupKey::ControlGroup(host, _) | GroupKey::Process(host, _) => host,
        }
    }
}

impl Membership {
    /// Applies an event. Others than those of the life of threads cost nothing.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        use EventKind::{Exec, Fork, Namespace, Other, Statedump};
        if let Fork { .. } | Exec { .. } | Statedump { .. } | Namespace { .. } | Other { .. } = event.kind {
            self.is_known |= matches!(event.kind, Statedump { .. });
            self.threads.push(event, texts);
        }
    }

    /// Adds what the recorder saw, after the last event.
    pub fn add_snapshot(&mut self, snapshot: HostSnapshot) {
        self.is_known |= !snapshot.threads.is_empty();
        self.knows_quotas |= !snapshot.groups.is_empty();
        snapshot.hierarchy.iter().for_each(|&number| self.threads.select_hierarchy(number));
        for thread in &snapshot.threads {
            let group = snapshot.groups.get(thread.group as usize).map_or("", |group| group.path.as_str());
            self.threads.add_seen(thread, group);
        }
        self.groups.extend(snapshot.groups.into_iter().map(|group| (group.path.clone(), group)));
    }

    /// The group, or its nearest parent, that was throttled.
    pub(crate) fn limiting_group(&self, path: &str) -> Option<&str> {
        let mut path = path;
        loop {
            if let Some((path, _)) =
                self.groups.get_key_value(path).filter(|(_, group)| group.was_throttled())
            {
                return Some(path);
            }
            path = path.rsplit_once('/')?.0;
        }
    }
}
