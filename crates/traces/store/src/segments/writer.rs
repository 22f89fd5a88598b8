//! Writing segments: files first, all of them durable; the manifest names them later.

use super::error::SegmentError;
use super::import_notes::ImportNotes;
use super::manifest::{FORMAT, FileKind, Segment, SegmentKind};
use super::merge::in_own_names;
use super::plan::{EventGroup, SampleGroup, SegmentPlan};
use super::reader::busy;
use super::shared::{JOIN, SegmentsInner};
use super::table::EncodedFile;
use super::{calls_file, events_file, requests_file, samples_file, spans_file};
use crate::clock::wall_clock;
use futures::TryStreamExt;
use laggard_engine::{RequestSlice, SampleRow, SliceFacts, TraceAttributes};
use laggard_model::{Names, SpanEvent, SpanRow, ThreadRow, TraceId};
use object_store::ObjectStoreExt;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names and texts used by the rows of several groups.
#[derive(Clone, Debug)]
pub(crate) struct GroupContext {
    pub(crate) names: Names,
    /// Sorted by trace.
    pub(crate) texts: Vec<(TraceId, Box<str>)>,
    /// Sets of attributes, sorted by trace.
    pub(crate) attributes: Vec<(TraceId, Arc<str>)>,
    /// Threads of spans, by their key.
    pub(crate) threads: Vec<ThreadRow>,
}

/// The fields of a [`Segment`] that do not derive from its rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentFields {
    pub(super) number: u64,
    pub(super) order: u64,
    pub(super) arrived_ns: i64,
    pub(super) newest_ns: i64,
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

impl SegmentFields {
    /// A segment without rows or files yet.
    pub(super) fn segment(self, kind: SegmentKind, slice_ns: i64) -> Segment {
        Segment {
            number: self.number,
            format: FORMAT,
            kind,
            slice_ns,
            order: self.order,
            first_ns: slice_ns,
            last_ns: slice_ns,
            arrived_ns: Some(self.arrived_ns),
            newest_ns: self.newest_ns,
            trace_min: None,
            trace_max: None,
            spans: 0,
            requests: 0,
            samples: 0,
            events: 0,
            event_bytes: 0,
            notes: ImportNotes::default(),
            files: BTreeMap::new(),
        }
    }
}

impl Segment {
    /// Sets what derives from its spans, which are sorted by trace.
    pub(super) fn set_spans(&mut self, rows: &[SpanRow]) {
        let starts = || rows.iter().map(|row| row.start.unix_ns());
        self.first_ns = starts().min().unwrap_or(self.slice_ns);
        self.last_ns = starts().max().unwrap_or(self.slice_ns);
        self.trace_min = rows.first().map(|row| row.trace);
        self.trace_max = rows.last().map(|row| row.trace);
        self.spans = rows.len() as u64;
    }

    /// Sets what derives from its samples, which are sorted by time.
    pub(super) fn set_samples(&mut self, rows: &[SampleRow]) {
        if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
            (self.first_ns, self.last_ns) = (first.time.unix_ns(), last.time.unix_ns());
        }
        self.samples = rows.len() as u64;
    }

    /// Sets what derives from its events, which are sorted by trace.
    pub(super) fn set_events(&mut self, events: &[SpanEvent]) {
        let times = || events.iter().map(|event| event.time.unix_ns());
        self.first_ns = times().min().unwrap_or(self.slice_ns);
        self.last_ns = times().max().unwrap_or(self.slice_ns);
        self.trace_min = events.first().map(|event| event.trace);
        self.trace_max = events.last().map(|event| event.trace);
        self.events = events.len() as u64;
        self.event_bytes = events.iter().map(SpanEvent::bytes).sum::<usize>() as u64;
    }
}

impl EncodedSegment {
    fn new(mut segment: Segment, files: Vec<(FileKind, EncodedFile)>) -> EncodedSegment {
        segment.files = files.iter().map(|(kind, file)| (*kind, file.entry)).collect();
        EncodedSegment { segment, files }
    }
}

impl SegmentsInner {
    /// Writes planned segments of spans, one after the other, and returns their manifest entries.
    pub(crate) async fn write_spans(
        &self,
        context: &Arc<GroupContext>,
        groups: Vec<SegmentPlan>,
        arrival: Arrival,
    ) -> Result<Vec<Segment>, SegmentError> {
        let rows_per_group = self.limits.group_spans;
        let context = Arc::clone(context);
        let encode = move |group, fields| encode_spans(&context, group, fields, rows_per_group);
        self.write_groups(groups, arrival, encode).await
    }

    /// Writes groups of samples.
    pub(crate) async fn write_samples(
        &self,
        texts: &Arc<Vec<Box<str>>>,
        groups: Vec<SampleGroup>,
        arrival: Arrival,
    ) -> Result<Vec<Segment>, SegmentError> {
        let texts = Arc::clone(texts);
        self.write_groups(groups, arrival, move |group, fields| encode_samples(&texts, &group, fields)).await
    }

    /// Writes groups of events.
    pub(crate) async fn write_events(
        &self,
        groups: Vec<EventGroup>,
        arrival: Arrival,
    ) -> Result<Vec<Segment>, SegmentError> {
        self.write_groups(groups, arrival, move |group, fields| encode_events(&group, fields)).await
    }

    async fn write_groups<G: Send + 'static>(
        &self,
        groups: Vec<G>,
        arrival: Arrival,
        encode: impl Fn(G, SegmentFields) -> Result<EncodedSegment, SegmentError> + Clone + Send + 'static,
    ) -> Result<Vec<Segment>, SegmentError> {
        let newest_ns = self.newest_ns();
        let mut written = Vec::new();
        for group in groups {
            let (encode, fields) = (encode.clone(), arrival.fields(self.number_segment(), newest_ns));
            written.push(self.put_segment(busy(move || encode(group, fields)).await?).await?);
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
        self.check_claim()?;
        let EncodedSegment { segment, files } = ready;
        let put = |(kind, file): (FileKind, EncodedFile)| {
            let path = segment.path(kind);
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
    fields: SegmentFields,
    rows_per_group: usize,
) -> Result<EncodedSegment, SegmentError> {
    let (mut names, rows) = in_own_names(&context.names, group.rows);
    let texts = texts_of(&rows, &context.texts);
    let attributes = texts_of(&rows, &context.attributes);
    let beside_rows =
        spans_file::BesideRows { texts: &texts, attributes: &attributes, threads: &context.threads };
    let spans = spans_file::encode(&names, &rows, beside_rows, rows_per_group)?;
    let mut segment = fields.segment(group.placement.kind, group.placement.slice_ns);
    segment.set_spans(&rows);
    let mut files = vec![(FileKind::Spans, spans)];
    if segment.kind == SegmentKind::Traces {
        let attributes = TraceAttributes::from_texts(&attributes, &mut names);
        let facts = SliceFacts { texts, ..SliceFacts::default() };
        let slice = RequestSlice::assemble(names, rows, &attributes, facts);
        segment.requests = slice.requests.len() as u64;
        files.push((FileKind::Requests, requests_file::encode(&slice)?));
        files.push((FileKind::Calls, calls_file::encode_calls(&slice)?));
        files.push((FileKind::Structures, calls_file::encode_structures(&slice)?));
    }
    Ok(EncodedSegment::new(segment, files))
}

fn texts_of<T: Clone>(rows: &[SpanRow], texts: &[(TraceId, T)]) -> Vec<(TraceId, T)> {
    if texts.is_empty() {
        return Vec::new();
    }
    let traces = rows.chunk_by(|a, b| a.trace == b.trace).map(|spans| spans[0].trace);
    let text = |trace| texts.binary_search_by_key(&trace, |(known, _)| *known).ok();
    traces.filter_map(|trace| text(trace).map(|index| texts[index].clone())).collect()
}

fn encode_samples(
    texts: &[Box<str>],
    group: &SampleGroup,
    fields: SegmentFields,
) -> Result<EncodedSegment, SegmentError> {
    let file = samples_file::encode(&group.rows, texts)?;
    let mut segment = fields.segment(SegmentKind::Samples, group.slice_ns);
    segment.set_samples(&group.rows);
    Ok(EncodedSegment::new(segment, vec![(FileKind::Samples, file)]))
}

fn encode_events(group: &EventGroup, fields: SegmentFields) -> Result<EncodedSegment, SegmentError> {
    let file = events_file::encode(&group.events)?;
    let mut segment = fields.segment(SegmentKind::Events, group.slice_ns);
    segment.set_events(&group.events);
    Ok(EncodedSegment::new(segment, vec![(FileKind::Events, file)]))
}
