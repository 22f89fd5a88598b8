//! Data that the write-ahead log passes to segments, and which of its records are then no longer needed.

use laggard_engine::{Origins, Samples};
use laggard_model::{Losses, Names, SpanEvent, SpanRow, ThreadRow, TraceId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Closed traces and samples to be written into segments. Committing one makes its rows readable and its
/// [`LogPosition`] valid at the same instant.
#[derive(Clone, Debug, Default)]
pub struct FlushBatch {
    /// Names behind the handles of `spans`; only those that are in use.
    pub names: Names,
    /// Spans by trace, start, span id; call-log records are already converted to spans. A trace's spans are complete
    /// unless it is in `cut`, or was continued after it was idle.
    pub spans: Vec<SpanRow>,
    /// Trace ids as received, if that differs from their display text; sorted by trace.
    pub texts: Vec<(TraceId, Box<str>)>,
    /// Sets of attributes of traces that have any, as text; sorted by trace.
    pub attributes: Vec<(TraceId, Arc<str>)>,
    /// Threads of spans that have one, by [`ThreadRow::key`], distinct.
    pub threads: Vec<ThreadRow>,
    /// Samples, in order of arrival.
    pub samples: Samples,
    /// Events of any spans, tidied.
    pub events: Vec<SpanEvent>,
    /// Losses since the last flush batch: in reading, in converting calls, for lack of memory.
    pub losses: Losses,
    /// Sources of identity and weight of the spans in batches since the last flush batch.
    pub origins: Origins,
    /// Traces of `spans` that were not idle yet: further spans are likely. Sorted.
    pub cut: Vec<TraceId>,
    /// Where replay starts once this flush batch is committed.
    pub position: LogPosition,
}

/// Which records of the write-ahead log are not in segments yet. Records are numbered from 1.
///
/// Replay reads from record `replay_from` on. Whenever it reaches a [`ClosePoint`], it drops the
/// traces closed there. What is open then is exactly what is not in segments.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LogPosition {
    /// The first record that is needed.
    pub replay_from: u64,
    /// The last record whose samples, losses and origins are in segments, and those of all before it.
    pub settled: u64,
    /// Closings at or after `replay_from`, in order.
    pub closings: Vec<ClosePoint>,
}

/// A point at which traces were closed, in terms of records, so that replay closes the same ones.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ClosePoint {
    /// The last record that had been ingested.
    pub head: u64,
    /// Traces whose last record is this or an earlier one were closed.
    pub idle_through: u64,
    /// Traces that were closed although later records had spans of them.
    #[serde(with = "trace_ids", default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<TraceId>,
}

impl Default for LogPosition {
    /// The position of an empty store.
    fn default() -> LogPosition {
        LogPosition { replay_from: 1, settled: 0, closings: Vec::new() }
    }
}

/// Trace ids as hexadecimal text: JSON numbers do not hold 128 bits.
mod trace_ids {
    use laggard_model::TraceId;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(ids: &[TraceId], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(ids.iter().map(|id| id.to_string()))
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<TraceId>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let ids = texts.iter().map(|text| u128::from_str_radix(text, 16).map(TraceId::from_value));
        ids.collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_survives_serialization() {
        let cut = vec![TraceId::from_value(7), TraceId::from_value(u128::MAX)];
        let closing = ClosePoint { head: 9, idle_through: 4, cut };
        let position =
            LogPosition { replay_from: 5, settled: 9, closings: vec![closing, ClosePoint::default()] };
        let text = serde_json::to_string(&position).unwrap();
        assert_eq!(serde_json::from_str::<LogPosition>(&text).unwrap(), position);
    }
}
