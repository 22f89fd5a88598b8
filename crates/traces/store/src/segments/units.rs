//! Units of some times, read one after the other: only a few of them are in memory at once.

use super::error::SegmentError;
use super::late::{LateSpans, LocatedError, decoded_at_once, locate};
use super::manifest::{Manifest, Segment, SegmentKind};
use super::ranges::TraceRange;
use super::reader::busy;
use super::shared::SegmentsInner;
use crate::{SentRound, StoreError, StoreWorkers};
use futures::StreamExt;
use laggard_engine::{Gathering, GatheringError, RequestSlice, StartRange, UnitFold, UnitId, encode_part};
use laggard_model::TraceId;
use std::collections::HashSet;
use std::sync::Arc;

/// The units of some times.
pub(crate) struct UnitPlan {
    late: LateSpans,
    /// Ranges of traces with late spans, and of split ones.
    ranges: Vec<TraceRange>,
    /// All of these traces.
    late_traces: Arc<HashSet<TraceId>>,
    /// By number.
    segments: Vec<Arc<Segment>>,
}

/// Why units cannot be folded over.
pub(crate) enum UnitsError {
    Segment(LocatedError),
    Gathering(GatheringError),
    /// What went wrong with the processes that compute units.
    Workers(String),
}

impl From<LocatedError> for UnitsError {
    fn from(error: LocatedError) -> UnitsError {
        UnitsError::Segment(error)
    }
}

impl From<GatheringError> for UnitsError {
    fn from(error: GatheringError) -> UnitsError {
        UnitsError::Gathering(error)
    }
}

impl UnitPlan {
    /// Late spans near the times.
    pub(crate) fn late(&self) -> &LateSpans {
        &self.late
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = UnitId> + Clone + '_ {
        let late = (0..self.ranges.len() as u64).map(UnitId::LateTraces);
        late.chain(self.segments.iter().map(|segment| UnitId::Segment(segment.number)))
    }

    /// Whether a unit is one of them.
    pub(crate) fn has(&self, unit: UnitId) -> bool {
        match unit {
            UnitId::LateTraces(range) => range < self.ranges.len() as u64,
            UnitId::Segment(number) => {
                self.segments.binary_search_by_key(&number, |segment| segment.number).is_ok()
            }
        }
    }

    /// A manifest from which the same units are planned.
    fn manifest(&self, all: &Manifest, times: &[StartRange]) -> Manifest {
        let nearby = all.meeting(SegmentKind::Traces, &LateSpans::joined(times));
        let mut segments: Vec<_> =
            self.late.segments().chain(&self.segments).chain(&nearby).cloned().collect();
        segments.sort_unstable_by_key(|segment| segment.number);
        segments.dedup_by_key(|segment| segment.number);
        Manifest { segments, ..Manifest::empty() }
    }

    fn segment(&self, number: u64) -> &Arc<Segment> {
        let found = self.segments.binary_search_by_key(&number, |segment| segment.number);
        &self.segments[found.expect("the ids of units are of the plan's segments")]
    }
}

impl SegmentsInner {
    /// Plans the units of some times. Of late spans, only the ids of their traces stay in memory.
    pub(crate) async fn plan_units(
        &self,
        manifest: &Manifest,
        times: &[StartRange],
    ) -> Result<UnitPlan, LocatedError> {
        let late = self.late_spans_near(manifest, times).await?;
        let ranges = self.late_ranges(&late).await?;
        let mut late_traces = HashSet::new();
        for &range in &ranges {
            late_traces.extend(self.late_spans(&late, range).await?.1);
        }
        let segments = manifest.meeting(SegmentKind::Traces, times);
        Ok(UnitPlan { late, ranges, late_traces: Arc::new(late_traces), segments })
    }

    /// Folds over all units of a plan at workers. A unit that they cannot read is read here, for the error that names its segment.
    pub(crate) async fn fold_units_at<F: UnitFold + 'static>(
        &self,
        workers: &StoreWorkers,
        (plan, manifest, times): (&UnitPlan, &Manifest, &[StartRange]),
        fold: &Arc<F>,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<F::Partial, UnitsError> {
        let failed = |error: StoreError| UnitsError::Workers(error.to_string());
        let sent = SentRound::encode(&workers.folders, &**fold, times, &plan.manifest(manifest, times));
        let units: Vec<UnitId> = plan.ids().collect();
        let mut gathering = Gathering::new(&**fold, units.iter().copied());
        let (mut done, all) = (0, units.len() as u64);
        let mut deliver = |part: Vec<u8>| {
            gathering.deliver(&part).map_err(|error| error.to_string())?;
            done += 1;
            progress(done, all);
            Ok(())
        };
        let computing = workers.workers.compute(sent.map_err(failed)?, &units, &mut deliver);
        let unreadable = computing.await.map_err(UnitsError::Workers)?;
        if let Some((unit, reason)) = unreadable.into_iter().next() {
            self.part(plan, unit, fold).await?;
            return Err(UnitsError::Workers(format!(
                "{unit} can be read here, but not at a worker: {reason}"
            )));
        }
        gathering.finish().map_err(|error| UnitsError::Workers(error.to_string()))
    }

    /// Folds over all units of a plan, a few at a time.
    pub(crate) async fn fold_units<F: UnitFold + 'static>(
        &self,
        plan: &UnitPlan,
        fold: &Arc<F>,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<F::Partial, UnitsError> {
        let mut gathering = Gathering::new(&**fold, plan.ids());
        let parts: Vec<_> = plan.ids().map(|unit| self.part(plan, unit, fold)).collect();
        let (mut done, all) = (0, parts.len() as u64);
        let mut parts = futures::stream::iter(parts).buffer_unordered(decoded_at_once());
        while let Some(part) = parts.next().await {
            gathering.deliver(&part?)?;
            done += 1;
            progress(done, all);
        }
        Ok(gathering.finish()?)
    }

    /// The encoded partial result of a unit.
    pub(crate) async fn part<F: UnitFold + 'static>(
        &self,
        plan: &UnitPlan,
        unit: UnitId,
        fold: &Arc<F>,
    ) -> Result<Vec<u8>, LocatedError> {
        let (about, slice) = self.unit_slice(plan, unit, F::NEEDS_CALLS).await?;
        let fold = Arc::clone(fold);
        let job = move || Ok(encode_part(&*fold, &[unit], &fold.unit(&slice)));
        locate(about, busy(job).await)
    }

    /// The requests of a unit, and the segment that an error about them names.
    pub(crate) async fn unit_slice<'a>(
        &self,
        plan: &'a UnitPlan,
        unit: UnitId,
        with_calls: bool,
    ) -> Result<(&'a Arc<Segment>, Arc<RequestSlice>), LocatedError> {
        match unit {
            UnitId::LateTraces(range) => {
                let read = self.late_range(&plan.late, plan.ranges[range as usize]).await?;
                let about = plan.late.first().expect("ranges are of late spans");
                Ok((about, Arc::new(read.assembled)))
            }
            UnitId::Segment(number) => {
                let segment = plan.segment(number);
                let slice = locate(segment, self.segment_unit(plan, segment, with_calls).await)?;
                Ok((segment, slice))
            }
        }
    }

    /// The requests of a segment whose traces are complete in it.
    async fn segment_unit(
        &self,
        plan: &UnitPlan,
        segment: &Segment,
        with_calls: bool,
    ) -> Result<Arc<RequestSlice>, SegmentError> {
        let has_late = !plan.late_traces.is_empty() && plan.late.is_holder(segment);
        match (with_calls, has_late) {
            (true, false) => self.slice_once(segment).await,
            (true, true) => self.slice_without(segment, &plan.late_traces).await,
            (false, false) => self.slice_without_calls(segment).await,
            (false, true) => {
                let mut slice = Arc::unwrap_or_clone(self.slice_without_calls(segment).await?);
                slice.requests.retain(|request| !plan.late_traces.contains(&request.trace));
                Ok(Arc::new(slice))
            }
        }
    }
}
