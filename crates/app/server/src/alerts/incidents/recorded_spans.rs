//! The calls of a suspect that lie within recordings of its replicas, with the threads that handled them.

use super::super::store_reader::StoreReader;
use crate::recordings::RecordingRequest;
use laggard_kernel_graph::{HostId, SpanInterval, SpanThread, TraceContext};
use laggard_model::{CallRecord, Loss, SampleRecord, Sink, SpanRecord, Timestamp};
use laggard_report::Suspect;

// Limit: calls of a host that are compared in an incident's recordings | the earliest stored are taken
/// Most spans of a host.
const SPANS_MAX: usize = 10_000;

/// The spans of a suspect on the hosts of some recordings, in the order of the recordings; those without a thread are left out.
/// None where the store cannot be read.
pub(super) fn spans_of<const N: usize>(
    reader: &StoreReader,
    lead: &Suspect,
    recordings: [&RecordingRequest; N],
) -> [Vec<SpanInterval>; N] {
    let mut sink = RecordedSpans { lead, recordings, spans: [const { Vec::new() }; N] };
    let since = recordings.iter().map(|recording| recording.since_ns).min().unwrap_or(i64::MAX);
    let until = recordings.iter().map(|recording| recording.until_ns).max().unwrap_or(i64::MIN);
    let (since, until) = (Timestamp::from_unix_ns(since), Timestamp::from_unix_ns(until));
    if let Err(error) = reader.handle.block_on(reader.view.spans(since, until, &mut sink)) {
        tracing::warn!(%error, "the spans of recordings could not be read");
    }
    sink.spans
}

struct RecordedSpans<'a, const N: usize> {
    lead: &'a Suspect,
    recordings: [&'a RecordingRequest; N],
    spans: [Vec<SpanInterval>; N],
}

impl<const N: usize> Sink for RecordedSpans<'_, N> {
    fn span(&mut self, span: &SpanRecord<'_>) {
        let lead = self.lead;
        let Some(tid) = span.attributes.thread else { return };
        if span.operation != lead.operation || span.service != lead.service || span.kind.name() != lead.kind {
            return;
        }
        let (start, end) = (span.start.unix_ns(), span.start.plus(span.inclusive).unix_ns());
        let is_inside = |recording: &&RecordingRequest| {
            recording.host == span.replica && start >= recording.since_ns && end <= recording.until_ns
        };
        let Some(at) = self.recordings.iter().position(is_inside) else { return };
        if self.spans[at].len() < SPANS_MAX {
            self.spans[at].push(SpanInterval {
                label: format!("{} {}", span.service, span.operation),
                context: TraceContext { trace: span.trace_id, span: span.span_id },
                start: span.start,
                inclusive: span.inclusive,
                thread: Some(SpanThread { host: HostId::default(), tid }),
            });
        }
    }

    fn call(&mut self, _: &CallRecord<'_>) {}

    fn sample(&mut self, _: &SampleRecord<'_>) {}

    fn lose(&mut self, _: Loss, _: &dyn Fn() -> String) {}
}
