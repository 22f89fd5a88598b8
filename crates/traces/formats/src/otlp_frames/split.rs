//! Cuts OTLP between lines of JSON and between length-prefixed messages.

use super::{FrameAction, FrameMessage, Otlp, OtlpFrames, Stream};
use crate::format::{Reader, Splitter};
use crate::metrics::MetricSamples;
use crate::otlp_json::OtlpJson;
use crate::split::{BoundarySplitter, DocumentLines, LengthPrefixes};

impl Otlp {
    pub(super) fn split_lines(
        &mut self,
        reader: Box<OtlpJson>,
        block_bytes: usize,
    ) -> Option<Box<dyn Splitter>> {
        let (position, metrics) = (reader.position(), reader.metrics_for_another_part());
        let this = self.with(Stream::FrameMessage(FrameMessage::Json(reader)));
        let Some(metrics) = metrics else {
            *self = this;
            return None;
        };
        let empty = self.with_no_stream();
        let lines = DocumentLines::new(move |position| {
            let metrics = metrics.for_another_part().unwrap_or_default();
            let reader = OtlpJson::starting_at(position, &empty.wanted, metrics);
            Box::new(empty.with(Stream::FrameMessage(FrameMessage::Json(Box::new(reader))))) as _
        });
        Some(Box::new(BoundarySplitter::new(Box::new(this), lines, position, block_bytes)))
    }

    pub(super) fn split_frames(
        &mut self,
        frames: Box<OtlpFrames>,
        block_bytes: usize,
    ) -> Option<Box<dyn Splitter>> {
        let (length, left) = match &frames.next {
            FrameAction::Length => (frames.held.clone(), 0),
            FrameAction::Begin(left) | FrameAction::Plain { left, .. } | FrameAction::Skip(left) => {
                (Vec::new(), *left)
            }
            FrameAction::Compressed { length } => (Vec::new(), length - frames.held.len() as u64),
            FrameAction::Damage => {
                self.stream = Some(Stream::Frames(frames));
                return None;
            }
        };
        let messages = frames.messages;
        let Some(metrics) = frames.metrics_for_another_part() else {
            self.stream = Some(Stream::Frames(frames));
            return None;
        };
        let this = self.with(Stream::Frames(frames));
        let empty = self.with_no_stream();
        let open = move |messages| {
            let metrics = metrics.for_another_part().unwrap_or_default();
            let frames =
                OtlpFrames { messages, metrics, wanted: empty.wanted.clone(), ..OtlpFrames::default() };
            Box::new(empty.with(Stream::Frames(Box::new(frames)))) as Box<dyn Reader>
        };
        let prefixes = LengthPrefixes { length, left, messages, open };
        Some(Box::new(BoundarySplitter::new(Box::new(this), prefixes, 0, block_bytes)))
    }

    fn with_no_stream(&self) -> Otlp {
        let metrics = MetricSamples::default();
        Otlp { choose: self.choose, stream: None, wanted: self.wanted.clone(), metrics }
    }

    /// The same input in the middle of a stream.
    fn with(&self, stream: Stream) -> Otlp {
        Otlp { stream: Some(stream), ..self.with_no_stream() }
    }
}

impl OtlpFrames {
    /// Metrics for another part of the input; `None` once there are any.
    fn metrics_for_another_part(&self) -> Option<MetricSamples> {
        match &self.next {
            FrameAction::Plain { message: FrameMessage::Json(reader), .. } => {
                reader.metrics_for_another_part()
            }
            FrameAction::Plain { message: FrameMessage::Protobuf(reader), .. } => {
                reader.metrics_for_another_part()
            }
            _ => self.metrics.for_another_part(),
        }
    }

    /// Whether a length is next, and no metric makes the next messages depend on these.
    pub(super) fn is_at_length(&self) -> bool {
        matches!(self.next, FrameAction::Length)
            && self.held.is_empty()
            && self.metrics.for_another_part().is_some()
    }
}
