//! All events a reader emits for an input, in order.

use crate::format::{Format, FormatError, Reader, ReaderOptions};
use crate::input::parallel::ParallelReading;
use laggard_model::{
    CallRecord, Collect, Loss, Losses, OwnedCall, OwnedSample, OwnedSpan, SampleRecord, Sink, SinkPart,
    SpanRecord,
};
use laggard_parallel::SpareThreads;

/// One event of a reader. Samples are equal when their values have the same bits: a NaN equals itself.
#[derive(Clone, Debug)]
pub enum Event {
    /// A span.
    Span(OwnedSpan),
    /// A call-log record.
    Call(OwnedCall),
    /// A sample.
    Sample(OwnedSample),
    /// A loss with its example.
    Lost(Loss, String),
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        match (self, other) {
            (Event::Span(one), Event::Span(two)) => one == two,
            (Event::Call(one), Event::Call(two)) => one == two,
            (Event::Sample(one), Event::Sample(two)) => is_same_sample(one, two),
            (Event::Lost(loss, example), Event::Lost(other, others)) => loss == other && example == others,
            _ => false,
        }
    }
}

fn is_same_sample(one: &OwnedSample, two: &OwnedSample) -> bool {
    let without_value = |sample: &OwnedSample| OwnedSample { value: 0.0, ..sample.clone() };
    one.value.to_bits() == two.value.to_bits() && without_value(one) == without_value(two)
}

/// All events of a reader for one input.
#[derive(Clone, PartialEq, Debug)]
pub struct Transcript {
    /// In the order of arrival.
    pub events: Vec<Event>,
    /// How it ended.
    pub end: Result<(), FormatError>,
}

/// Reads an input in chunks and records the reader's events.
pub fn transcript<'a>(
    format: &Format,
    options: &ReaderOptions,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Transcript {
    let mut reader = (format.open)(options);
    let mut transcript_sink = TranscriptSink { events: Vec::new() };
    let end = push_all(&mut *reader, chunks, &mut transcript_sink);
    Transcript { events: transcript_sink.events, end }
}

fn push_all<'a>(
    reader: &mut dyn Reader,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    sink: &mut dyn Sink,
) -> Result<(), FormatError> {
    for chunk in chunks {
        reader.push(chunk, sink)?;
    }
    reader.finish(sink)
}

/// The same with blocks of at least `block_bytes`, if the format can be split, which two threads read.
pub(super) fn transcript_in_blocks<'a>(
    format: &Format,
    options: &ReaderOptions,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    block_bytes: usize,
) -> Transcript {
    let mut sink = TranscriptSink { events: Vec::new() };
    let end = push_in_blocks((format.open)(options), chunks, block_bytes, &mut sink);
    Transcript { events: sink.events, end }
}

fn push_in_blocks<'a>(
    mut reader: Box<dyn Reader>,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    block_bytes: usize,
    sink: &mut dyn Sink,
) -> Result<(), FormatError> {
    let mut parallel: Option<ParallelReading> = None;
    for chunk in chunks {
        if parallel.is_none() {
            let splitter = reader.split(block_bytes);
            parallel = splitter.map(|splitter| ParallelReading::new(splitter, None, &SpareThreads::new(1)));
        }
        match &mut parallel {
            Some(parallel) => parallel.push(chunk, sink)?,
            None => reader.push(chunk, sink)?,
        }
    }
    match parallel {
        Some(mut parallel) => parallel.join(sink)?.map_or(Ok(()), |mut reader| reader.finish(sink)),
        None => reader.finish(sink),
    }
}

impl Transcript {
    /// The records, in order.
    pub fn records(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| !matches!(event, Event::Lost(..)))
    }

    /// The losses, counted.
    pub fn losses(&self) -> Losses {
        let mut losses = Losses::none();
        for event in &self.events {
            if let Event::Lost(loss, example) = event {
                losses.add(*loss, || example.clone());
            }
        }
        losses
    }

    pub(super) fn assert_equals(&self, other: &Transcript, what: &str) {
        let differ = self.events.iter().zip(&other.events).position(|(left, right)| left != right);
        if let Some(index) = differ {
            panic!("{what}: event {index} is {:?} instead of {:?}", other.events[index], self.events[index]);
        }
        let (length, others) = (self.events.len(), other.events.len());
        assert_eq!(length, others, "{what}: {others} events instead of {length}");
        assert_eq!(self.end, other.end, "{what}: ends differ");
    }

    pub(super) fn assert_prefix_of(&self, whole: &Transcript, what: &str) {
        let announced = self.losses().count(Loss::TruncatedInput) > 0;
        let count = self.records().count();
        // The truncated record may be passed on as it is, with the corresponding loss.
        let certain = if announced { count.saturating_sub(1) } else { count };
        let mut expected = whole.records();
        for (index, record) in self.records().take(certain).enumerate() {
            let same = expected.next();
            assert_eq!(Some(record), same, "{what}: record {index} is not the complete input's");
        }
    }

    /// Whether nothing was lost.
    pub(super) fn is_clean(&self) -> bool {
        self.end.is_ok() && self.losses().is_empty()
    }
}

/// A sink that records everything as text.
struct TranscriptSink {
    events: Vec<Event>,
}

impl Sink for TranscriptSink {
    fn span(&mut self, span: &SpanRecord<'_>) {
        let mut collect = Collect::default();
        collect.span(span);
        self.events.extend(collect.spans.pop().map(Event::Span));
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        let mut collect = Collect::default();
        collect.call(call);
        self.events.extend(collect.calls.pop().map(Event::Call));
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        let mut collect = Collect::default();
        collect.sample(sample);
        self.events.extend(collect.samples.pop().map(Event::Sample));
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.events.push(Event::Lost(loss, example()));
    }

    fn part(&self) -> Option<Box<dyn SinkPart>> {
        Some(Box::new(TranscriptSink { events: Vec::new() }))
    }

    fn add_part(&mut self, part: &mut dyn SinkPart) {
        self.events.append(&mut part.of::<TranscriptSink>().events);
    }
}

impl SinkPart for TranscriptSink {
    fn records(&self) -> u64 {
        self.events.len() as u64
    }
}
