//! Rows of a view as they are stored, a part at a time, for a caller that reads at its own pace.

use crate::StoreError;
use crate::segments::{
    LocatedError, Segment, SegmentKind, Selection, SpanBatch, SpanColumn, UnitPlan, locate,
};
use crate::view::{View, ViewReader};
use laggard_engine::{RequestSlice, Samples, SliceFacts, StartRange, UnitId};
use laggard_model::{Losses, SpanEvent, Timestamp, TraceId};
use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A segment that could not be read; what is left is read with [`View::without`].
pub struct UnreadableSegment(LocatedError);

impl fmt::Display for UnreadableSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment {}: {}", self.0.segment.number, self.0.failure)
    }
}

/// Which rows of segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredRows {
    /// Spans, late ones included.
    Spans,
    /// Samples.
    Samples,
    /// Events of spans.
    Events,
}

/// A segment of a view.
pub struct StoredSegment {
    view: View,
    segment: Arc<Segment>,
}

/// The units of some times, planned once, each read when it is needed.
pub struct PlannedUnits {
    view: View,
    plan: UnitPlan,
}

impl View {
    /// Segments with rows of a window (both ends belong to it), and of some traces if these are given; they may hold others, too.
    pub fn segments(
        &self,
        rows: StoredRows,
        window: RangeInclusive<Timestamp>,
        traces: Option<&HashSet<TraceId>>,
    ) -> Vec<StoredSegment> {
        let kinds: &[SegmentKind] = match rows {
            StoredRows::Spans => &[SegmentKind::Traces, SegmentKind::Late],
            StoredRows::Samples => &[SegmentKind::Samples],
            StoredRows::Events => &[SegmentKind::Events],
        };
        let may_hold = |segment: &Segment| {
            traces.is_none_or(|traces| traces.iter().any(|&trace| segment.may_hold(trace)))
        };
        let found = ViewReader::over(self, std::slice::from_ref(&window))
            .segments(kinds, std::slice::from_ref(&window));
        let found = found.into_iter().filter(|segment| may_hold(segment));
        found.map(|segment| StoredSegment { view: self.clone(), segment }).collect()
    }

    /// Plans the units that hold requests of a window; they may hold others, too.
    ///
    /// # Errors
    /// When late spans cannot be read.
    pub async fn plan_units(&self, window: StartRange) -> Result<PlannedUnits, UnreadableSegment> {
        let plan = self.shared.plan_units(&self.manifest, &[window]).await.map_err(UnreadableSegment)?;
        Ok(PlannedUnits { view: self.clone(), plan })
    }

    /// What was set aside of a window before.
    pub fn lost(&self, window: StartRange) -> Losses {
        ViewReader::over(self, &[window]).lost
    }

    /// The view without a segment that is damaged, and what that held. It is set aside, unless another process writes the store.
    ///
    /// # Errors
    /// When it is not damaged: the storage does not answer, or a server has replaced it meanwhile.
    pub async fn without(&self, unreadable: UnreadableSegment) -> Result<(View, Losses), StoreError> {
        let mut reader = ViewReader::over(self, &[]);
        reader.continue_without(unreadable.0).await?;
        Ok((View { shared: reader.shared, manifest: reader.manifest }, reader.lost))
    }
}

impl StoredSegment {
    /// Its number, which no other segment of the view has.
    pub fn number(&self) -> u64 {
        self.segment.number
    }

    /// Rows of every kind in it.
    pub fn rows(&self) -> u64 {
        self.segment.spans + self.segment.samples + self.segment.events
    }

    /// Some columns of its spans, at least these, without copies, of all traces or of some.
    ///
    /// # Errors
    /// When it cannot be read; so of the others.
    pub async fn spans(
        &self,
        columns: &Arc<[SpanColumn]>,
        traces: Option<&Arc<HashSet<TraceId>>>,
    ) -> Result<Vec<SpanBatch>, UnreadableSegment> {
        let read = self.view.shared.span_columns(&self.segment, selection(traces), Arc::clone(columns)).await;
        locate(&self.segment, read).map_err(UnreadableSegment)
    }

    /// Its samples.
    ///
    /// # Errors
    /// As above.
    pub async fn samples(&self) -> Result<Samples, UnreadableSegment> {
        locate(&self.segment, self.view.shared.samples(&self.segment).await).map_err(UnreadableSegment)
    }

    /// Its events, of all traces or of some.
    ///
    /// # Errors
    /// As above.
    pub async fn events(
        &self,
        traces: Option<&Arc<HashSet<TraceId>>>,
    ) -> Result<Vec<SpanEvent>, UnreadableSegment> {
        let read = self.view.shared.events(&self.segment, selection(traces)).await;
        let mut events = locate(&self.segment, read).map_err(UnreadableSegment)?;
        events.dedup();
        Ok(events)
    }
}

fn selection(traces: Option<&Arc<HashSet<TraceId>>>) -> Selection {
    traces.map_or(Selection::All, |traces| Selection::These(Arc::clone(traces)))
}

impl PlannedUnits {
    /// The units. Every request is in one of them.
    pub fn ids(&self) -> impl Iterator<Item = UnitId> + '_ {
        self.plan.ids()
    }

    /// The requests of a unit; without their calls, only whom they are of, when, and what is called.
    ///
    /// # Errors
    /// When a segment cannot be read.
    pub async fn requests(
        &self,
        unit: UnitId,
        with_calls: bool,
    ) -> Result<Arc<RequestSlice>, UnreadableSegment> {
        let read = self.view.shared.unit_slice(&self.plan, unit, with_calls).await;
        read.map(|(_, slice)| slice).map_err(UnreadableSegment)
    }

    /// Facts of reading late spans, which belong to no unit.
    pub fn late_facts(&self) -> SliceFacts {
        self.plan.late().notes()
    }
}
