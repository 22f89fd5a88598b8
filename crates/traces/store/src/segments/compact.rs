//! Compaction: few large segments out of many small ones, and late spans back to their traces.

use super::failure::Failure;
use super::late::{At, at};
use super::layout;
use super::manifest::{Manifest, Segment, SegmentKind};
use super::plan::{self, Place};
use super::ranges::{TraceRange, ranges};
use super::reading::{Selection, busy};
use super::shared::{JOIN, Shared, delete};
use super::spans_file::SpanTable;
use super::told::Told;
use super::writing::{Arrival, Behind};
use laggard_engine::Samples;
use laggard_model::{Timestamp, TraceId};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Small segments of a slice that still grows are merged when there are so many.
const SMALL_MAX: usize = 8;

/// Segments that become others.
struct Work {
    kind: SegmentKind,
    inputs: Vec<Arc<Segment>>,
}

/// The segments of one slice.
#[derive(Default)]
struct Slice {
    traces: Vec<Arc<Segment>>,
    late: Vec<Arc<Segment>>,
    samples: Vec<Arc<Segment>>,
}

impl Shared {
    /// Does one piece of compaction, the oldest there is.
    pub(crate) async fn compact(self: &Arc<Self>) -> Result<bool, Failure> {
        let _one_at_a_time = self.maintaining.lock().await;
        self.sweep().await;
        let manifest = self.manifest();
        let mut slices: BTreeMap<i64, Slice> = BTreeMap::new();
        for segment in &manifest.segments {
            let slice = slices.entry(segment.slice_ns).or_default();
            match segment.kind {
                SegmentKind::Traces => slice.traces.push(Arc::clone(segment)),
                SegmentKind::Late => slice.late.push(Arc::clone(segment)),
                SegmentKind::Samples => slice.samples.push(Arc::clone(segment)),
            }
        }
        let newest = self.newest_ns();
        for (start, slice) in slices {
            let done = match self.work(start, slice, newest).await {
                Ok(None) => continue,
                Ok(Some(work)) => self.rewrite(&manifest, work).await,
                Err(failed) => Err(failed),
            };
            return match done {
                Ok(()) => Ok(true),
                Err(At { segment, failure: Failure::Damaged(reason) }) => {
                    self.quarantine(&segment, &reason).await?;
                    Ok(true)
                }
                Err(At { failure, .. }) => Err(failure),
            };
        }
        Ok(false)
    }

    /// What there is to do in a slice.
    async fn work(&self, start: i64, slice: Slice, newest: i64) -> Result<Option<Work>, At> {
        let length = i64::try_from(self.settings.slice.ns()).unwrap_or(i64::MAX);
        // Spans of a slice come for about as long as the slice itself is; then it is left in peace.
        let closed = newest >= start.saturating_add(length).saturating_add(length);
        let rested = |late: &Arc<Segment>| newest >= late.newest_ns.saturating_add(length);
        if slice.late.len() >= SMALL_MAX || (closed && slice.late.iter().any(rested)) {
            let mut inputs = self.holders(&slice).await?;
            inputs.extend(slice.late);
            return Ok(Some(Work::new(SegmentKind::Traces, inputs)));
        }
        let limits = self.limits;
        let enough = |small: &[Arc<Segment>]| small.len() >= SMALL_MAX || (closed && small.len() >= 2);
        let small = smallest(slice.traces, limits.spans_max, |segment| segment.spans);
        if enough(&small) {
            return Ok(Some(Work::new(SegmentKind::Traces, small)));
        }
        let small = smallest(slice.samples, limits.samples_max, |segment| segment.samples);
        Ok(enough(&small).then(|| Work::new(SegmentKind::Samples, small)))
    }

    /// Segments of a slice that have spans of its late traces.
    async fn holders(&self, slice: &Slice) -> Result<Vec<Arc<Segment>>, At> {
        let traces = Arc::new(self.traces_of(&slice.late).await?);
        let mut found = Vec::new();
        for segment in &slice.traces {
            let index = at(segment, self.index(segment).await)?;
            if traces.iter().any(|&trace| segment.may_hold(trace) && index.may_hold(trace)) {
                found.push(Arc::clone(segment));
            }
        }
        Ok(found)
    }

    async fn traces_of(&self, late: &[Arc<Segment>]) -> Result<HashSet<TraceId>, At> {
        let mut traces = HashSet::new();
        for segment in late {
            let table = at(segment, self.spans(segment, Selection::All).await)?;
            traces.extend(table.rows.iter().map(|row| row.trace));
        }
        Ok(traces)
    }

    /// Writes segments with the rows of others, and makes them valid in their place.
    async fn rewrite(&self, manifest: &Manifest, work: Work) -> Result<(), At> {
        tracing::debug!(segments = work.inputs.len(), kind = ?work.kind, "compaction begins");
        let written = match work.kind {
            SegmentKind::Samples => self.rewrite_samples(&work.inputs).await?,
            _ => self.rewrite_spans(manifest, &work.inputs).await?,
        };
        let mut told = Told::default();
        work.inputs.iter().for_each(|segment| told.merge(&segment.told));
        let numbers: HashSet<u64> = work.inputs.iter().map(|segment| segment.number).collect();
        let files: Vec<_> =
            written.iter().flat_map(|segment| segment.files.keys().map(|&kind| segment.path(kind))).collect();
        let replace = move |manifest: &mut Manifest| {
            let there = |segment: &&Arc<Segment>| numbers.contains(&segment.number);
            if manifest.segments.iter().filter(there).count() < numbers.len() {
                return Ok(false);
            }
            manifest.segments.retain(|segment| !numbers.contains(&segment.number));
            let mut written = written;
            match written.first_mut() {
                Some(first) => first.told = told,
                None => manifest.unplaced.merge(&told),
            }
            manifest.segments.extend(written.into_iter().map(Arc::new));
            Ok(true)
        };
        // One of the inputs was set aside meanwhile: what was written may hold its rows, but nobody names it.
        if !at(&work.inputs[0], self.swap(replace).await)? {
            delete(&*self.objects, files).await;
        }
        tracing::debug!("compaction ended");
        Ok(())
    }

    async fn rewrite_samples(&self, inputs: &[Arc<Segment>]) -> Result<Vec<Segment>, At> {
        let mut all = Samples::default();
        for segment in inputs {
            let samples = at(segment, self.samples(segment).await)?;
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
        at(&inputs[0], self.write_samples(&Arc::new(all.texts), groups, Arrival::of(inputs)).await)
    }

    async fn rewrite_spans(&self, manifest: &Manifest, inputs: &[Arc<Segment>]) -> Result<Vec<Segment>, At> {
        let mut indexes = Vec::new();
        for segment in inputs {
            indexes.push(at(segment, self.index(segment).await)?);
        }
        let mut written = Vec::new();
        for range in ranges(&indexes, self.limits.spans_max as u64) {
            written.extend(self.rewrite_range(manifest, inputs, range).await?);
        }
        Ok(written)
    }

    async fn rewrite_range(
        &self,
        manifest: &Manifest,
        inputs: &[Arc<Segment>],
        range: TraceRange,
    ) -> Result<Vec<Segment>, At> {
        let mut tables = Vec::new();
        let mut late = HashSet::new();
        for segment in inputs {
            let wanted = Selection::Between(range.min, range.max);
            let table = at(segment, self.spans(segment, wanted).await)?;
            if segment.kind == SegmentKind::Late {
                late.extend(table.rows.iter().map(|row| row.trace));
            }
            tables.push(table);
        }
        let table = at(&inputs[0], busy(move || Ok(SpanTable::merge(tables))).await)?;
        let elsewhere = self.elsewhere(manifest, inputs, late, &table).await?;
        let (slice, limits) = (self.settings.slice, self.limits);
        let plan = move || {
            let runs = plan::runs(&table.rows);
            let place = |at: usize| match elsewhere.get(&runs[at].trace) {
                Some(&slice_ns) => Place { kind: SegmentKind::Late, slice_ns },
                None => {
                    let slice_ns = layout::slice_of(runs[at].first, slice);
                    Place { kind: SegmentKind::Traces, slice_ns }
                }
            };
            let groups = plan::group(&table.rows, &runs, limits, place);
            Ok((groups, Behind { names: table.names, texts: table.texts }))
        };
        let (groups, behind) = at(&inputs[0], busy(plan).await)?;
        at(&inputs[0], self.write_spans(&Arc::new(behind), groups, Arrival::of(inputs)).await)
    }

    /// Late traces of which a segment of traces that is not among the inputs has spans, with the start of its
    /// slice: they stay late, and wait for that slice.
    async fn elsewhere(
        &self,
        manifest: &Manifest,
        inputs: &[Arc<Segment>],
        late: HashSet<TraceId>,
        table: &SpanTable,
    ) -> Result<HashMap<TraceId, i64>, At> {
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
            let near = |trace: &&TraceId| {
                let (since, until) = extents[*trace];
                segment.may_hold(**trace) && segment.meets(since, until)
            };
            let wanted: HashSet<TraceId> = late.iter().filter(near).copied().collect();
            if wanted.is_empty() {
                continue;
            }
            let there = at(segment, self.spans(segment, Selection::These(Arc::new(wanted))).await)?;
            found.extend(there.rows.iter().map(|row| (row.trace, segment.slice_ns)));
        }
        Ok(found)
    }
}

/// The smallest segments that fit into one together: merging them leaves fewer, so that compaction finds an end.
fn smallest(
    mut segments: Vec<Arc<Segment>>,
    rows_max: usize,
    rows: impl Fn(&Segment) -> u64,
) -> Vec<Arc<Segment>> {
    segments.sort_by_key(|segment| (rows(segment), segment.number));
    let mut room = rows_max as u64;
    let fits = segments.iter().take_while(|segment| match room.checked_sub(rows(segment)) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    });
    let count = fits.count();
    segments.truncate(count);
    segments
}

impl Work {
    /// Inputs in the order in which their rows arrived, each once.
    fn new(kind: SegmentKind, mut inputs: Vec<Arc<Segment>>) -> Work {
        inputs.sort_by_key(|segment| (segment.order, segment.number));
        inputs.dedup_by_key(|segment| segment.number);
        Work { kind, inputs }
    }
}
