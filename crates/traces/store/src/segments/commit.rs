//! Committing a flush batch: which of its traces are stored already, its files, the manifest.

use super::error::SegmentError;
use super::import_notes::ImportNotes;
use super::layout;
use super::manifest::{Segment, SegmentKind};
use super::plan::{self, TracePlacement, TraceRun};
use super::reader::busy;
use super::shared::{JOIN, SegmentsInner};
use super::trace_index::FALSE_POSITIVES;
use super::trace_index::TraceIndex;
use super::writer::{Arrival, GroupContext};
use crate::FlushBatch;
use laggard_model::TraceId;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Most traces of a flush batch that are looked up because a filter reports them as known. Each costs the ids of a row group.
const LOOKED_UP_MAX: usize = 256;

impl SegmentsInner {
    /// Makes a flush batch's rows part of what is stored, and its position valid.
    pub(crate) async fn commit(self: &Arc<Self>, batch: Arc<FlushBatch>) -> Result<(), SegmentError> {
        let _one_at_a_time = self.committing.lock().await;
        let sorted =
            |batch: &FlushBatch| batch.spans.is_sorted_by_key(|row| (row.trace, row.start, row.span));
        debug_assert!(sorted(&batch), "a flush batch's spans are sorted");
        let mut written = self.commit_spans(&batch).await?;
        let texts = Arc::new(batch.samples.texts.clone());
        let samples = plan::group_samples(batch.samples.rows.clone(), self.settings.slice, self.limits);
        written.extend(self.write_samples(&texts, samples, Arrival::now()).await?);
        let events = plan::group_events(batch.events.clone(), self.settings.slice, self.limits);
        written.extend(self.write_events(events, Arrival::now()).await?);
        let notes = ImportNotes::new(&batch.losses, &batch.origins);
        let position = batch.position.clone();
        self.swap(move |manifest| {
            manifest.position = position;
            manifest.unplaced.merge(&notes);
            if let Some(first) = written.first_mut() {
                first.notes = std::mem::take(&mut manifest.unplaced);
            }
            manifest.segments.extend(written.into_iter().map(Arc::new));
            Ok(true)
        })
        .await
        .map(|_| ())
    }

    async fn commit_spans(self: &Arc<Self>, batch: &Arc<FlushBatch>) -> Result<Vec<Segment>, SegmentError> {
        if batch.spans.is_empty() {
            return Ok(Vec::new());
        }
        let runs = Arc::new(plan::runs(&batch.spans));
        let known = self.stored_before(&runs).await?;
        let (slice, limits) = (self.settings.slice, self.limits);
        let (grouped, of) = (Arc::clone(batch), Arc::clone(&runs));
        let plan = move || {
            // Traces that are partly stored go into the same slice as their other spans, the others into the slice they start in.
            let placement = |index: usize| match known.get(&of[index].trace) {
                Some(&slice_ns) => TracePlacement { kind: SegmentKind::Late, slice_ns },
                None => {
                    let slice_ns = layout::slice_of(of[index].first, slice);
                    TracePlacement { kind: SegmentKind::Traces, slice_ns }
                }
            };
            let context = GroupContext {
                names: grouped.names.clone(),
                texts: grouped.texts.clone(),
                attributes: grouped.attributes.clone(),
                threads: grouped.threads.clone(),
            };
            Ok((plan::group(&grouped.spans, &of, limits, placement), context))
        };
        let (groups, context) = busy(plan).await?;
        self.write_spans(&Arc::new(context), groups, Arrival::now()).await
    }

    /// Which traces have spans in segments already, with the start of the slice of the first such segment.
    ///
    /// The filters report some new traces as known. As late ones they would cost much more than the lookup: whoever reads the slice,
    /// and compaction, reads all of its spans to complete them. If more are reported than false positives explain, most are late, and the
    /// filters are trusted; so they are if there are too many to look up.
    async fn stored_before(
        self: &Arc<Self>,
        runs: &Arc<Vec<TraceRun>>,
    ) -> Result<HashMap<TraceId, i64>, SegmentError> {
        let nearby = Arc::new(self.segments_near(runs).await?);
        let (segments, traces) = (Arc::clone(&nearby), Arc::clone(runs));
        let reported = busy(move || Ok(reported(&segments, &traces))).await?;
        let count: usize = reported.values().map(HashSet::len).sum();
        let by_chance = runs.len() as f64 * nearby.len() as f64 * FALSE_POSITIVES;
        let looks_up = count <= LOOKED_UP_MAX && count as f64 <= 8.0 + 4.0 * by_chance;
        let mut known = HashMap::new();
        for (index, traces) in reported {
            let segment = &nearby[index].segment;
            let stored = match looks_up {
                true => self.traces_among(segment, traces).await,
                false => Ok(traces),
            };
            match stored {
                Ok(traces) => traces.into_iter().for_each(|trace| {
                    known.entry(trace).or_insert(segment.slice_ns);
                }),
                Err(SegmentError::Damaged(reason)) => self.quarantine(segment, &reason).await?,
                Err(failure) => return Err(failure),
            }
        }
        Ok(known)
    }

    /// Segments that may hold other parts of some traces, with their indexes.
    async fn segments_near(self: &Arc<Self>, runs: &[TraceRun]) -> Result<Vec<NearbySegment>, SegmentError> {
        let since =
            runs.iter().map(|run| run.first).min().expect("a flush batch with spans has traces").minus(JOIN);
        let until = runs.iter().map(|run| run.last).max().expect("as above").plus(JOIN);
        let mut nearby = Vec::new();
        for segment in &self.manifest().segments {
            if !segment.has_spans() || !segment.meets(since, until) {
                continue;
            }
            match self.index(segment).await {
                Ok(index) => nearby.push(NearbySegment { segment: Arc::clone(segment), index }),
                Err(SegmentError::Damaged(reason)) => self.quarantine(segment, &reason).await?,
                Err(failure) => return Err(failure),
            }
        }
        nearby.sort_by_key(|nearby| (nearby.segment.slice_ns, nearby.segment.number));
        Ok(nearby)
    }
}

/// A segment that may hold parts of traces.
struct NearbySegment {
    segment: Arc<Segment>,
    index: Arc<TraceIndex>,
}

/// Traces that segments may hold, by the position of the segment. Runs are sorted by trace, as segments are, so that the filters of a
/// segment are asked one after the other.
fn reported(nearby: &[NearbySegment], runs: &[TraceRun]) -> BTreeMap<usize, HashSet<TraceId>> {
    let by_segment = nearby.iter().enumerate().map(|(position, NearbySegment { segment, index })| {
        let may_hold = |run: &&TraceRun| {
            segment.meets(run.first.minus(JOIN), run.last.plus(JOIN))
                && segment.may_hold(run.trace)
                && index.may_hold(run.trace)
        };
        (position, runs.iter().filter(may_hold).map(|run| run.trace).collect::<HashSet<TraceId>>())
    });
    by_segment.filter(|(_, traces)| !traces.is_empty()).collect()
}
