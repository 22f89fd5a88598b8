//! The span table after reading: rows in buckets, sorted by trace, ready for assembly.

use crate::trace_attributes::TraceAttributes;
use laggard_model::{Losses, Names, ReplicaSource, SpanRow, TailSampler, Timestamp, TraceId, WeightSource};
use std::collections::HashMap;

/// All spans of a data set: in buckets by trace id, each bucket sorted by trace, start and span id.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    pub(crate) names: Names,
    pub(crate) buckets: Vec<Vec<SpanRow>>,
    pub(crate) texts: HashMap<TraceId, Box<str>>,
    pub(crate) attributes: TraceAttributes,
    pub(crate) losses: Losses,
    pub(crate) identities: [u64; ReplicaSource::ALL.len()],
    pub(crate) weight_sources: [u64; WeightSource::ALL.len()],
    pub(crate) tail_samplers: [u64; TailSampler::ALL.len()],
    pub(crate) call_records: u64,
    pub(crate) outside_window: u64,
    pub(crate) thinning_factor: u64,
}

/// The id of a trace as received, for display.
#[derive(Clone, Copy, Debug)]
pub struct TraceText<'a>(pub(crate) &'a Traces, pub(crate) TraceId);

impl std::fmt::Display for TraceText<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.texts.get(&self.1) {
            Some(text) => f.write_str(text),
            None => self.1.fmt(f),
        }
    }
}

impl Traces {
    pub(crate) fn without_rows(&self) -> Traces {
        Traces {
            names: self.names.clone(),
            buckets: Vec::new(),
            texts: self.texts.clone(),
            attributes: TraceAttributes::default(),
            losses: self.losses.clone(),
            ..*self
        }
    }

    /// Names behind the rows' handles.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The rows, by bucket.
    pub fn buckets(&self) -> &[Vec<SpanRow>] {
        &self.buckets
    }

    /// Attributes of the traces, in handles of the table's names.
    pub fn attributes(&self) -> &TraceAttributes {
        &self.attributes
    }

    /// Losses of reading; assembling adds its own.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Rows in the table.
    pub fn spans(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.len() as u64).sum()
    }

    /// Call-log records read.
    pub fn call_records(&self) -> u64 {
        self.call_records
    }

    /// Spans that were dropped because they are far outside the requested window.
    pub fn outside_window(&self) -> u64 {
        self.outside_window
    }

    /// 1, or 2, 4, 8, … when only one in this many traces was retained to stay within the memory limit.
    pub fn thinning_factor(&self) -> u64 {
        self.thinning_factor
    }

    /// Spans by what identified their replica; sources without a span are left out.
    pub fn identities(&self) -> impl Iterator<Item = (ReplicaSource, u64)> + '_ {
        ReplicaSource::ALL.into_iter().zip(self.identities).filter(|&(_, spans)| spans > 0)
    }

    /// Spans by the source of their adjusted count; sources without a span are left out, and so are spans
    /// without sampling attributes.
    pub fn weight_sources(&self) -> impl Iterator<Item = (WeightSource, u64)> + '_ {
        let counted = |&(source, spans): &(WeightSource, u64)| spans > 0 && source != WeightSource::Unknown;
        WeightSource::ALL.into_iter().zip(self.weight_sources).filter(counted)
    }

    /// Spans by the tail sampler that left its mark on them; samplers without a span are left out.
    pub fn tail_samplers(&self) -> impl Iterator<Item = (TailSampler, u64)> + '_ {
        TailSampler::ALL.into_iter().zip(self.tail_samplers).filter(|&(_, spans)| spans > 0)
    }

    /// The id of a trace as received.
    pub fn trace_text(&self, trace: TraceId) -> TraceText<'_> {
        TraceText(self, trace)
    }

    /// Start of the earliest and the latest span, each on its own clock; `None` without spans.
    pub fn extent(&self) -> Option<(Timestamp, Timestamp)> {
        let starts = self.buckets.iter().flatten().map(|row| row.start);
        Some((starts.clone().min()?, starts.max()?))
    }
}
