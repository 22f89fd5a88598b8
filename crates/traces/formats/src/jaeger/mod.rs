//! Jaeger JSON: what the query API returns and the UI saves, and spans as Elasticsearch stores them.
//!
//! ```text
//! {"data":[{"traceID":…,"spans":[{…},…],"processes":{"p1":{…}}}]}    query API, saved traces
//! {"traceID":…,"spans":[…],"processes":{…}}                          one trace, also one a line
//! {"traceID":…,"spanID":…,"process":{…}}                             Elasticsearch, one span a document
//! {"hits":{"hits":[{"_source":{…}}]}}                                … and as a search returns them
//! ```
//!
//! Spans name their process; spans before the processes wait for them.

mod span;
mod split;
#[cfg(test)]
mod tests;

use crate::conventions::{OperationNamer, ResourceNames};
use crate::format::{Format, FormatError, GroundTable, Reader, ReaderOptions, Recognizer, Splitter};
use crate::json_stream::{CAPTURE_BYTES_MAX, Scanner, Shape, ValueAction, Visitor};
use crate::lax_json;
use crate::pending::PendingSpans;
use crate::sampling::WantedAttributes;
use crate::split::BoundarySplitter;
use laggard_model::{AttributeText, Loss, Sink};
use span::{JaegerSpan, Processes};
use split::{TraceBoundaries, is_between_traces};
use std::collections::HashMap;

/// The row in [`FORMATS`](crate::FORMATS).
pub(crate) const FORMAT: Format = Format {
    name: "jaeger",
    title: "Jaeger JSON",
    manual: "docs/manual/formats/jaeger.md",
    fills: GroundTable::Spans,
    recognizer: Recognizer::JsonMembers(&["traceID", "spanID", "processes", "operationName", "processID"]),
    open,
};

fn open(options: &ReaderOptions) -> Box<dyn Reader> {
    let documents = JaegerDocuments { wanted: WantedAttributes::new(options), ..JaegerDocuments::default() };
    Box::new(Jaeger { scanner: Scanner::new(), documents })
}

struct Jaeger {
    scanner: Scanner<JaegerLevel>,
    documents: JaegerDocuments,
}

impl Reader for Jaeger {
    fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), FormatError> {
        self.scanner.push(chunk, &mut self.documents, sink);
        Ok(())
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), FormatError> {
        self.scanner.finish(&mut self.documents, sink);
        Ok(())
    }

    fn split(&mut self, block_bytes: usize) -> Option<Box<dyn Splitter>> {
        if !self.scanner.is_new() {
            return None;
        }
        let boundaries = TraceBoundaries::new(&self.documents.wanted);
        let documents =
            JaegerDocuments { wanted: self.documents.wanted.clone(), ..JaegerDocuments::default() };
        let reader = Jaeger { scanner: Scanner::new(), documents };
        Some(Box::new(BoundarySplitter::new(Box::new(reader), boundaries, 0, block_bytes)))
    }

    fn is_at_boundary(&self) -> bool {
        is_between_traces(&self.scanner, &self.documents)
    }
}

/// A level of a document. Lists take arrays, arrays of these, or one element without an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JaegerLevel {
    /// Where traces, lone spans and wrappers of them are, alone or in arrays.
    JaegerDocuments,
    /// In one of these.
    JaegerDocument,
    SpanList,
    Span,
    Processes,
    /// A member of a lone span; the number is its index in [`SPAN_MEMBERS`].
    Member(usize),
    /// Where a container should be.
    Misplaced,
}

/// The members of a span that are of use.
const SPAN_MEMBERS: [&str; 11] = [
    "traceID",
    "spanID",
    "parentSpanID",
    "operationName",
    "references",
    "startTime",
    "duration",
    "tags",
    "tag",
    "processID",
    "process",
];

/// Where the reader is.
#[derive(Debug, Default)]
struct JaegerDocuments {
    /// The documents that are open, outermost first.
    open: Vec<JaegerDocument>,
    /// Spans of the innermost document that has any.
    pending: PendingSpans,
    namer: OperationNamer,
    /// The selected attributes of the last span.
    attributes: AttributeText,
    wanted: WantedAttributes,
    repaired: String,
}

/// Members of the document seen so far.
#[derive(Debug, Default)]
struct JaegerDocument {
    content: JaegerContent,
    /// Names by process id, once they were read.
    processes: Option<HashMap<String, ResourceNames>>,
    /// The members of a lone span, as JSON with a comma after each.
    members: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum JaegerContent {
    #[default]
    Empty,
    /// Only members that are ignored.
    Foreign,
    /// A span without a trace around it.
    LoneSpan,
    /// Traces or spans are in it, perhaps none.
    Wrapper,
}

impl JaegerDocument {
    fn see(&mut self, content: JaegerContent) {
        self.content = self.content.max(content);
    }
}

impl JaegerDocuments {
    fn enter_member(&mut self, key: &[u8], shape: Shape, sink: &mut dyn Sink) -> ValueAction<JaegerLevel> {
        let has_pending = !self.pending.is_empty();
        let document = self.open.last_mut().expect("a member is in an open document");
        let below = match key {
            b"spans" => JaegerLevel::SpanList,
            b"data" | b"hits" | b"_source" | b"result" if has_pending => {
                // The waiting spans belong to this document and not to one inside it.
                let shown = String::from_utf8_lossy(key).into_owned();
                sink.lose(Loss::MalformedRecord, &|| format!("{shown} inside a trace"));
                return ValueAction::Skip;
            }
            b"data" | b"hits" | b"_source" | b"result" => JaegerLevel::JaegerDocuments,
            b"processes" => {
                document.see(JaegerContent::Wrapper);
                return ValueAction::Capture(JaegerLevel::Processes);
            }
            _ => {
                let member = SPAN_MEMBERS.iter().position(|name| name.as_bytes() == key);
                document.see(if key == b"spanID" { JaegerContent::LoneSpan } else { JaegerContent::Foreign });
                return member
                    .map_or(ValueAction::Skip, |member| ValueAction::Capture(JaegerLevel::Member(member)));
            }
        };
        document.see(JaegerContent::Wrapper);
        self.enter_list(below, shape)
    }

    /// A list, or an element of one, starts.
    fn enter_list(&mut self, list: JaegerLevel, shape: Shape) -> ValueAction<JaegerLevel> {
        match (shape, list) {
            (Shape::Array, _) => ValueAction::Descend(list),
            (Shape::Scalar, _) => ValueAction::Capture(JaegerLevel::Misplaced),
            (Shape::Object, JaegerLevel::SpanList) => ValueAction::Capture(JaegerLevel::Span),
            (Shape::Object, _) => {
                self.open.push(JaegerDocument::default());
                ValueAction::Descend(JaegerLevel::JaegerDocument)
            }
        }
    }

    /// Stores a member that belongs to the document if it turns out to be a span.
    fn member(&mut self, member: usize, value: &[u8], sink: &mut dyn Sink) {
        let document = self.open.last_mut().expect("a member is in an open document");
        // Traces have some of these members too; they are not for us.
        if document.content == JaegerContent::Wrapper {
            return;
        }
        let name = SPAN_MEMBERS[member];
        if document.members.len() + value.len() > CAPTURE_BYTES_MAX {
            sink.lose(Loss::OversizedRecord, &|| format!("a span is too large for its {name}"));
            return;
        }
        document.members.extend_from_slice(format!("\"{name}\":").as_bytes());
        document.members.extend_from_slice(value);
        document.members.push(b',');
    }

    fn span(&mut self, value: &[u8], sink: &mut dyn Sink) {
        let span = match lax_json::parse::<JaegerSpan<'_>>(value, &mut self.repaired) {
            Ok(span) => span,
            Err(error) => return sink.lose(Loss::MalformedRecord, &|| format!("a span: {error}")),
        };
        let Some(fields) = span.fields(&mut self.namer, &mut self.attributes, &self.wanted, sink) else {
            return;
        };
        let processes = self.open.last().and_then(|document| document.processes.as_ref());
        match (span.process_names(&self.wanted.selected), processes) {
            (Some(names), _) => fields.emit(&names, sink),
            (None, Some(processes)) => match processes.get(span.process_id()) {
                Some(names) => fields.emit(names, sink),
                None => fields.emit(&ResourceNames::default(), sink),
            },
            (None, None) => self.pending.push(&fields, span.process_id(), sink),
        }
    }

    fn processes(&mut self, value: &[u8], sink: &mut dyn Sink) {
        let processes = match lax_json::parse::<Processes<'_>>(value, &mut self.repaired) {
            Ok(processes) => processes.names(&self.wanted.selected),
            Err(error) => {
                sink.lose(Loss::MalformedRecord, &|| format!("processes: {error}"));
                HashMap::new()
            }
        };
        self.flush(&processes, sink);
        let document = self.open.last_mut().expect("processes are in an open document");
        document.processes = Some(processes);
    }

    /// Emits the waiting spans.
    fn flush(&mut self, processes: &HashMap<String, ResourceNames>, sink: &mut dyn Sink) {
        let unknown = ResourceNames::default();
        self.pending.flush(|process| processes.get(process).unwrap_or(&unknown), sink);
    }

    fn leave_document(&mut self, sink: &mut dyn Sink) {
        self.flush(&HashMap::new(), sink);
        let Some(mut document) = self.open.pop() else {
            return;
        };
        match document.content {
            JaegerContent::Empty | JaegerContent::Wrapper => {}
            JaegerContent::Foreign => sink.lose(Loss::MalformedRecord, &|| {
                "a document that is neither a trace nor a span nor a list of them".to_owned()
            }),
            JaegerContent::LoneSpan => {
                document.members.insert(0, b'{');
                document.members.pop();
                document.members.push(b'}');
                self.span(&document.members, sink);
                // A span that names no process has none.
                self.flush(&HashMap::new(), sink);
            }
        }
    }
}

impl Visitor<JaegerLevel> for JaegerDocuments {
    const TOP: JaegerLevel = JaegerLevel::JaegerDocuments;

    fn enter(
        &mut self,
        level: JaegerLevel,
        key: &[u8],
        shape: Shape,
        sink: &mut dyn Sink,
    ) -> ValueAction<JaegerLevel> {
        if level == JaegerLevel::JaegerDocument {
            self.enter_member(key, shape, sink)
        } else {
            self.enter_list(level, shape)
        }
    }

    fn captured(&mut self, level: JaegerLevel, value: &[u8], sink: &mut dyn Sink) {
        match level {
            JaegerLevel::Span => self.span(value, sink),
            JaegerLevel::Processes => self.processes(value, sink),
            JaegerLevel::Member(member) => self.member(member, value, sink),
            _ if value == b"null" => {}
            _ => sink.lose(Loss::MalformedRecord, &|| {
                let shown = String::from_utf8_lossy(&value[..value.len().min(40)]);
                format!("{shown} where traces or spans should be")
            }),
        }
    }

    fn leave(&mut self, level: JaegerLevel, sink: &mut dyn Sink) {
        if level == JaegerLevel::JaegerDocument {
            self.leave_document(sink);
        }
    }

    fn abandon(&mut self, cause: Loss, sink: &mut dyn Sink) {
        self.pending.abandon(cause, sink);
        self.open.clear();
    }
}
