//! OTLP JSON: one document, or a stream of them, as the Collector's file exporter, Jaeger's v3 API and Tempo
//! write it.
//!
//! ```text
//! {"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[{…},…]}]}]}
//! ```

mod id;
mod span;
#[cfg(test)]
mod tests;

use crate::conventions::{OperationNamer, ResourceAttributes, ResourceNames};
use crate::json_sniff::{self, JsonFormat};
use crate::json_stream::{Scanner, Shape, Step, Visitor};
use crate::lax_json;
use crate::pending::PendingSpans;
use crate::registry::Sniff;
use laggard_model::{Loss, Sink};
use span::{ResourceJson, SpanJson};

/// Whether the input starts with an OTLP JSON document of any signal.
pub(crate) fn sniff(prefix: &[u8]) -> Sniff {
    json_sniff::sniff(prefix, JsonFormat::Otlp)
}

/// Reads a stream of OTLP JSON documents.
#[derive(Debug)]
pub(crate) struct OtlpJson {
    scanner: Scanner<Place>,
    documents: Documents,
}

impl Default for OtlpJson {
    fn default() -> OtlpJson {
        OtlpJson { scanner: Scanner::new(), documents: Documents::default() }
    }
}

impl OtlpJson {
    /// Takes the next bytes.
    pub(crate) fn take(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        self.scanner.push(chunk, &mut self.documents, sink);
    }

    /// The input ends here: counts the document that is cut off.
    pub(crate) fn end(&mut self, sink: &mut dyn Sink) {
        self.scanner.finish(&mut self.documents, sink);
    }
}

/// A level of a document. Levels of lists take an array, or one element without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Top,
    Document,
    /// An object around the document.
    Wrapper,
    ResourceSpansList,
    ResourceSpans,
    Resource,
    ScopeSpansList,
    ScopeSpans,
    SpanList,
    Span,
    /// Where a container should be.
    Misplaced,
}

/// Where the reader is in a document.
#[derive(Debug, Default)]
struct Documents {
    /// What the current document has shown so far.
    content: Content,
    /// The current resource's names, once it has come.
    resource: Option<ResourceNames>,
    pending: PendingSpans,
    namer: OperationNamer,
    repaired: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Content {
    #[default]
    Empty,
    /// Only members that mean nothing here.
    Foreign,
    /// Spans, perhaps none, or another signal, counted.
    Telemetry,
}

impl Documents {
    fn enter_member(&mut self, key: &[u8], sink: &mut dyn Sink) -> Place {
        let found = match key {
            b"resourceSpans" | b"resource_spans" | b"batches" => Place::ResourceSpansList,
            b"result" | b"trace" => Place::Wrapper,
            b"resourceMetrics" | b"resource_metrics" | b"resourceLogs" | b"resource_logs"
            | b"resourceProfiles" | b"resource_profiles" => {
                let name = String::from_utf8_lossy(key).into_owned();
                sink.lose(Loss::OtherSignal, &|| format!("a document of {name}"));
                Place::Top
            }
            _ => {
                if self.content == Content::Empty {
                    self.content = Content::Foreign;
                }
                return Place::Top;
            }
        };
        self.content = Content::Telemetry;
        found
    }

    fn span(&mut self, value: &[u8], sink: &mut dyn Sink) {
        let span = match lax_json::parse::<SpanJson<'_>>(value, &mut self.repaired) {
            Ok(span) => span,
            Err(error) => return sink.lose(Loss::MalformedRecord, &|| format!("a span: {error}")),
        };
        let Some(fields) = span.fields(&mut self.namer, sink) else {
            return;
        };
        match &self.resource {
            Some(names) => fields.emit(names, sink),
            None => self.pending.push(&fields, "", sink),
        }
    }

    fn resource(&mut self, value: &[u8], sink: &mut dyn Sink) {
        let names = match lax_json::parse::<Option<ResourceJson>>(value, &mut self.repaired) {
            Ok(resource) => resource.map(|resource| resource.attributes.0).unwrap_or_default().names(),
            Err(error) => {
                sink.lose(Loss::MalformedRecord, &|| format!("a resource: {error}"));
                ResourceAttributes::default().names()
            }
        };
        self.pending.flush(|_| &names, sink);
        self.resource = Some(names);
    }

    fn leave_document(&mut self, sink: &mut dyn Sink) {
        if self.content == Content::Foreign {
            sink.lose(Loss::MalformedRecord, &|| "a document without resourceSpans".to_owned());
        }
        self.content = Content::Empty;
    }
}

impl Visitor for Documents {
    type Place = Place;
    const TOP: Place = Place::Top;

    fn enter(&mut self, place: Place, key: &[u8], shape: Shape, sink: &mut dyn Sink) -> Step<Place> {
        let below = match (place, shape) {
            (Place::Top, Shape::Object) => Place::Document,
            (Place::ResourceSpansList, Shape::Object) => Place::ResourceSpans,
            (Place::ScopeSpansList, Shape::Object) => Place::ScopeSpans,
            (Place::SpanList, Shape::Object) => return Step::Capture(Place::Span),
            (Place::Top | Place::ResourceSpansList | Place::ScopeSpansList | Place::SpanList, _) => place,
            (Place::Document | Place::Wrapper, _) => self.enter_member(key, sink),
            (Place::ResourceSpans, _) => match key {
                b"resource" => return Step::Capture(Place::Resource),
                b"scopeSpans"
                | b"scope_spans"
                | b"instrumentationLibrarySpans"
                | b"instrumentation_library_spans" => Place::ScopeSpansList,
                _ => return Step::Skip,
            },
            (Place::ScopeSpans, _) if key == b"spans" => Place::SpanList,
            _ => return Step::Skip,
        };
        match (below, shape) {
            // A member of a document that is not for us.
            (Place::Top, _) if place != Place::Top => Step::Skip,
            (_, Shape::Scalar) => Step::Capture(Place::Misplaced),
            (Place::ResourceSpans, _) => {
                self.resource = None;
                Step::Descend(below)
            }
            _ => Step::Descend(below),
        }
    }

    fn captured(&mut self, place: Place, value: &[u8], sink: &mut dyn Sink) {
        match place {
            Place::Span => self.span(value, sink),
            Place::Resource => self.resource(value, sink),
            _ if value == b"null" => {}
            _ => sink.lose(Loss::MalformedRecord, &|| {
                let shown = String::from_utf8_lossy(&value[..value.len().min(40)]);
                format!("{shown} where an object or an array should be")
            }),
        }
    }

    fn leave(&mut self, place: Place, sink: &mut dyn Sink) {
        match place {
            Place::Document => self.leave_document(sink),
            Place::ResourceSpans => {
                let unknown = ResourceNames::default();
                self.pending.flush(|_| &unknown, sink);
                self.resource = None;
            }
            _ => {}
        }
    }

    fn abandon(&mut self, cause: Loss, sink: &mut dyn Sink) {
        self.pending.abandon(cause, sink);
        self.resource = None;
        self.content = Content::Empty;
    }
}
