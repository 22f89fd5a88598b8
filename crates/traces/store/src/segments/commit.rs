//! Committing a parcel: which of its traces are stored already, its files, the manifest.

use super::failure::Failure;
use super::layout;
use super::manifest::{Segment, SegmentKind};
use super::plan::{self, Place, TraceRun};
use super::reading::busy;
use super::shared::{JOIN, Shared};
use super::told::Told;
use super::trace_index::TraceIndex;
use super::writing::{Arrival, Behind};
use crate::Parcel;
use laggard_model::Nanos;
use std::sync::Arc;

impl Shared {
    /// Makes a parcel's rows part of what is stored, and its position valid.
    pub(crate) async fn commit(self: &Arc<Self>, parcel: Arc<Parcel>) -> Result<(), Failure> {
        let _one_at_a_time = self.committing.lock().await;
        let sorted = |parcel: &Parcel| parcel.spans.is_sorted_by_key(|row| (row.trace, row.start, row.span));
        debug_assert!(sorted(&parcel), "a parcel's spans are sorted");
        let mut written = self.commit_spans(&parcel).await?;
        let texts = Arc::new(parcel.samples.texts.clone());
        let samples = plan::group_samples(parcel.samples.rows.clone(), self.settings.slice, self.limits);
        written.extend(self.write_samples(&texts, samples, Arrival::now()).await?);
        let told = Told::new(&parcel.losses, &parcel.origins);
        let position = parcel.position.clone();
        self.swap(move |manifest| {
            manifest.position = position;
            manifest.unplaced.merge(&told);
            if let Some(first) = written.first_mut() {
                first.told = std::mem::take(&mut manifest.unplaced);
            }
            manifest.segments.extend(written.into_iter().map(Arc::new));
            Ok(true)
        })
        .await
        .map(|_| ())
    }

    async fn commit_spans(self: &Arc<Self>, parcel: &Arc<Parcel>) -> Result<Vec<Segment>, Failure> {
        if parcel.spans.is_empty() {
            return Ok(Vec::new());
        }
        let runs = Arc::new(plan::runs(&parcel.spans));
        let known = self.segments_near(&runs).await?;
        let (slice, limits) = (self.settings.slice, self.limits);
        let (grouped, of) = (Arc::clone(parcel), Arc::clone(&runs));
        let plan = move || {
            let place = |at: usize| place(&known, &of[at], slice);
            let behind = Behind { names: grouped.names.clone(), texts: grouped.texts.clone() };
            Ok((plan::group(&grouped.spans, &of, limits, place), behind))
        };
        let (groups, behind) = busy(plan).await?;
        self.write_spans(&Arc::new(behind), groups, Arrival::now()).await
    }

    /// Segments that may hold other parts of some traces, with their indexes.
    async fn segments_near(self: &Arc<Self>, runs: &[TraceRun]) -> Result<Vec<Near>, Failure> {
        let since =
            runs.iter().map(|run| run.first).min().expect("a parcel with spans has traces").minus(JOIN);
        let until = runs.iter().map(|run| run.last).max().expect("as above").plus(JOIN);
        let mut near = Vec::new();
        for segment in &self.manifest().segments {
            if segment.kind == SegmentKind::Samples || !segment.meets(since, until) {
                continue;
            }
            match self.index(segment).await {
                Ok(index) => near.push(Near { segment: Arc::clone(segment), index }),
                Err(Failure::Damaged(reason)) => self.quarantine(segment, &reason).await?,
                Err(failure) => return Err(failure),
            }
        }
        near.sort_by_key(|near| (near.segment.slice_ns, near.segment.number));
        Ok(near)
    }
}

/// A segment that may hold parts of traces.
struct Near {
    segment: Arc<Segment>,
    index: Arc<TraceIndex>,
}

/// Traces of which something is stored go beside it, the others into the slice they start in. The filters may
/// take a new trace for a known one; compaction finds out.
fn place(known: &[Near], run: &TraceRun, slice: Nanos) -> Place {
    let (since, until) = (run.first.minus(JOIN), run.last.plus(JOIN));
    let holds = |near: &&Near| {
        let segment = &near.segment;
        segment.meets(since, until) && segment.may_hold(run.trace) && near.index.may_hold(run.trace)
    };
    match known.iter().find(holds) {
        Some(near) => Place { kind: SegmentKind::Late, slice_ns: near.segment.slice_ns },
        None => Place { kind: SegmentKind::Traces, slice_ns: layout::slice_of(run.first, slice) },
    }
}
