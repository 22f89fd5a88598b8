//! Writing segments: files first, all of them durable; the manifest names them later.

use super::failure::Failure;
use super::manifest::{FileKind, Segment, SegmentKind};
use super::merge::in_own_names;
use super::plan::{Group, SampleGroup};
use super::reading::busy;
use super::shared::{JOIN, Shared, wall_clock};
use super::table::Encoded;
use super::told::Told;
use super::{calls_file, layout, requests_file, samples_file, spans_file};
use futures::TryStreamExt;
use laggard_engine::{RequestSlice, SliceFacts};
use laggard_model::{Names, SpanRow, TraceId};
use object_store::ObjectStoreExt;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names and texts behind the rows of several groups.
#[derive(Clone, Debug)]
pub(crate) struct Behind {
    pub(crate) names: Names,
    /// Sorted by trace.
    pub(crate) texts: Vec<(TraceId, Box<str>)>,
}

/// What a segment does not have from its rows; as in [`Segment`].
#[derive(Clone, Copy, Debug)]
struct Made {
    number: u64,
    order: u64,
    arrived_ns: i64,
    newest_ns: i64,
}

/// When rows arrived; those of other segments with these, new ones now.
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

    /// Of the rows of segments, in the order in which those arrived; there is at least one.
    pub(crate) fn of(segments: &[Arc<Segment>]) -> Arrival {
        let arrived = segments.iter().map(|segment| segment.arrived_ns.unwrap_or(segment.last_ns)).max();
        Arrival { order: Some(segments[0].order), arrived_ns: arrived.unwrap_or(i64::MAX) }
    }

    /// New rows have the number of their own segment as their order.
    fn made(self, number: u64, newest_ns: i64) -> Made {
        Made { number, order: self.order.unwrap_or(number), arrived_ns: self.arrived_ns, newest_ns }
    }
}

/// A segment whose files are in memory.
pub(crate) struct Ready {
    segment: Segment,
    files: Vec<(FileKind, Encoded)>,
}

impl Shared {
    /// Writes groups of spans, one after the other, and tells what the manifest is to name.
    pub(crate) async fn write_spans(
        &self,
        behind: &Arc<Behind>,
        groups: Vec<Group>,
        arrival: Arrival,
    ) -> Result<Vec<Segment>, Failure> {
        let newest_ns = self.newest_ns();
        let mut written = Vec::new();
        for group in groups {
            let number = self.number_segment();
            let behind = Arc::clone(behind);
            let made = arrival.made(number, newest_ns);
            let rows_per_group = self.limits.group_spans;
            let ready = busy(move || encode_spans(&behind, group, made, rows_per_group)).await?;
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
    ) -> Result<Vec<Segment>, Failure> {
        let newest_ns = self.newest_ns();
        let mut written = Vec::new();
        for group in groups {
            let number = self.number_segment();
            let texts = Arc::clone(texts);
            let made = arrival.made(number, newest_ns);
            let ready = busy(move || encode_samples(&texts, &group, made)).await?;
            written.push(self.put_segment(ready).await?);
        }
        Ok(written)
    }

    /// The latest time of anything stored. Times of senders whose clocks are ahead do not count beside others, or
    /// every slice would be taken for closed.
    pub(crate) fn newest_ns(&self) -> i64 {
        let manifest = self.manifest();
        let latest = wall_clock().plus(JOIN).unix_ns();
        let come = manifest.segments.iter().filter(|segment| segment.first_ns <= latest);
        let newest = come.map(|segment| segment.last_ns.min(latest)).max();
        let any = || manifest.segments.iter().map(|segment| segment.last_ns).max();
        newest.or_else(any).unwrap_or(i64::MIN)
    }

    async fn put_segment(&self, ready: Ready) -> Result<Segment, Failure> {
        let Ready { segment, files } = ready;
        let put = |(kind, file): (FileKind, Encoded)| {
            let path = layout::file(kind, segment.slice_ns, segment.number);
            async move { self.objects.put(&path, file.bytes.into()).await.map_err(failed_put) }
        };
        let puts: futures::stream::FuturesUnordered<_> = files.into_iter().map(put).collect();
        puts.try_for_each(|_| async { Ok(()) }).await?;
        Ok(segment)
    }
}

/// Nothing that is being written can be missing: such an answer is the storage's.
fn failed_put(error: object_store::Error) -> Failure {
    Failure::Storage(error.to_string())
}

fn encode_spans(behind: &Behind, group: Group, made: Made, rows_per_group: usize) -> Result<Ready, Failure> {
    let (names, rows) = in_own_names(&behind.names, group.rows);
    let texts = texts_of(&rows, &behind.texts);
    let spans = spans_file::encode(&names, &rows, &texts, rows_per_group)?;
    let starts = || rows.iter().map(|row| row.start.unix_ns());
    let mut segment = Segment {
        number: made.number,
        kind: group.place.kind,
        slice_ns: group.place.slice_ns,
        order: made.order,
        first_ns: starts().min().unwrap_or(group.place.slice_ns),
        last_ns: starts().max().unwrap_or(group.place.slice_ns),
        arrived_ns: Some(made.arrived_ns),
        newest_ns: made.newest_ns,
        trace_min: rows.first().map(|row| row.trace),
        trace_max: rows.last().map(|row| row.trace),
        spans: rows.len() as u64,
        requests: 0,
        samples: 0,
        told: Told::default(),
        files: BTreeMap::new(),
    };
    let mut files = vec![(FileKind::Spans, spans)];
    if segment.kind == SegmentKind::Traces {
        let slice = RequestSlice::assemble(names, rows, SliceFacts { texts, ..SliceFacts::default() });
        segment.requests = slice.requests.len() as u64;
        files.push((FileKind::Requests, requests_file::encode(&slice)?));
        files.push((FileKind::Calls, calls_file::encode_calls(&slice)?));
        files.push((FileKind::Forms, calls_file::encode_forms(&slice)?));
    }
    segment.files = files.iter().map(|(kind, file)| (*kind, file.entry)).collect();
    Ok(Ready { segment, files })
}

fn texts_of(rows: &[SpanRow], texts: &[(TraceId, Box<str>)]) -> Vec<(TraceId, Box<str>)> {
    if texts.is_empty() {
        return Vec::new();
    }
    let traces = rows.chunk_by(|a, b| a.trace == b.trace).map(|spans| spans[0].trace);
    let text = |trace| texts.binary_search_by_key(&trace, |(known, _)| *known).ok();
    traces.filter_map(|trace| text(trace).map(|at| texts[at].clone())).collect()
}

fn encode_samples(texts: &[Box<str>], group: &SampleGroup, made: Made) -> Result<Ready, Failure> {
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
        told: Told::default(),
        files: BTreeMap::from([(FileKind::Samples, file.entry)]),
    };
    Ok(Ready { segment, files: vec![(FileKind::Samples, file)] })
}
