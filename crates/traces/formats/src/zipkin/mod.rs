//! Zipkin v2 JSON: arrays of spans, arrays of such arrays as the API returns traces, and spans one a line.
//!
//! ```text
//! [{"traceId":…,"id":…,"kind":"SERVER","localEndpoint":{…},"timestamp":µs,"duration":µs,"tags":{…}},…]
//! ```
//!
//! The halves of a shared span are two spans of one id, kinds client and server, and are
//! emitted as such.

pub(crate) mod protobuf;
mod span;
mod split;
#[cfg(test)]
mod tests;

use crate::conventions::OperationNamer;
use crate::format::{Format, FormatError, GroundTable, Reader, ReaderOptions, Recognizer, Splitter};
use crate::json_stream::{Scanner, Shape, ValueAction, Visitor};
use crate::lax_json;
use crate::sampling::WantedAttributes;
use laggard_model::{Loss, Sink};
use span::ZipkinSpan;
use split::ZipkinSplitter;

/// The row in [`FORMATS`](crate::FORMATS).
pub(crate) const FORMAT: Format = Format {
    name: "zipkin",
    title: "Zipkin v2 JSON",
    manual: "docs/manual/formats/zipkin.md",
    fills: GroundTable::Spans,
    recognizer: Recognizer::JsonMembers(&["traceId", "parentId", "localEndpoint", "binaryAnnotations"]),
    open,
};

fn open(options: &ReaderOptions) -> Box<dyn Reader> {
    Box::new(Zipkin::new(&WantedAttributes::new(options)))
}

pub(crate) struct Zipkin {
    scanner: Scanner<ZipkinLevel>,
    spans: Spans,
}

impl Zipkin {
    pub(crate) fn new(wanted: &WantedAttributes) -> Zipkin {
        let spans = Spans { wanted: wanted.clone(), ..Spans::default() };
        Zipkin { scanner: Scanner::new(), spans }
    }

    /// What is wrong with the arrays as such: spans that could not be read are no damage.
    pub(crate) fn take_damage(&mut self) -> Option<String> {
        self.scanner.take_damage()
    }
}

impl Reader for Zipkin {
    fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), FormatError> {
        self.scanner.push(chunk, &mut self.spans, sink);
        Ok(())
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), FormatError> {
        self.scanner.finish(&mut self.spans, sink);
        Ok(())
    }

    fn split(&mut self, block_bytes: usize) -> Option<Box<dyn Splitter>> {
        self.scanner.is_new().then(|| Box::new(ZipkinSplitter::new(&self.spans.wanted, block_bytes)) as _)
    }
}

/// The only level: lists of spans, and lists of lists.
#[derive(Clone, Copy, Debug)]
struct ZipkinLevel;

#[derive(Debug, Default)]
struct Spans {
    namer: OperationNamer,
    wanted: WantedAttributes,
    repaired: String,
}

/// Lists of any depth are entered, everything in them should be a span.
fn action(level: ZipkinLevel, shape: Shape) -> ValueAction<ZipkinLevel> {
    if shape == Shape::Array { ValueAction::Descend(level) } else { ValueAction::Capture(level) }
}

impl Visitor<ZipkinLevel> for Spans {
    const TOP: ZipkinLevel = ZipkinLevel;

    fn enter(
        &mut self,
        level: ZipkinLevel,
        _: &[u8],
        shape: Shape,
        _: &mut dyn Sink,
    ) -> ValueAction<ZipkinLevel> {
        action(level, shape)
    }

    fn captured(&mut self, _: ZipkinLevel, value: &[u8], sink: &mut dyn Sink) {
        let span = match lax_json::parse::<Option<ZipkinSpan<'_>>>(value, &mut self.repaired) {
            Ok(Some(span)) => span,
            Ok(None) => return,
            Err(error) => return sink.lose(Loss::MalformedRecord, &|| format!("a span: {error}")),
        };
        span.emit(&mut self.namer, &self.wanted, sink);
    }

    fn leave(&mut self, _: ZipkinLevel, _: &mut dyn Sink) {}

    fn abandon(&mut self, _: Loss, _: &mut dyn Sink) {}
}
