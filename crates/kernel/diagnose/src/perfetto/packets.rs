//! Packets of a Perfetto trace. Field numbers are those of Perfetto's published schema: `trace_packet.proto`,
//! `clock_snapshot.proto`, `track_descriptor.proto`, `track_event.proto`, and `debug_annotation.proto`.

use laggard_model::{ClockMap, KernelTime};
use laggard_wire::{put_bytes, put_fixed64, put_integer};
use std::io::{self, Write};

/// The one sequence of packets; 0 is not allowed.
const SEQUENCE: u64 = 1;

/// `SEQ_INCREMENTAL_STATE_CLEARED`: nothing before it is needed.
const STATE_CLEARED: u64 = 1;

const REALTIME: u64 = 1;
const MONOTONIC: u64 = 3;
const MONOTONIC_RAW: u64 = 5;
const BOOTTIME: u64 = 6;

/// `ChildTracksOrdering.EXPLICIT`: by rank.
const BY_RANK: u64 = 3;

/// A track of the trace, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TrackId(u64);

/// An event of a track.
#[derive(Clone, Copy, Debug)]
pub(super) enum EventType {
    Begin = 1,
    End = 2,
    Instant = 3,
}

/// The value of an argument.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ArgumentValue {
    Text(String),
    Number(u64),
    Flag(bool),
}

/// What an event shows when it is selected: a name and a value.
pub(super) type Argument = (&'static str, ArgumentValue);

/// Which end of a flow an event is.
#[derive(Clone, Copy, Debug)]
pub(super) enum FlowEnd {
    From(u64),
    To(u64),
}

/// The contents of an event.
#[derive(Clone, Debug, Default)]
pub(super) struct EventContents {
    pub(super) category: &'static str,
    pub(super) name: String,
    pub(super) arguments: Vec<Argument>,
    pub(super) flow: Option<FlowEnd>,
}

/// Writes packets, each as soon as it is complete.
pub(super) struct PacketWriter<'o> {
    out: &'o mut dyn Write,
    tracks: u64,
    packet: Vec<u8>,
}

impl<'o> PacketWriter<'o> {
    /// Begins a trace: the clock of all times, and its relation to calendar time at `from`.
    pub(super) fn begin(
        out: &'o mut dyn Write,
        clock: &str,
        calendar: Option<ClockMap>,
        from: KernelTime,
    ) -> io::Result<PacketWriter<'o>> {
        let mut writer = PacketWriter { out, tracks: 0, packet: Vec::new() };
        let id = clock_id(clock);
        let mut clocks = Vec::new();
        let mut add = |id: u64, ns: u64| {
            let mut clock = Vec::new();
            put_integer(&mut clock, 1, id);
            put_integer(&mut clock, 2, ns);
            put_bytes(&mut clocks, 1, &clock);
        };
        add(id, from.ns());
        if let Some(calendar) = calendar.filter(|_| id != REALTIME) {
            add(REALTIME, from.ns().wrapping_add_signed(calendar.offset_ns()));
        }
        // Times of packets without a clock are on this one.
        put_integer(&mut clocks, 2, id);
        let mut fields = Vec::new();
        put_integer(&mut fields, 13, STATE_CLEARED);
        put_integer(&mut fields, 87, 1);
        put_bytes(&mut fields, 6, &clocks);
        writer.put(Some(from), &fields)?;
        Ok(writer)
    }

    /// A track, or a group of tracks, with a name. Groups list their tracks in the order in which they are made.
    pub(super) fn named_track(&mut self, name: &str, group: Option<TrackId>) -> io::Result<TrackId> {
        let mut fields = Vec::new();
        put_bytes(&mut fields, 2, name.as_bytes());
        match group {
            Some(TrackId(group)) => {
                put_integer(&mut fields, 5, group);
                put_integer(&mut fields, 12, self.tracks);
            }
            None => put_integer(&mut fields, 11, BY_RANK),
        }
        self.track(&fields)
    }

    /// The name of a process.
    pub(super) fn process(&mut self, pid: u32, name: &str) -> io::Result<TrackId> {
        let mut process = Vec::new();
        put_integer(&mut process, 1, pid.into());
        put_bytes(&mut process, 6, name.as_bytes());
        let mut fields = Vec::new();
        put_bytes(&mut fields, 3, &process);
        self.track(&fields)
    }

    /// The track of a thread.
    pub(super) fn thread(&mut self, pid: u32, tid: u32, name: &str) -> io::Result<TrackId> {
        let mut thread = Vec::new();
        put_integer(&mut thread, 1, pid.into());
        put_integer(&mut thread, 2, tid.into());
        put_bytes(&mut thread, 5, name.as_bytes());
        let mut fields = Vec::new();
        put_bytes(&mut fields, 4, &thread);
        self.track(&fields)
    }

    fn track(&mut self, fields: &[u8]) -> io::Result<TrackId> {
        self.tracks += 1;
        let mut descriptor = Vec::new();
        put_integer(&mut descriptor, 1, self.tracks);
        descriptor.extend_from_slice(fields);
        let mut packet = Vec::new();
        put_bytes(&mut packet, 60, &descriptor);
        self.put(None, &packet)?;
        Ok(TrackId(self.tracks))
    }

    /// A slice of a track that contains no others.
    pub(super) fn slice(
        &mut self,
        track: TrackId,
        from: KernelTime,
        to: KernelTime,
        contents: &EventContents,
    ) -> io::Result<()> {
        self.event(track, EventType::Begin, from, contents)?;
        self.event(track, EventType::End, to, &EventContents::default())
    }

    /// An event of a track. Slices of a track nest: the last one that began ends first.
    pub(super) fn event(
        &mut self,
        TrackId(track): TrackId,
        event_type: EventType,
        time: KernelTime,
        contents: &EventContents,
    ) -> io::Result<()> {
        let mut event = Vec::new();
        put_integer(&mut event, 9, event_type as u64);
        put_integer(&mut event, 11, track);
        if !contents.name.is_empty() {
            put_bytes(&mut event, 22, contents.category.as_bytes());
            put_bytes(&mut event, 23, contents.name.as_bytes());
        }
        for (name, value) in &contents.arguments {
            let mut annotation = Vec::new();
            put_bytes(&mut annotation, 10, name.as_bytes());
            match value {
                ArgumentValue::Text(text) => put_bytes(&mut annotation, 6, text.as_bytes()),
                ArgumentValue::Number(number) => put_integer(&mut annotation, 3, *number),
                ArgumentValue::Flag(flag) => put_integer(&mut annotation, 2, (*flag).into()),
            }
            put_bytes(&mut event, 4, &annotation);
        }
        match contents.flow {
            Some(FlowEnd::From(flow)) => put_fixed64(&mut event, 47, flow),
            Some(FlowEnd::To(flow)) => put_fixed64(&mut event, 48, flow),
            None => {}
        }
        let mut fields = Vec::new();
        put_bytes(&mut fields, 11, &event);
        self.put(Some(time), &fields)
    }

    /// Writes one packet (`Trace.packet`).
    fn put(&mut self, time: Option<KernelTime>, fields: &[u8]) -> io::Result<()> {
        self.packet.clear();
        if let Some(time) = time {
            put_integer(&mut self.packet, 8, time.ns());
        }
        put_integer(&mut self.packet, 10, SEQUENCE);
        self.packet.extend_from_slice(fields);
        let mut framed = Vec::with_capacity(self.packet.len() + 6);
        put_bytes(&mut framed, 1, &self.packet);
        self.out.write_all(&framed)
    }
}

/// Perfetto's number of a clock by the name that the trace has for it. Clocks that Perfetto does not know are given as its default.
fn clock_id(name: &str) -> u64 {
    match name {
        "mono" | "monotonic" => MONOTONIC,
        "mono_raw" => MONOTONIC_RAW,
        "realtime" => REALTIME,
        _ => BOOTTIME,
    }
}
