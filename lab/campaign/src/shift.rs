//! Moves the times in messages of OTLP. A time is a field of eight bytes, so that a message keeps its length.

use crate::CampaignError;
use laggard_wire::{Contents, header};

/// A kind of message: its fields that are times, and those that hold messages with times.
struct Schema {
    times: &'static [u32],
    messages: &'static [(u32, &'static Schema)],
}

const fn inner(messages: &'static [(u32, &'static Schema)]) -> Schema {
    Schema { times: &[], messages }
}

/// `ExportTraceServiceRequest`: resources, scopes, spans with start and end, events with a time.
static TRACES: Schema = inner(&[(1, &RESOURCE_SPANS)]);
static RESOURCE_SPANS: Schema = inner(&[(2, &SCOPE_SPANS)]);
static SCOPE_SPANS: Schema = inner(&[(2, &SPAN)]);
static SPAN: Schema = Schema { times: &[7, 8], messages: &[(11, &EVENT)] };
static EVENT: Schema = Schema { times: &[1], messages: &[] };

/// `ExportMetricsServiceRequest`: resources, scopes, metrics, of any kind, points with start and time.
static METRICS: Schema = inner(&[(1, &RESOURCE_METRICS)]);
static RESOURCE_METRICS: Schema = inner(&[(2, &SCOPE_METRICS)]);
static SCOPE_METRICS: Schema = inner(&[(2, &METRIC)]);
static METRIC: Schema = inner(&[(5, &POINTS), (7, &POINTS), (9, &POINTS), (10, &POINTS), (11, &POINTS)]);
static POINTS: Schema = inner(&[(1, &POINT)]);
static POINT: Schema = Schema { times: &[2, 3], messages: &[] };

/// Content of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Traces,
    Metrics,
}

impl Kind {
    /// The name in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Traces => "traces",
            Kind::Metrics => "metrics",
        }
    }

    /// The path that receives it.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Kind::Traces => "/v1/traces",
            Kind::Metrics => "/v1/metrics",
        }
    }
}

/// A message, moved.
pub(crate) struct Moved {
    pub(crate) bytes: Vec<u8>,
    /// The latest time in it, after the move; `None` without a time.
    pub(crate) latest_ns: Option<i64>,
}

/// Shifts all times of a message by a number of nanoseconds.
///
/// # Errors
/// When it is not a message of this kind.
pub(crate) fn moved(kind: Kind, message: &[u8], by_ns: i64) -> Result<Moved, CampaignError> {
    let schema = match kind {
        Kind::Traces => &TRACES,
        Kind::Metrics => &METRICS,
    };
    let mut out = Moved { bytes: message.to_vec(), latest_ns: None };
    let length = out.bytes.len();
    walk(schema, &mut out, 0..length, by_ns)?;
    Ok(out)
}

fn walk(
    schema: &Schema,
    out: &mut Moved,
    range: std::ops::Range<usize>,
    by_ns: i64,
) -> Result<(), CampaignError> {
    let damaged = || "a message of OTLP is damaged".to_owned();
    let mut time = range.start;
    while time < range.end {
        let header = header(&out.bytes[time..range.end]).ok().flatten().ok_or_else(damaged)?;
        time += header.bytes;
        let length = match header.contents {
            Contents::Varint(_) => 0,
            Contents::Fixed64 => 8,
            Contents::Fixed32 => 4,
            Contents::Bytes(length) => usize::try_from(length).map_err(|_| damaged())?,
            Contents::GroupStart | Contents::GroupEnd => return Err(damaged()),
        };
        let end = time.checked_add(length).filter(|end| *end <= range.end).ok_or_else(damaged)?;
        if header.contents == Contents::Fixed64 && schema.times.contains(&header.field) {
            move_time(out, time..end, by_ns);
        }
        if let Contents::Bytes(_) = header.contents
            && let Some((_, inner)) = schema.messages.iter().find(|(field, _)| *field == header.field)
        {
            walk(inner, out, time..end, by_ns)?;
        }
        time = end;
    }
    Ok(())
}

/// Zero stands for an unknown time.
fn move_time(out: &mut Moved, range: std::ops::Range<usize>, by_ns: i64) {
    let slot = &mut out.bytes[range];
    let Ok(bytes) = <[u8; 8]>::try_from(&*slot) else { return };
    let time = i64::from_le_bytes(bytes);
    if time != 0 {
        let time = time.saturating_add(by_ns);
        slot.copy_from_slice(&time.to_le_bytes());
        out.latest_ns = out.latest_ns.max(Some(time));
    }
}

/// The messages of a file, each after its length in four bytes; one that was not written to its end is left out.
pub(crate) fn messages(mut file: &[u8]) -> Vec<&[u8]> {
    let mut out = Vec::new();
    while let Some((length, rest)) = file.split_first_chunk::<4>() {
        let Some((message, rest)) = rest.split_at_checked(u32::from_be_bytes(*length) as usize) else {
            break;
        };
        out.push(message);
        file = rest;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_wire::put_bytes;

    fn time(field: u8, ns: i64) -> Vec<u8> {
        [&[field << 3 | 1][..], &ns.to_le_bytes()].concat()
    }

    fn nested(fields: &[u64], contents: &[u8]) -> Vec<u8> {
        fields.iter().rev().fold(contents.to_vec(), |inner, field| {
            let mut outer = Vec::new();
            put_bytes(&mut outer, *field, &inner);
            outer
        })
    }

    #[test]
    fn times_of_spans_and_their_events_are_shifted() {
        let span = |by: i64| {
            let event = nested(&[11], &time(1, 150 + by));
            nested(&[1, 2, 2], &[time(7, 100 + by), time(8, 200 + by), event, time(9, 5)].concat())
        };
        let moved = moved(Kind::Traces, &span(0), 1_000).unwrap();
        assert_eq!((moved.bytes, moved.latest_ns), (span(1_000), Some(1_200)));
    }

    #[test]
    fn times_of_points_are_shifted_and_unknown_ones_unchanged() {
        let point = |start: i64, at: i64| {
            nested(&[1, 2, 2, 7, 1], &[time(2, start), time(3, at), time(4, 7)].concat())
        };
        let moved = moved(Kind::Metrics, &point(0, 30), -10).unwrap();
        assert_eq!((moved.bytes, moved.latest_ns), (point(0, 20), Some(20)));
    }

    #[test]
    fn damage_is_an_error() {
        assert!(moved(Kind::Traces, &[0x0a, 0x05, 0x01], 1).is_err());
    }

    #[test]
    fn a_truncated_message_is_dropped() {
        let file = [&[0, 0, 0, 2][..], b"ab", &[0, 0, 0, 3], b"c"].concat();
        assert_eq!(messages(&file), [b"ab"]);
    }
}
