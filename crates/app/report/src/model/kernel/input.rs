//! The input of a report on kernel traces: files, hosts, clocks, and losses.

use crate::instants::text_if_any;
use crate::{names, numbers};
use laggard_model::{Losses, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// The input and its losses.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct KernelInput {
    /// The traces, in the order given.
    pub traces: Vec<KernelTrace>,
    /// Everything lost, repaired or mistrusted, by cause.
    #[serde(serialize_with = "crate::model::losses")]
    #[schema(value_type = std::collections::BTreeMap<String, crate::LossRow>)]
    pub losses: Losses,
}

/// One trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct KernelTrace {
    /// The file or folder.
    pub path: String,
    /// Its format.
    pub format: String,
    /// The host, when the trace records it.
    pub host: Option<String>,
    /// The kernel's release, when the trace records it.
    pub kernel: Option<String>,
    /// The clock's name; empty when not recorded.
    pub clock: String,
    /// CPUs with events.
    pub cpus: u32,
    /// Events read.
    pub events: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// The first event's instant on the trace's clock.
    pub since_ns: u64,
    /// The last event's.
    pub until_ns: u64,
    /// Calendar time of the first event as text, when the trace records it.
    #[serde(serialize_with = "text_if_any")]
    #[schema(value_type = Option<String>)]
    pub since: Option<Timestamp>,
    /// How its clock was brought to the first trace's, when it was: all instants are on that clock.
    pub aligned: Option<AlignedClock>,
}

/// A clock that packets brought to another host's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct AlignedClock {
    /// How far instants of the two hosts can be wrong against each other, nanoseconds.
    pub bound_ns: u64,
    /// Packets from the first host that it rests on.
    pub packets_from_first: u64,
    /// Packets to the first host that it rests on.
    pub packets_to_first: u64,
}

impl KernelInput {
    /// The input in one sentence.
    pub(crate) fn sentence(&self) -> String {
        let events = self.traces.iter().map(|trace| trace.events).sum();
        let bytes = self.traces.iter().map(|trace| trace.bytes).sum();
        let longest = self.traces.iter().map(|trace| trace.until_ns.saturating_sub(trace.since_ns)).max();
        format!(
            "Read {} from {} ({}{}), {} at most each{}.",
            numbers::counted(events, "event"),
            numbers::counted(self.traces.len() as u64, "trace"),
            numbers::bytes(bytes),
            self.formats(),
            numbers::time(longest.unwrap_or(0)),
            self.hosts(),
        )
    }

    fn formats(&self) -> String {
        let mut formats: Vec<&str> = self.traces.iter().map(|trace| trace.format.as_str()).collect();
        formats.sort_unstable();
        formats.dedup();
        formats.iter().take(6).map(|format| format!(", {}", names::label(format, 30))).collect()
    }

    fn hosts(&self) -> String {
        let mut hosts: Vec<&str> = self.traces.iter().filter_map(|trace| trace.host.as_deref()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        match hosts.as_slice() {
            [] => String::new(),
            [host] => format!(", host {}", names::label(host, 40)),
            several => format!(", {} hosts", several.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_is_summarized_in_a_sentence() {
        let one = KernelTrace {
            format: "trace.dat v7".to_owned(),
            events: 30_374,
            bytes: 1_200_000,
            since_ns: 5,
            until_ns: 2_000_000_005,
            host: Some("vm".to_owned()),
            ..KernelTrace::default()
        };
        let input = KernelInput { traces: vec![one.clone(), one], ..KernelInput::default() };
        assert_eq!(
            input.sentence(),
            "Read 60,748 events from 2 traces (2.4 MB, trace.dat v7), 2.00 s at most each, host vm."
        );
    }
}
