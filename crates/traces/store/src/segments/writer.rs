//! Writing segments: files first, all of them durable; the manifest names them later.

use super::error::SegmentError;
use super::import_notes::ImportNotes;
use super::manifest::{FileKind, Segment, SegmentKind};
use super::merge::in_own_names;
use super::plan::{SampleGroup, SegmentPlan};
use super::reader::busy;
use super::shared::{JOIN, SegmentsInner, wall_clock};
use super::table::EncodedFile;
use super::{calls_file, layout, requests_file, samples_file, spans_file};
use futures::TryStreamExt;
use laggard_engine::{RequestSlice, SliceFacts};
use laggard_model::{Names, SpanRow, TraceId};
use object_store::ObjectStoreExt;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names and texts used by the rows of several groups.
#[derive(Clone, Debug)]
pub(crate) struct GroupContext {
    pub(crate) names: Names,
    /// Sorted by trace.
    pub(crate) texts: Vec<(TraceId, Box<str>)>,
}

/// The fields of a [`Segment`] that do not derive from its rows.
#[derive(Clone, Copy, Debug)]
struct SegmentFields {
    number: u64,
    order: u64,
    arrived_ns: i64,
    newest_ns: i64,
}

/// When rows arrived: rows of existing segments as recorded there, new rows now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    order: Option<u64>,
    arrived_ns: i64,
}

impl Arrival {
    /// Of rows that are written for the first time.
    pub(crate) fn now() -> Arrival {
        Arrival { order: None, arrived_ns: wall_clock().unix_ns() }
    }

    /// The arrival of the rows of segments (at least one), in order of arrival.
    pub(crate) fn from_segments(segments: &[Arc<Segment>]) -> Arrival {
        let arrived = segments.iter().map(|segment| segment.arrived_ns.unwrap_or(segment.last_ns)).max();
        Arrival { order: Some(segments[0].order), arrived_ns: arrived.unwrap_or(i64::MAX) }
    }

    /// New rows have the number of their own segment as their order.
    fn fields(self, number: u64, newest_ns: i64) -> SegmentFields {
        SegmentFields { number, order: self.order.unwrap_or(number), arrived_ns: self.arrived_ns, newest_ns }
    }
}

/// A segment whose files are in memory.
pub(crate) struct EncodedSegment {
    segment: Segment,
    files: Vec<(FileKind, EncodedFile)>,
}

impl SegmentsInner {
    /// Writes planned segments of spans, one after the other, and returns their manifest entries.
    pub(crate) async fn write_spans(
        &self,
        context: &Arc<GroupContext>,
        groups: Vec<SegmentPlan>,
        arrival: Arrival,
    ) -> Result<Vec<Segment>, SegmentError> {
        let newest_ns = self.newest_ns();
        let mut written = Vec::new();
        for group in groups {
            let number = self.number_segment();
            let context = Arc::clone(context);
            let made = arrival.fields(number, newest_ns);
            let rows_per_group = self.limits.group_spans;
            let ready = busy(move || encode_spans(&context, group, made, rows_per_group)).await?;
            written.push(self.put_segment(ready).await?);
        }
        Ok(written)
    }

    /// Writes groups of samples.
    pub(crate) async fn write_samples(
        &self,
        texts: &Arc<Vec<Box<str>>>,
        groups: Vec<SampleGroup>,
        arrival: Arrival,
    ) -> Result<Vec<Segment>, SegmentError> {
        let newest_ns = self.newest_ns();
        let mut written = Vec::new();
        for group in groups {
            let number = self.number_segment();
            let texts = Arc::clone(texts);
            let made = arrival.fields(number, newest_ns);
            let ready = busy(move || encode_samples(&texts, &group, made)).await?;
            written.push(self.put_segment(ready).await?);
        }
        Ok(written)
    }

    /// The latest time of anything stored. Times of senders whose clocks are ahead do not count beside others, or
    /// every slice would be treated as closed.
    pub(crate) fn newest_ns(&self) -> i64 {
        let manifest = self.manifest();
        let latest = wall_clock().plus(JOIN).unix_ns();
        let come = manifest.segments.iter().filter(|segment| segment.first_ns <= latest);
        let newest = come.map(|segment| segment.last_ns.min(latest)).max();
        let any = || manifest.segments.iter().map(|segment| segment.last_ns).max();
        newest.or_else(any).unwrap_or(i64::MIN)
    }

    async fn put_segment(&self, ready: EncodedSegment) -> Result<Segment, SegmentError> {
        let EncodedSegment { segment, files } = ready;
        let put = |(kind, file): (FileKind, EncodedFile)| {
            let path = layout::file(kind, segment.slice_ns, segment.number);
            async move { self.objects.put(&path, file.bytes.into()).await.map_err(failed_put) }
        };
        let puts: futures::stream::FuturesUnordered<_> = files.into_iter().map(put).collect();
        puts.try_for_each(|_| async { Ok(()) }).await?;
        Ok(segment)
    }
}

/// Nothing that is being written can be missing: such an answer is the storage's.
fn failed_put(error: object_store::Error) -> SegmentError {
    SegmentError::Storage(error.to_string())
}

fn encode_spans(
    context: &GroupContext,
    group: SegmentPlan,
    made: SegmentFields,
    rows_per_group: usize,
) -> Result<EncodedSegment, SegmentError> {
    let (names, rows) = in_own_names(&context.names, group.rows);
    let texts = texts_of(&rows, &context.texts);
    let spans = spans_file::encode(&names, &rows, &texts, rows_per_group)?;
    let starts = || rows.iter().map(|row| row.start.unix_ns());
    let mut segment = Segment {
        number: made.number,
        kind: group.placement.kind,
        slice_ns: group.placement.slice_ns,
        order: made.order,
        first_ns: starts().min().unwrap_or(group.placement.slice_ns),
        last_ns: starts().max().unwrap_or(group.placement.slice_ns),
        arrived_ns: Some(made.arrived_ns),
        newest_ns: made.newest_ns,
        trace_min: rows.first().map(|row| row.trace),
        trace_max: rows.last().map(|row| row.trace),
        spans: rows.len() as u64,
        requests: 0,
        samples: 0,
        notes: ImportNotes::default(),
        files: BTreeMap::new(),
    };
    let mut files = vec![(FileKind::Spans, spans)];
    if segment.kind == SegmentKind::Traces {
        let slice = RequestSlice::assemble(names, rows, SliceFacts { texts, ..SliceFacts::default() });
        segment.requests = slice.requests.len() as u64;
        files.push((FileKind::Requests, requests_file::encode(&slice)?));
        files.push((FileKind::Calls, calls_file::encode_calls(&slice)?));
        files.push((FileKind::Structures, calls_file::encode_structures(&slice)?));
    }
    segment.files = files.iter().map(|(kind, file)| (*kind, file.entry)).collect();
    Ok(EncodedSegment { segment, files })
}

fn texts_of(rows: &[SpanRow], texts: &[(TraceId, Box<str>)]) -> Vec<(TraceId, Box<str>)> {
    if texts.is_empty() {
        return Vec::new();
    }
    let traces = rows.chunk_by(|a, b| a.trace == b.trace).map(|spans| spans[0].trace);
    let text = |trace| texts.binary_search_by_key(&trace, |(known, _)| *known).ok();
    traces.filter_map(|trace| text(trace).map(|at| texts[at].clone())).collect()
}

fn encode_samples(
    texts: &[Box<str>],
    group: &SampleGroup,
    made: SegmentFields,
) -> Result<EncodedSegment, SegmentError> {
    let file = samples_file::encode(&group.rows, texts)?;
    let time = |row: Option<&laggard_engine::SampleRow>| row.map_or(group.slice_ns, |row| row.time.unix_ns());
    let segment = Segment {
        number: made.number,
        kind: SegmentKind::Samples,
        slice_ns: group.slice_ns,
        order: made.order,
        first_ns: time(group.rows.first()),
        last_ns: time(group.rows.last()),
        arrived_ns: Some(made.arrived_ns),
        newest_ns: made.newest_ns,
        trace_min: None,
        trace_max: None,
        spans: 0,
        requests: 0,
        samples: group.rows.len() as u64,
        notes: ImportNotes::default(),
        files: BTreeMap::from([(FileKind::Samples, file.entry)]),
    };
    Ok(EncodedSegment { segment, files: vec![(FileKind::Samples, file)] })
}
