//! Compaction: few large segments out of many small ones, and late spans back to their traces.

use super::error::SegmentError;
use super::files::delete;
use super::import_notes::ImportNotes;
use super::late::{LocatedError, locate};
use super::layout;
use super::manifest::{Manifest, Segment, SegmentKind};
use super::plan::{self, SegmentLimits, TracePlacement};
use super::ranges::{TraceRange, ranges};
use super::reader::{Selection, busy};
use super::shared::{JOIN, SegmentsInner};
use super::spans_file::SpanTable;
use super::writer::{Arrival, GroupContext};
use laggard_engine::{Origins, Samples};
use laggard_model::{Losses, Timestamp, TraceId, tidy_events};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Small segments of a slice that still grows are merged when there are this many.
const SMALL_MAX: usize = 8;
/// Segments of late spans are merged with the others of a slice that still grows, all of which may have to be written again, when there
/// is one for this many of those: however large the slice becomes, its spans are written a limited number of times.
const TRACES_FOR_LATE: usize = 2;

/// Segments to be merged into new ones.
struct CompactionJob {
    kind: SegmentKind,
    inputs: Vec<Arc<Segment>>,
}

/// The segments of one slice.
#[derive(Default)]
struct SliceSegments {
    traces: Vec<Arc<Segment>>,
    late: Vec<Arc<Segment>>,
    samples: Vec<Arc<Segment>>,
    events: Vec<Arc<Segment>>,
}

impl SegmentsInner {
    /// Runs one compaction job, the oldest one, as large as memory allows now.
    pub(crate) async fn compact(self: &Arc<Self>) -> Result<bool, SegmentError> {
        let free = self.settings.shared.compaction_bytes();
        let Some(limits) = self.limits.with_free_memory(free) else { return Ok(false) };
        let _one_at_a_time = self.maintaining.lock().await;
        self.sweep().await;
        let manifest = self.manifest();
        let mut slices: BTreeMap<i64, SliceSegments> = BTreeMap::new();
        for segment in &manifest.segments {
            let slice = slices.entry(segment.slice_ns).or_default();
            match segment.kind {
                SegmentKind::Traces => slice.traces.push(Arc::clone(segment)),
                SegmentKind::Late => slice.late.push(Arc::clone(segment)),
                SegmentKind::Samples => slice.samples.push(Arc::clone(segment)),
                SegmentKind::Events => slice.events.push(Arc::clone(segment)),
            }
        }
        let newest = self.newest_ns();
        for (start, slice) in slices {
            let done = match self.job(start, slice, newest, limits).await {
                Ok(None) => continue,
                Ok(Some(job)) => self.rewrite(&manifest, job, limits).await,
                Err(failed) => Err(failed),
            };
            return match done {
                Ok(()) => Ok(true),
                Err(LocatedError { segment, failure: SegmentError::Damaged(reason) }) => {
                    self.quarantine(&segment, &reason).await?;
                    Ok(true)
                }
                Err(LocatedError { failure, .. }) => Err(failure),
            };
        }
        Ok(false)
    }

    /// Jobs of a slice.
    async fn job(
        &self,
        start: i64,
        slice: SliceSegments,
        newest: i64,
        limits: SegmentLimits,
    ) -> Result<Option<CompactionJob>, LocatedError> {
        let length = i64::try_from(self.settings.slice.ns()).unwrap_or(i64::MAX);
        // Spans of a slice come for about as long as the slice itself is; then it is left in peace.
        let closed = newest >= start.saturating_add(length).saturating_add(length);
        let rested = |late: &Arc<Segment>| newest >= late.newest_ns.saturating_add(length);
        let many = SMALL_MAX.max(slice.traces.len() / TRACES_FOR_LATE);
        if slice.late.len() >= many || (closed && slice.late.iter().any(rested)) {
            let mut inputs = self.holders(&slice).await?;
            inputs.extend(slice.late);
            return Ok(Some(CompactionJob::new(SegmentKind::Traces, inputs)));
        }
        let enough = |small: &[Arc<Segment>]| small.len() >= SMALL_MAX || (closed && small.len() >= 2);
        let small = smallest(slice.traces, limits.spans_max, |segment| segment.spans);
        if enough(&small) {
            return Ok(Some(CompactionJob::new(SegmentKind::Traces, small)));
        }
        let small = smallest(slice.samples, limits.samples_max, |segment| segment.samples);
        if enough(&small) {
            return Ok(Some(CompactionJob::new(SegmentKind::Samples, small)));
        }
        let small = smallest(slice.events, limits.event_bytes_max, |segment| segment.event_bytes);
        Ok(enough(&small).then(|| CompactionJob::new(SegmentKind::Events, small)))
    }

    /// Segments of a slice that have spans of its late traces.
    async fn holders(&self, slice: &SliceSegments) -> Result<Vec<Arc<Segment>>, LocatedError> {
        let traces = Arc::new(self.traces_of(&slice.late).await?);
        let mut found = Vec::new();
        for segment in &slice.traces {
            let index = locate(segment, self.index(segment).await)?;
            if traces.iter().any(|&trace| segment.may_hold(trace) && index.may_hold(trace)) {
                found.push(Arc::clone(segment));
            }
        }
        Ok(found)
    }

    async fn traces_of(&self, late: &[Arc<Segment>]) -> Result<HashSet<TraceId>, LocatedError> {
        let mut traces = HashSet::new();
        for segment in late {
            let table = locate(segment, self.spans(segment, Selection::All).await)?;
            traces.extend(table.rows.iter().map(|row| row.trace));
        }
        Ok(traces)
    }

    /// Writes segments with the rows of others, and replaces those in the manifest.
    async fn rewrite(
        &self,
        manifest: &Manifest,
        job: CompactionJob,
        limits: SegmentLimits,
    ) -> Result<(), LocatedError> {
        tracing::debug!(segments = job.inputs.len(), kind = ?job.kind, "compaction begins");
        let mut limited = Losses::none();
        let written = match job.kind {
            SegmentKind::Events => self.rewrite_events(&job.inputs, &mut limited).await?,
            SegmentKind::Samples => self.rewrite_samples(&job.inputs).await?,
            _ => self.rewrite_spans(manifest, &job.inputs, limits).await?,
        };
        let mut notes = ImportNotes::new(&limited, &Origins::default());
        job.inputs.iter().for_each(|segment| notes.merge(&segment.notes));
        let numbers: HashSet<u64> = job.inputs.iter().map(|segment| segment.number).collect();
        let files: Vec<_> =
            written.iter().flat_map(|segment| segment.files.keys().map(|&kind| segment.path(kind))).collect();
        let replace = move |manifest: &mut Manifest| {
            let is_present = |segment: &&Arc<Segment>| numbers.contains(&segment.number);
            if manifest.segments.iter().filter(is_present).count() < numbers.len() {
                return Ok(false);
            }
            manifest.segments.retain(|segment| !numbers.contains(&segment.number));
            let mut written = written;
            match written.first_mut() {
                Some(first) => first.notes = notes,
                None => manifest.unplaced.merge(&notes),
            }
            manifest.segments.extend(written.into_iter().map(Arc::new));
            Ok(true)
        };
        // One of the inputs was quarantined meanwhile: what was written may hold its rows, but no manifest names it.
        if !locate(&job.inputs[0], self.swap(replace).await)? {
            delete(&*self.objects, files).await;
        }
        tracing::debug!("compaction ended");
        Ok(())
    }

    async fn rewrite_samples(&self, inputs: &[Arc<Segment>]) -> Result<Vec<Segment>, LocatedError> {
        let mut all = Samples::default();
        for segment in inputs {
            let samples = locate(segment, self.samples(segment).await)?;
            let offset = all.texts.len() as u32;
            all.texts.extend(samples.texts);
            all.rows.extend(samples.rows.into_iter().map(|mut row| {
                [&mut row.server, &mut row.tier, &mut row.transaction, &mut row.callee]
                    .into_iter()
                    .for_each(|text| *text += offset);
                row
            }));
        }
        let groups = plan::group_samples(all.rows, self.settings.slice, self.limits);
        locate(
            &inputs[0],
            self.write_samples(&Arc::new(all.texts), groups, Arrival::from_segments(inputs)).await,
        )
    }

    async fn rewrite_events(
        &self,
        inputs: &[Arc<Segment>],
        losses: &mut Losses,
    ) -> Result<Vec<Segment>, LocatedError> {
        let mut all = Vec::new();
        for segment in inputs {
            all.extend(locate(segment, self.events(segment, Selection::All).await)?);
        }
        tidy_events(&mut all, losses);
        let groups = plan::group_events(all, self.settings.slice, self.limits);
        locate(&inputs[0], self.write_events(groups, Arrival::from_segments(inputs)).await)
    }

    async fn rewrite_spans(
        &self,
        manifest: &Manifest,
        inputs: &[Arc<Segment>],
        limits: SegmentLimits,
    ) -> Result<Vec<Segment>, LocatedError> {
        let mut cuts = Vec::new();
        for segment in inputs {
            cuts.extend(locate(segment, self.index(segment).await)?.cuts());
        }
        let mut written = Vec::new();
        for range in ranges(cuts, limits.spans_max as u64) {
            written.extend(self.rewrite_range(manifest, inputs, range, limits).await?);
        }
        Ok(written)
    }

    async fn rewrite_range(
        &self,
        manifest: &Manifest,
        inputs: &[Arc<Segment>],
        range: TraceRange,
        limits: SegmentLimits,
    ) -> Result<Vec<Segment>, LocatedError> {
        let mut tables = Vec::new();
        let mut late = HashSet::new();
        for segment in inputs {
            let filter = Selection::Between(range.min, range.max);
            let table = locate(segment, self.spans(segment, filter).await)?;
            if segment.kind == SegmentKind::Late {
                late.extend(table.rows.iter().map(|row| row.trace));
            }
            tables.push(table);
        }
        let table = locate(&inputs[0], busy(move || Ok(SpanTable::merge(tables))).await)?;
        let elsewhere = self.elsewhere(manifest, inputs, late, &table).await?;
        let slice = self.settings.slice;
        let plan = move || {
            let runs = plan::runs(&table.rows);
            let placement = |index: usize| match elsewhere.get(&runs[index].trace) {
                Some(&slice_ns) => TracePlacement { kind: SegmentKind::Late, slice_ns },
                None => {
                    let slice_ns = layout::slice_of(runs[index].first, slice);
                    TracePlacement { kind: SegmentKind::Traces, slice_ns }
                }
            };
            let groups = plan::group(&table.rows, &runs, limits, placement);
            let SpanTable { names, texts, attributes, threads, .. } = table;
            Ok((groups, GroupContext { names, texts, attributes, threads }))
        };
        let (groups, context) = locate(&inputs[0], busy(plan).await)?;
        locate(&inputs[0], self.write_spans(&Arc::new(context), groups, Arrival::from_segments(inputs)).await)
    }

    /// Late traces of which a segment of traces that is not among the inputs has spans, with the start of its
    /// slice: they stay late, and wait for that slice.
    async fn elsewhere(
        &self,
        manifest: &Manifest,
        inputs: &[Arc<Segment>],
        late: HashSet<TraceId>,
        table: &SpanTable,
    ) -> Result<HashMap<TraceId, i64>, LocatedError> {
        let mut found = HashMap::new();
        if late.is_empty() {
            return Ok(found);
        }
        let extents: HashMap<TraceId, (Timestamp, Timestamp)> = (plan::runs(&table.rows).into_iter())
            .filter(|run| late.contains(&run.trace))
            .map(|run| (run.trace, (run.first.minus(JOIN), run.last.plus(JOIN))))
            .collect();
        let among = |segment: &Segment| inputs.iter().any(|input| input.number == segment.number);
        for segment in &manifest.segments {
            if segment.kind != SegmentKind::Traces || among(segment) {
                continue;
            }
            let nearby = |trace: &&TraceId| {
                let (since, until) = extents[*trace];
                segment.may_hold(**trace) && segment.meets(since, until)
            };
            let filter: HashSet<TraceId> = late.iter().filter(nearby).copied().collect();
            if filter.is_empty() {
                continue;
            }
            let located = locate(segment, self.traces_among(segment, filter).await)?;
            found.extend(located.into_iter().map(|trace| (trace, segment.slice_ns)));
        }
        Ok(found)
    }
}

/// The smallest segments that fit into one together: merging them reduces their number, so compaction terminates.
fn smallest(
    mut segments: Vec<Arc<Segment>>,
    rows_max: usize,
    rows: impl Fn(&Segment) -> u64,
) -> Vec<Arc<Segment>> {
    segments.sort_by_key(|segment| (rows(segment), segment.number));
    let mut remaining = rows_max as u64;
    let fits = segments.iter().take_while(|segment| match remaining.checked_sub(rows(segment)) {
        Some(rest) => {
            remaining = rest;
            true
        }
        None => false,
    });
    let count = fits.count();
    segments.truncate(count);
    segments
}

impl CompactionJob {
    /// Inputs in the order in which their rows arrived, each once.
    fn new(kind: SegmentKind, mut inputs: Vec<Arc<Segment>>) -> CompactionJob {
        inputs.sort_by_key(|segment| (segment.order, segment.number));
        inputs.dedup_by_key(|segment| segment.number);
        CompactionJob { kind, inputs }
    }
}
