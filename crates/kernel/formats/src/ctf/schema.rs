//! The metadata of a trace, independent of its language.

use super::class::Class;
use std::collections::{BTreeMap, HashSet};

#[derive(Clone, PartialEq, Debug)]
pub(super) struct CtfClock {
    pub(super) name: String,
    /// Cycles a second.
    pub(super) frequency: u64,
    /// Seconds from the epoch to its origin.
    pub(super) offset_seconds: i64,
    pub(super) offset_cycles: i64,
    /// Whether the offset leads to calendar time, if known.
    pub(super) calendar: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct EventClass {
    /// Its name as the metadata has it.
    pub(super) name: String,
    /// Its own context.
    pub(super) context: Option<Class>,
    /// Its fields.
    pub(super) payload: Option<Class>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct StreamClass {
    pub(super) packet_context: Option<Class>,
    pub(super) event_header: Option<Class>,
    /// The events' common context.
    pub(super) common_context: Option<Class>,
    /// Its events by number.
    pub(super) events: BTreeMap<u64, EventClass>,
    /// The clock of its events, by name.
    pub(super) clock: Option<String>,
}

/// The language of the metadata.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CtfVersion {
    /// CTF 1.8, TSDL.
    One,
    /// CTF 2, JSON.
    Two,
}

/// A trace as its metadata describes it.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    /// The version of its metadata.
    pub(super) version: CtfVersion,
    pub(super) packet_header: Option<Class>,
    /// Its stream classes by number.
    pub(super) streams: BTreeMap<u64, StreamClass>,
    /// Facts on the environment; numbers as text.
    pub(super) environment: BTreeMap<String, String>,
    /// Its clocks by the name that fields use.
    pub(super) clocks: BTreeMap<String, CtfClock>,
    /// Last names of all references: only such fields can be lengths or selectors.
    pub(super) referenced: HashSet<String>,
}

impl Schema {
    /// Nothing known yet.
    pub(super) fn new(version: CtfVersion) -> Schema {
        Schema {
            version,
            packet_header: None,
            streams: BTreeMap::new(),
            environment: BTreeMap::new(),
            clocks: BTreeMap::new(),
            referenced: HashSet::new(),
        }
    }

    /// A fact on the environment, under the first of several names that is there.
    pub(super) fn fact(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.environment.get(*name)).map(String::as_str)
    }
}
