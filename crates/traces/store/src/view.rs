//! Views: consistent snapshots for queries.

use crate::StoreError;
use crate::segments::{
    JOIN, LocatedError, Manifest, Segment, SegmentError, SegmentKind, SegmentsInner, Selection, SpanTable,
    locate, writer_and_number,
};
use futures::{StreamExt, TryStreamExt};
use laggard_engine::{RequestSlice, SampleRow, Samples, SliceFacts, SliceSummary, StartRange};
use laggard_model::{
    AttributeText, Loss, Losses, Names, Nanos, ReplicaSource, Sampling, Sink, SpanAttributes, SpanEvent,
    SpanRecord, SpanRow, ThreadRow, Timestamp, TraceId, WeightSource, tidy_events,
};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// A snapshot of the stored data. Its files remain while it is held.
#[derive(Clone)]
pub struct View {
    pub(crate) shared: Arc<SegmentsInner>,
    pub(crate) manifest: Arc<Manifest>,
}

/// All spans of one trace.
#[derive(Clone, Debug, Default)]
pub struct StoredTrace {
    /// Names behind the handles.
    pub names: Names,
    /// Spans by start, then id, without duplicates.
    pub spans: Vec<SpanRow>,
    /// The trace's id as received, if that differs from its display text.
    pub text: Option<Box<str>>,
    /// The attributes of its spans.
    pub attributes: AttributeText,
    /// Events of its spans, by span and time, without duplicates.
    pub events: Vec<SpanEvent>,
    /// Events beyond the limits of a span and of a trace.
    pub losses: Losses,
}

/// Which segments were looked at: of each writer, those of lower numbers than this.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "StoredNumbers", into = "StoredNumbers")]
pub struct KnownSegments {
    next: Vec<u64>,
}

/// As it is stored: of one writer, the number alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredNumbers {
    One(u64),
    Several(Vec<u64>),
}

impl From<StoredNumbers> for KnownSegments {
    fn from(stored: StoredNumbers) -> KnownSegments {
        let next = match stored {
            StoredNumbers::One(next) => vec![next],
            StoredNumbers::Several(next) => next,
        };
        KnownSegments { next }
    }
}

impl From<KnownSegments> for StoredNumbers {
    fn from(seen: KnownSegments) -> StoredNumbers {
        match seen.next.as_slice() {
            [next] => StoredNumbers::One(*next),
            _ => StoredNumbers::Several(seen.next),
        }
    }
}

impl KnownSegments {
    /// Whether a segment is one of them.
    fn has(&self, segment: &Segment) -> bool {
        let (writer, number) = writer_and_number(segment.number);
        self.next.get(writer).is_some_and(|&next| number < next)
    }

    /// Whether the store may have got to where it is from where it was then: it has the same number of writers, and none has
    /// fewer segments.
    fn is_before(&self, now: &KnownSegments) -> bool {
        self.next.len() == now.next.len() && self.next.iter().zip(&now.next).all(|(then, now)| then <= now)
    }
}

/// What was written since some segments: which requests are to be read again to know of every span.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WrittenSegments {
    /// All segments there are now.
    pub seen: KnownSegments,
    /// The earliest and latest start of requests that each segment may have added or changed.
    pub extents: Vec<(Timestamp, Timestamp)>,
}

// Limit: bytes of the events of one trace that are shown | further ones are left out, counted (`event_limit`)
/// Most memory that the events of a trace take when it is read.
const TRACE_EVENT_BYTES_MAX: usize = 32 << 20;

/// Segments that are searched for a trace at the same time.
const SEARCHED_AT_ONCE: usize = 8;

impl View {
    /// Slices that hold requests of a window (both ends belong to it); they may hold others, too. A request is in
    /// one of them only. A segment that cannot be read is set aside; what it held is a loss
    /// ([`Loss::CorruptSegment`]) in the facts of a slice without requests.
    ///
    /// # Errors
    /// When the storage does not answer.
    pub async fn requests(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<Arc<RequestSlice>>, StoreError> {
        self.requests_within(&[since..=until]).await
    }

    /// The same of several windows: a request that lies in more than one of them is in one slice only.
    ///
    /// # Errors
    /// As above.
    pub async fn requests_within(
        &self,
        windows: &[StartRange],
    ) -> Result<Vec<Arc<RequestSlice>>, StoreError> {
        self.read_requests(windows, 0).await
    }

    /// A fair sample of them: one in 2^`levels`, the same ones each time; only the sample, and a few segments, are in memory. Facts are
    /// those of all.
    ///
    /// # Errors
    /// As above.
    pub async fn sampled_requests(
        &self,
        since: Timestamp,
        until: Timestamp,
        levels: u32,
    ) -> Result<Vec<Arc<RequestSlice>>, StoreError> {
        self.read_requests(&[since..=until], levels).await
    }

    async fn read_requests(
        &self,
        windows: &[StartRange],
        levels: u32,
    ) -> Result<Vec<Arc<RequestSlice>>, StoreError> {
        let mut reading = ViewReader::over(self, windows);
        loop {
            let segments = reading.segments(&[SegmentKind::Traces], windows);
            let read = async {
                let late = self.shared.late_spans_near(&reading.manifest, windows).await?;
                let slices = self.shared.slices_with_late(&late, &segments, levels).await?;
                Ok::<_, LocatedError>((slices, late))
            };
            match read.await {
                Ok((mut slices, late)) => {
                    let lost = SliceFacts { losses: reading.lost, ..SliceFacts::default() };
                    let notes =
                        [late.notes(), lost].into_iter().filter(|facts| *facts != SliceFacts::default());
                    slices.extend(
                        notes.map(|facts| Arc::new(RequestSlice { facts, ..RequestSlice::default() })),
                    );
                    return Ok(slices);
                }
                Err(failed) => reading.continue_without(failed).await?,
            }
        }
    }

    /// Servers whose stores these are.
    pub fn writers(&self) -> usize {
        self.manifest.next_segments().len()
    }

    /// Segments with spans other than those seen, those of compaction included. All of them if this store cannot have had those:
    /// then it is another store, or has other writers.
    pub fn written_since(&self, seen: &KnownSegments) -> WrittenSegments {
        let now = KnownSegments { next: self.manifest.next_segments() };
        let is_known = seen.is_before(&now);
        let written = self.manifest.segments.iter().filter(|segment| !(is_known && seen.has(segment)));
        let extents = written.filter_map(|segment| match segment.kind {
            SegmentKind::Traces => Some((segment.first(), segment.last())),
            // The rest of their traces may have begun before them.
            SegmentKind::Late => Some((segment.first().minus(JOIN), segment.last())),
            SegmentKind::Samples | SegmentKind::Events => None,
        });
        WrittenSegments { seen: now, extents: extents.collect() }
    }

    /// Summaries of the same slices, by intervals of this length; summaries computed before are cached.
    ///
    /// # Errors
    /// As above.
    pub async fn summaries(
        &self,
        since: Timestamp,
        until: Timestamp,
        interval: Nanos,
    ) -> Result<Vec<Arc<SliceSummary>>, StoreError> {
        let mut reading = ViewReader::new(self, since, until);
        loop {
            let segments = reading.segments(&[SegmentKind::Traces], &[since..=until]);
            let read = async {
                let late = self.shared.late_spans_near(&reading.manifest, &[since..=until]).await?;
                self.shared.summaries_of(&late, &segments, interval).await
            };
            match read.await {
                Ok(summaries) => return Ok(summaries),
                Err(failed) => reading.continue_without(failed).await?,
            }
        }
    }

    /// One trace; `None` when it is not there.
    ///
    /// # Errors
    /// As above.
    pub async fn trace(&self, id: TraceId) -> Result<Option<StoredTrace>, StoreError> {
        let mut reading = ViewReader::new(self, Timestamp::MIN, Timestamp::MAX);
        let filter = Arc::new(HashSet::from([id]));
        loop {
            let segments = reading.spans(Timestamp::MIN, Timestamp::MAX);
            let read = |segment: Arc<Segment>| {
                let filter = Selection::These(Arc::clone(&filter));
                async move { locate(&segment, self.shared.spans(&segment, filter).await) }
            };
            let reads: Vec<_> =
                segments.into_iter().filter(|segment| segment.may_hold(id)).map(read).collect();
            let found: Result<Vec<SpanTable>, LocatedError> =
                futures::stream::iter(reads).buffered(SEARCHED_AT_ONCE).try_collect().await;
            match found {
                Ok(tables) => {
                    let Some(mut trace) = stored_trace(SpanTable::merge(tables)) else { return Ok(None) };
                    trace.events = reading.events_of(id, &trace.spans, &mut trace.losses).await?;
                    tidy_events(&mut trace.events, &mut trace.losses);
                    return Ok(Some(trace));
                }
                Err(failed) => reading.continue_without(failed).await?,
            }
        }
    }

    /// Traces with an event in a window whose text, name, or attributes have this word, in any case of its ASCII letters.
    ///
    /// # Errors
    /// As above.
    pub async fn traces_that_logged(
        &self,
        since: Timestamp,
        until: Timestamp,
        word: &str,
    ) -> Result<HashSet<TraceId>, StoreError> {
        let word: Arc<str> = word.to_ascii_lowercase().into();
        let mut reading = ViewReader::new(self, since, until);
        let mut found = HashSet::new();
        for segment in reading.segments(&[SegmentKind::Events], &[since..=until]) {
            match self.shared.traces_that_logged(&segment, since, until, Arc::clone(&word)).await {
                Ok(traces) => found.extend(traces),
                Err(failure) => reading.continue_without(LocatedError { segment, failure }).await?,
            }
        }
        Ok(found)
    }

    /// Passes the samples of a window to a sink, by time; returns import losses and what cannot be read.
    ///
    /// # Errors
    /// As above.
    pub async fn samples(
        &self,
        since: Timestamp,
        until: Timestamp,
        sink: &mut (dyn Sink + Send),
    ) -> Result<Losses, StoreError> {
        let mut reading = ViewReader::new(self, since, until);
        let mut waiting: Vec<(SampleRow, usize)> = Vec::new();
        let mut texts: Vec<Samples> = Vec::new();
        let mut notes = Losses::none();
        let mut segments = reading.segments(&[SegmentKind::Samples], &[since..=until]);
        segments.sort_by_key(|segment| (segment.first(), segment.order));
        for (at_segment, segment) in segments.iter().enumerate() {
            emit_samples(&mut waiting, &texts, segment.first(), sink);
            let mut samples = match self.shared.samples(segment).await {
                Ok(samples) => samples,
                Err(failure) => {
                    reading.continue_without(LocatedError { segment: Arc::clone(segment), failure }).await?;
                    Samples::default()
                }
            };
            let rows = std::mem::take(&mut samples.rows);
            let inside = rows.into_iter().filter(|row| (since..=until).contains(&row.time));
            waiting.extend(inside.map(|row| (row, at_segment)));
            waiting.sort_by_key(|(row, from)| (row.time, segments[*from].order));
            texts.push(samples);
            notes.merge(&segment.notes.losses());
        }
        emit_samples(&mut waiting, &texts, Timestamp::MAX, sink);
        notes.merge(&reading.lost);
        Ok(notes)
    }

    /// Passes the spans of a window to a sink, segment by segment, for export, including duplicates. Returns what
    /// cannot be read.
    ///
    /// # Errors
    /// As above.
    pub async fn spans(
        &self,
        since: Timestamp,
        until: Timestamp,
        sink: &mut (dyn Sink + Send),
    ) -> Result<Losses, StoreError> {
        let mut reading = ViewReader::new(self, since, until);
        for segment in reading.spans(since, until) {
            match self.shared.spans(&segment, Selection::All).await {
                Ok(table) => emit_spans(&table, since, until, sink),
                Err(failure) => reading.continue_without(LocatedError { segment, failure }).await?,
            }
        }
        Ok(reading.lost)
    }
}

/// A view while it is read: segments that cannot be read are removed from it and reported.
pub(crate) struct ViewReader {
    pub(crate) shared: Arc<SegmentsInner>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) lost: Losses,
}

impl ViewReader {
    fn new(view: &View, since: Timestamp, until: Timestamp) -> ViewReader {
        ViewReader::over(view, &[since..=until])
    }

    /// A reader of some times.
    pub(crate) fn over(view: &View, times: &[StartRange]) -> ViewReader {
        let mut lost = Losses::none();
        for quarantined in &view.manifest.quarantined {
            let meets = |time: &StartRange| {
                quarantined.first_ns <= time.end().unix_ns() && quarantined.last_ns >= time.start().unix_ns()
            };
            if times.iter().any(meets) {
                lost.add_many(
                    Loss::CorruptSegment,
                    quarantined.spans + quarantined.samples + quarantined.events,
                    || format!("segment {}: {}", quarantined.segment, quarantined.reason),
                );
            }
        }
        ViewReader { shared: Arc::clone(&view.shared), manifest: Arc::clone(&view.manifest), lost }
    }

    /// Segments of some kinds that may hold rows of a window.
    pub(crate) fn segments(&self, kinds: &[SegmentKind], times: &[StartRange]) -> Vec<Arc<Segment>> {
        let filter = |segment: &&Arc<Segment>| {
            kinds.contains(&segment.kind)
                && times.iter().any(|time| segment.meets(*time.start(), *time.end()))
        };
        self.manifest.segments.iter().filter(filter).cloned().collect()
    }

    /// Events of a segment; none of one that is damaged, which is set aside.
    async fn events(
        &mut self,
        segment: &Arc<Segment>,
        selection: Selection,
    ) -> Result<Vec<SpanEvent>, StoreError> {
        match self.shared.events(segment, selection).await {
            Ok(events) => Ok(events),
            Err(failure) => {
                self.continue_without(LocatedError { segment: Arc::clone(segment), failure }).await?;
                Ok(Vec::new())
            }
        }
    }

    /// Events of a trace with these spans. Those logged long before or after it are not searched for.
    async fn events_of(
        &mut self,
        id: TraceId,
        spans: &[SpanRow],
        losses: &mut Losses,
    ) -> Result<Vec<SpanEvent>, StoreError> {
        let since = spans.iter().map(|row| row.start).min().unwrap_or(Timestamp::MIN).minus(JOIN);
        let until = spans.iter().map(SpanRow::end).max().unwrap_or(Timestamp::MAX).plus(JOIN);
        let requested = Arc::new(HashSet::from([id]));
        let (mut found, mut bytes) = (Vec::new(), 0);
        for segment in self.segments(&[SegmentKind::Events], &[since..=until]) {
            if !segment.may_hold(id) {
                continue;
            }
            for event in self.events(&segment, Selection::These(Arc::clone(&requested))).await? {
                bytes += event.bytes();
                if bytes > TRACE_EVENT_BYTES_MAX {
                    losses.add(Loss::EventLimit, || format!("trace {id}"));
                } else {
                    found.push(event);
                }
            }
        }
        Ok(found)
    }

    /// Segments with spans, in the order in which those arrived.
    fn spans(&self, since: Timestamp, until: Timestamp) -> Vec<Arc<Segment>> {
        let mut found = self.segments(&[SegmentKind::Traces, SegmentKind::Late], &[since..=until]);
        found.sort_by_key(|segment| (segment.order, segment.number));
        found
    }

    /// Sets a damaged segment aside, unless another process writes the store; any other failure is the caller's. Where the
    /// disk is full or read-only, the query is answered nevertheless.
    pub(crate) async fn continue_without(&mut self, failed: LocatedError) -> Result<(), StoreError> {
        let LocatedError { segment, failure } = failed;
        let SegmentError::Damaged(reason) = failure else { return Err(failure.into()) };
        if self.shared.is_read_only() {
            self.shared.check_still_named(&segment).await?;
        } else if let Err(error) = self.shared.quarantine(&segment, &reason).await {
            tracing::error!(segment = segment.number, reason, %error, "a segment could not be set aside");
        }
        self.lost.add_many(Loss::CorruptSegment, segment.spans + segment.samples + segment.events, || {
            format!("segment {}: {reason}", segment.number)
        });
        let mut manifest = Manifest::clone(&self.manifest);
        manifest.segments.retain(|known| known.number != segment.number);
        self.manifest = Arc::new(manifest);
        Ok(())
    }
}

fn stored_trace(mut table: SpanTable) -> Option<StoredTrace> {
    table.rows.dedup();
    let unite =
        |all: AttributeText, (_, text): &(TraceId, Arc<str>)| AttributeText::union(all.as_str(), text);
    let attributes = table.attributes.iter().fold(AttributeText::default(), unite);
    let text = table.texts.into_iter().next().map(|(_, text)| text);
    (!table.rows.is_empty()).then_some(StoredTrace {
        names: table.names,
        spans: table.rows,
        text,
        attributes,
        ..StoredTrace::default()
    })
}

/// Passes samples before a time to a sink.
fn emit_samples(
    waiting: &mut Vec<(SampleRow, usize)>,
    texts: &[Samples],
    before: Timestamp,
    sink: &mut (dyn Sink + Send),
) {
    let all = before == Timestamp::MAX;
    let ready = waiting.partition_point(|(row, _)| row.time < before || all);
    for (row, from) in waiting.drain(..ready) {
        sink.sample(&texts[from].record(&row));
    }
}

fn emit_spans(table: &SpanTable, since: Timestamp, until: Timestamp, sink: &mut (dyn Sink + Send)) {
    for row in table.rows.iter().filter(|row| (since..=until).contains(&row.start)) {
        let key = table.names.operation_key(row.operation);
        let text = table.texts.binary_search_by_key(&row.trace, |(trace, _)| *trace).ok();
        let attributes = table.attributes.binary_search_by_key(&row.trace, |(trace, _)| *trace).ok();
        let key_of_thread = (row.trace, row.start, row.span);
        let thread = table.threads.binary_search_by_key(&key_of_thread, ThreadRow::key).ok();
        let adjusted_count = row.adjusted_count;
        let source = adjusted_count.map_or(WeightSource::Unknown, |_| WeightSource::Column);
        sink.span(&SpanRecord {
            trace_id: row.trace,
            trace_text: text.map(|index| &*table.texts[index].1),
            span_id: row.span,
            parent: row.parent,
            service: key.service,
            replica: table.names.replica_name(row.replica),
            replica_source: ReplicaSource::Column,
            operation: key.operation,
            kind: row.kind,
            status: row.status,
            start: row.start,
            inclusive: row.inclusive,
            sampling: Sampling { adjusted_count, source, tail_sampler: None },
            attributes: SpanAttributes {
                resource: "",
                span: attributes.map_or("", |index| &*table.attributes[index].1),
                thread: thread.map(|index| table.threads[index].tid),
            },
        });
    }
}
