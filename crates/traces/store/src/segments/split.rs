//! Traces of which several writers have spans. Each of them stored its part as a trace of its own.
//!
//! Every trace of a segment has a request, so that the ids of the requests of two segments tell which traces they share.

use super::combined::writer_and_number;
use super::late::{LateSpans, LocatedError, decoded_at_once, locate};
use super::manifest::{Manifest, Segment, SegmentKind};
use super::shared::{JOIN, SegmentsInner};
use futures::StreamExt;
use laggard_engine::StartRange;
use laggard_model::TraceId;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// A segment with so many times the spans of another one has its index asked for the traces of that.
const UNEVEN: u64 = 16;
/// Bytes of an entry of the cache beside its traces, about.
const ENTRY_BYTES: usize = 128;

impl SegmentsInner {
    /// Late spans, and traces split across writers, near any of some times.
    pub(crate) async fn late_spans_near(
        &self,
        manifest: &Manifest,
        times: &[StartRange],
    ) -> Result<LateSpans, LocatedError> {
        let late = LateSpans::near_any(manifest, times);
        let nearby = manifest.meeting(SegmentKind::Traces, &LateSpans::joined(times));
        let split = self.split_traces(&nearby).await?;
        Ok(late.with_split(split, nearby))
    }

    /// Traces that segments of several writers share, ascending. What two segments share is cached: others come and go.
    async fn split_traces(&self, segments: &[Arc<Segment>]) -> Result<Arc<Vec<TraceId>>, LocatedError> {
        let mut by_start = segments.to_vec();
        by_start.sort_by_key(|segment| (segment.first(), segment.number));
        let mut found = Vec::new();
        let (mut compared, mut to_read) = (HashSet::new(), BTreeSet::new());
        for pair in pairs(&by_start) {
            if let Some(known) = self.split.get(&pair.key()) {
                found.extend_from_slice(&known);
            } else if let Some((small, large)) = pair.if_uneven() {
                let traces = self.traces_also_in(small, large).await?;
                found.extend_from_slice(&traces);
                self.put_traces(pair.key(), traces);
            } else {
                compared.insert(pair.key());
                to_read.extend(pair.0.map(|segment| (segment.first(), segment.number)));
            }
        }
        let is_read = |segment: &Arc<Segment>| to_read.contains(&(segment.first(), segment.number));
        let read: Vec<Arc<Segment>> = by_start.iter().filter(|segment| is_read(segment)).cloned().collect();
        let reads: Vec<_> = read
            .into_iter()
            .map(|segment| async move {
                let traces = self.traces_with_requests(&segment).await?;
                Ok((segment, traces))
            })
            .collect();
        let mut reads = futures::stream::iter(reads).buffered(decoded_at_once());
        let mut earlier: Vec<(Arc<Segment>, Arc<Vec<TraceId>>)> = Vec::new();
        while let Some(read) = reads.next().await {
            let (segment, traces) = read?;
            earlier.retain(|(other, _)| other.last().plus(JOIN) >= segment.first());
            for (other, theirs) in &earlier {
                let key = Pair([other, &segment]).key();
                if compared.contains(&key) {
                    let traces = shared(&traces, theirs);
                    found.extend_from_slice(&traces);
                    self.put_traces(key, Arc::new(traces));
                }
            }
            earlier.push((segment, traces));
        }
        found.sort_unstable();
        found.dedup();
        Ok(Arc::new(found))
    }

    /// Traces of a segment that another one may hold, too: its index is rarely wrong.
    async fn traces_also_in(
        &self,
        segment: &Arc<Segment>,
        other: &Arc<Segment>,
    ) -> Result<Arc<Vec<TraceId>>, LocatedError> {
        let traces = self.traces_with_requests(segment).await?;
        let index = locate(other, self.index(other).await)?;
        let both = traces.iter().filter(|&&trace| other.may_hold(trace) && index.may_hold(trace));
        Ok(Arc::new(both.copied().collect()))
    }

    fn put_traces(&self, key: Arc<[u64]>, traces: Arc<Vec<TraceId>>) {
        let bytes = size_of_val(&traces[..]) + ENTRY_BYTES;
        self.split.put(key, traces, bytes);
    }

    /// Traces of a segment, ascending.
    async fn traces_with_requests(&self, segment: &Arc<Segment>) -> Result<Arc<Vec<TraceId>>, LocatedError> {
        let key: Arc<[u64]> = Arc::new([segment.number]);
        if let Some(known) = self.split.get(&key) {
            return Ok(known);
        }
        let traces = Arc::new(locate(segment, self.request_traces(segment).await)?);
        self.put_traces(key, Arc::clone(&traces));
        Ok(traces)
    }
}

/// Two segments of different writers that may share traces, the one that begins first before the other.
#[derive(Clone, Copy)]
struct Pair<'a>([&'a Arc<Segment>; 2]);

impl<'a> Pair<'a> {
    fn key(self) -> Arc<[u64]> {
        self.0.map(|segment| segment.number).into()
    }

    /// The smaller and the larger one, where it takes less to look for the traces of the one in the index of the other than to read
    /// those of both.
    fn if_uneven(self) -> Option<(&'a Arc<Segment>, &'a Arc<Segment>)> {
        let [first, second] = self.0;
        let (small, large) = if first.spans < second.spans { (first, second) } else { (second, first) };
        (small.spans < large.spans / UNEVEN).then_some((small, large))
    }
}

/// The pairs among segments that are ordered by their start.
fn pairs(by_start: &[Arc<Segment>]) -> impl Iterator<Item = Pair<'_>> {
    by_start.iter().enumerate().flat_map(|(index, segment)| {
        let until = segment.last().plus(JOIN);
        let later = by_start[index + 1..].iter().take_while(move |other| other.first() <= until);
        let of_others = later.filter(|other| writer_of(other) != writer_of(segment));
        of_others.map(move |other| Pair([segment, other]))
    })
}

fn writer_of(segment: &Segment) -> usize {
    writer_and_number(segment.number).0
}

/// What is in both of two ascending lists.
fn shared(left: &[TraceId], right: &[TraceId]) -> Vec<TraceId> {
    let (mut left, mut right) = (left, right);
    let mut found = Vec::new();
    while let (Some(first), Some(second)) = (left.first(), right.first()) {
        match first.cmp(second) {
            Ordering::Less => left = &left[1..],
            Ordering::Greater => right = &right[1..],
            Ordering::Equal => {
                found.push(*first);
                (left, right) = (&left[1..], &right[1..]);
            }
        }
    }
    found
}
