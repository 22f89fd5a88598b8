//! The answer of a server as traces, by the reader of its format.

use laggard_formats::{Format, FormatError, ReaderOptions};
use laggard_model::{CallRecord, Loss, Losses, OwnedSpan, Sink, SpanRecord, Timestamp, TraceId};
use std::collections::HashMap;

/// A trace of an answer: at least one span.
#[derive(Debug)]
pub(crate) struct AnsweredTrace {
    pub(crate) id: TraceId,
    pub(crate) spans: Vec<OwnedSpan>,
}

/// The traces of an answer, in its order.
#[derive(Debug, Default)]
pub(crate) struct TraceDocument {
    pub(crate) traces: Vec<AnsweredTrace>,
    pub(crate) losses: Losses,
    indexes: HashMap<TraceId, usize>,
}

impl AnsweredTrace {
    /// The time that decides which slice the trace belongs to: when its first root starts, or its first span if it has none; with
    /// a service, of that service's spans. A search for the service in the slice of that time returns the trace.
    pub(crate) fn start(&self, service: Option<&str>) -> Option<Timestamp> {
        let of_service = self.spans.iter().filter(|span| service.is_none_or(|name| span.service == name));
        // Spans of the service that cannot be read are a loss; the rest of their trace is not another one.
        first_start(of_service).or_else(|| first_start(self.spans.iter()))
    }
}

fn first_start<'a>(spans: impl Iterator<Item = &'a OwnedSpan> + Clone) -> Option<Timestamp> {
    let roots = spans.clone().filter(|span| span.parent.is_none());
    roots.map(|span| span.start).min().or_else(|| spans.map(|span| span.start).min())
}

impl TraceDocument {
    /// Reads an answer.
    pub(crate) fn read(
        format: &Format,
        options: &ReaderOptions,
        answer: &[u8],
    ) -> Result<TraceDocument, FormatError> {
        let mut document = TraceDocument::default();
        let mut reader = (format.open)(options);
        reader.push(answer, &mut document)?;
        reader.finish(&mut document)?;
        Ok(document)
    }
}

impl Sink for TraceDocument {
    fn span(&mut self, span: &SpanRecord<'_>) {
        let index = *self.indexes.entry(span.trace_id).or_insert_with(|| {
            self.traces.push(AnsweredTrace { id: span.trace_id, spans: Vec::new() });
            self.traces.len() - 1
        });
        self.traces[index].spans.push(OwnedSpan::from_record(span));
    }

    fn call(&mut self, _call: &CallRecord<'_>) {
        self.losses.add(Loss::OtherSignal, || "a record of a call log".to_owned());
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.losses.add(loss, example);
    }
}
