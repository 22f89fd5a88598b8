//! Cuts what Jaeger's query API returns between traces.

use super::{Jaeger, JaegerContent, JaegerDocument, JaegerDocuments, JaegerLevel};
use crate::format::Reader;
use crate::json_stream::{Scanner, Shape, ValueAction, Visitor};
use crate::sampling::WantedAttributes;
use crate::split::Boundaries;
use laggard_model::{CallRecord, Loss, Sink, SpanRecord};

/// Follows the structure of a document around its traces.
pub(super) struct TraceBoundaries {
    scanner: Scanner<JaegerLevel>,
    outline: Outline,
    wanted: WantedAttributes,
}

impl TraceBoundaries {
    pub(super) fn new(wanted: &WantedAttributes) -> TraceBoundaries {
        TraceBoundaries {
            scanner: Scanner::new(),
            outline: Outline(JaegerDocuments::default()),
            wanted: wanted.clone(),
        }
    }
}

impl Boundaries for TraceBoundaries {
    fn advance(&mut self, chunk: &[u8], mut from: usize) -> Option<usize> {
        loop {
            from += self.scanner.push_to_value_end(&chunk[from..], &mut self.outline, &mut NoSink)?;
            if is_between_traces(&self.scanner, &self.outline.0) {
                return Some(from);
            }
        }
    }

    fn open(&self, _: u64) -> Box<dyn Reader> {
        let document = JaegerDocument { content: JaegerContent::Wrapper, ..JaegerDocument::default() };
        let documents = JaegerDocuments {
            open: vec![document],
            wanted: self.wanted.clone(),
            ..JaegerDocuments::default()
        };
        Box::new(Jaeger { scanner: self.scanner.clone(), documents })
    }

    fn is_inside(&self) -> bool {
        !is_between_traces(&self.scanner, &self.outline.0)
    }
}

/// Whether the next trace of a list could be read by itself: nothing is known that it, or what follows the list, depends on.
pub(super) fn is_between_traces(scanner: &Scanner<JaegerLevel>, documents: &JaegerDocuments) -> bool {
    let [document] = documents.open.as_slice() else { return false };
    let in_list = scanner
        .is_behind_element(&[(JaegerLevel::JaegerDocument, true), (JaegerLevel::JaegerDocuments, false)]);
    let is_wrapper = document.content == JaegerContent::Wrapper;
    in_list
        && is_wrapper
        && document.processes.is_none()
        && document.members.is_empty()
        && documents.pending.is_empty()
}

/// Enters what is around traces, as the reader does, and passes over the traces.
struct Outline(JaegerDocuments);

impl Visitor<JaegerLevel> for Outline {
    const TOP: JaegerLevel = JaegerDocuments::TOP;

    fn enter(
        &mut self,
        level: JaegerLevel,
        key: &[u8],
        shape: Shape,
        sink: &mut dyn Sink,
    ) -> ValueAction<JaegerLevel> {
        let is_trace = level == JaegerLevel::JaegerDocuments && shape == Shape::Object;
        if is_trace && !self.0.open.is_empty() {
            return ValueAction::Skip;
        }
        match self.0.enter(level, key, shape, sink) {
            ValueAction::Capture(_) => ValueAction::Skip,
            action => action,
        }
    }

    fn captured(&mut self, _: JaegerLevel, _: &[u8], _: &mut dyn Sink) {}

    fn leave(&mut self, level: JaegerLevel, sink: &mut dyn Sink) {
        self.0.leave(level, sink);
    }

    fn abandon(&mut self, cause: Loss, sink: &mut dyn Sink) {
        self.0.abandon(cause, sink);
    }
}

/// For losses that the readers of the blocks count.
struct NoSink;

impl Sink for NoSink {
    fn span(&mut self, _: &SpanRecord<'_>) {}

    fn call(&mut self, _: &CallRecord<'_>) {}

    fn lose(&mut self, _: Loss, _: &dyn Fn() -> String) {}
}
