//! OTLP JSON: one document, or a stream of them, as the Collector's file exporter, Jaeger's v3 API and Tempo
//! write it.
//!
//! ```text
//! {"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[{…},…]}]}]}
//! ```

mod id;
mod metric;
mod span;
#[cfg(test)]
mod tests;

use crate::attributes_json::{self, SamplingTags};
use crate::conventions::{OperationNamer, ResourceAttributes, ResourceNames};
use crate::format::Sniff;
use crate::json_sniff::{self, JsonFormat};
use crate::json_stream::{Scanner, Shape, Step, Visitor};
use crate::lax_json;
use crate::metrics::{MetricSamples, WaitingMetrics};
use crate::pending::PendingSpans;
use crate::sampling::{SamplingAttributes, WeightAttributes};
use laggard_model::{Loss, Sink, TailSampler};
use span::{AttributesJson, SpanJson};

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

impl OtlpJson {
    /// A reader.
    pub(crate) fn new(weights: &WeightAttributes, metrics: MetricSamples) -> OtlpJson {
        let documents = Documents { weights: weights.clone(), metrics, ..Documents::default() };
        OtlpJson { scanner: Scanner::new(), documents }
    }

    /// What is known of metrics, for the next message of the input.
    pub(crate) fn take_metrics(&mut self) -> MetricSamples {
        std::mem::take(&mut self.documents.metrics)
    }

    /// What is wrong with the documents as such: records that could not be read are no damage.
    pub(crate) fn take_damage(&mut self) -> Option<String> {
        self.scanner.take_damage()
    }

    /// Takes the next bytes.
    pub(crate) fn take(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        self.scanner.push(chunk, &mut self.documents, sink);
    }

    /// The input ends here: counts the document that is cut off.
    pub(crate) fn end(&mut self, sink: &mut dyn Sink) {
        self.scanner.finish(&mut self.documents, sink);
    }
}

/// A level of a document. Lists take arrays, arrays of these, or one element without an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    DocumentList,
    Document,
    ResourceSpansList,
    ResourceSpans,
    Resource,
    ScopeSpansList,
    ScopeSpans,
    Scope,
    SpanList,
    Span,
    ResourceMetricsList,
    ResourceMetrics,
    ScopeMetricsList,
    ScopeMetrics,
    MetricList,
    Metric,
    /// Where a container should be.
    Misplaced,
}

/// Where the reader is in a document.
#[derive(Debug, Default)]
struct Documents {
    /// Documents that are open: more than one when a wrapper is.
    open: u32,
    /// What the outermost document has shown so far.
    content: Content,
    /// The current resource's names, once it has come.
    resource: Option<ResourceNames>,
    /// The mark of a tail sampler on the current scope.
    tail_sampler: Option<TailSampler>,
    weights: WeightAttributes,
    pending: PendingSpans,
    namer: OperationNamer,
    repaired: String,
    metrics: MetricSamples,
    waiting: WaitingMetrics,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum Content {
    #[default]
    Empty,
    /// Only members that mean nothing here.
    Foreign,
    /// Spans, perhaps none, or another signal, counted.
    Telemetry,
}

impl Documents {
    /// A member of a document starts; returns the list that it is, if it is one of ours.
    fn enter_member(&mut self, key: &[u8], sink: &mut dyn Sink) -> Option<Place> {
        let (content, found) = match key {
            b"resourceSpans" | b"resource_spans" | b"batches" => {
                (Content::Telemetry, Some(Place::ResourceSpansList))
            }
            // Wrappers: the document inside says what they are.
            b"result" | b"trace" => (Content::Empty, Some(Place::DocumentList)),
            b"resourceMetrics" | b"resource_metrics" => {
                (Content::Telemetry, Some(Place::ResourceMetricsList))
            }
            b"resourceLogs" | b"resource_logs" | b"resourceProfiles" | b"resource_profiles" => {
                let name = String::from_utf8_lossy(key).into_owned();
                sink.lose(Loss::OtherSignal, &|| format!("a document of {name}"));
                (Content::Telemetry, None)
            }
            _ => (Content::Foreign, None),
        };
        self.content = self.content.max(content);
        found
    }

    /// A list, or an element of one, starts.
    fn enter_list(&mut self, list: Place, shape: Shape) -> Step<Place> {
        let element = match (shape, list) {
            (Shape::Array, _) => return Step::Descend(list),
            (Shape::Scalar, _) => return Step::Capture(Place::Misplaced),
            (Shape::Object, Place::SpanList) => return Step::Capture(Place::Span),
            (Shape::Object, Place::ScopeSpansList) => {
                self.tail_sampler = None;
                Place::ScopeSpans
            }
            (Shape::Object, Place::ResourceSpansList) => {
                self.resource = None;
                Place::ResourceSpans
            }
            (Shape::Object, Place::MetricList) => return Step::Capture(Place::Metric),
            (Shape::Object, Place::ScopeMetricsList) => Place::ScopeMetrics,
            (Shape::Object, Place::ResourceMetricsList) => {
                self.resource = None;
                Place::ResourceMetrics
            }
            (Shape::Object, _) => {
                self.open += 1;
                Place::Document
            }
        };
        Step::Descend(element)
    }

    fn span(&mut self, value: &[u8], sink: &mut dyn Sink) {
        let span = match lax_json::parse::<SpanJson<'_>>(value, &mut self.repaired) {
            Ok(span) => span,
            Err(error) => return sink.lose(Loss::MalformedRecord, &|| format!("a span: {error}")),
        };
        let Some(mut fields) = span.fields(&mut self.namer, &self.weights, sink) else {
            return;
        };
        fields.sampling.tail_sampler = fields.sampling.tail_sampler.or(self.tail_sampler);
        match &self.resource {
            Some(names) => fields.emit(names, sink),
            None => self.pending.push(&fields, "", sink),
        }
    }

    fn resource(&mut self, value: &[u8], sink: &mut dyn Sink) {
        let mut attributes = ResourceAttributes::default();
        let read =
            lax_json::parse::<Option<AttributesJson<'_>>>(value, &mut self.repaired).and_then(|resource| {
                attributes_json::read(resource.and_then(|it| it.attributes), &mut attributes)
            });
        if let Err(error) = read {
            sink.lose(Loss::MalformedRecord, &|| format!("a resource: {error}"));
        }
        let names = attributes.names();
        self.give_pending(&names, sink);
        self.resource = Some(names);
    }

    /// Hands on what has waited for its resource.
    fn give_pending(&mut self, names: &ResourceNames, sink: &mut dyn Sink) {
        self.pending.flush(|_| names, sink);
        for value in self.waiting.take() {
            metric::read(&value, names, &mut self.metrics, &mut self.repaired, sink);
        }
    }

    fn metric(&mut self, value: &[u8], sink: &mut dyn Sink) {
        match &self.resource {
            Some(names) => metric::read(value, names, &mut self.metrics, &mut self.repaired, sink),
            None => self.waiting.push(value, sink),
        }
    }

    /// Takes a scope, which concerns the spans after it. One that cannot be read bears no mark.
    fn scope(&mut self, value: &[u8]) {
        let mut taken = SamplingTags { weights: &self.weights, sampling: SamplingAttributes::default() };
        let read = lax_json::parse::<Option<AttributesJson<'_>>>(value, &mut self.repaired)
            .and_then(|scope| attributes_json::read(scope.and_then(|it| it.attributes), &mut taken));
        self.tail_sampler = read.ok().and_then(|()| taken.sampling.tail_sampler());
    }

    fn leave_document(&mut self, sink: &mut dyn Sink) {
        self.open -= 1;
        if self.open > 0 {
            return;
        }
        if self.content == Content::Foreign {
            sink.lose(Loss::MalformedRecord, &|| {
                "a document without resourceSpans or resourceMetrics".to_owned()
            });
        }
        self.content = Content::Empty;
    }
}

impl Visitor for Documents {
    type Place = Place;
    const TOP: Place = Place::DocumentList;

    fn enter(&mut self, place: Place, key: &[u8], shape: Shape, sink: &mut dyn Sink) -> Step<Place> {
        let list = match (place, key) {
            (Place::Document, _) => self.enter_member(key, sink),
            (Place::ResourceSpans | Place::ResourceMetrics, b"resource") => {
                return Step::Capture(Place::Resource);
            }
            (
                Place::ResourceSpans,
                b"scopeSpans"
                | b"scope_spans"
                | b"instrumentationLibrarySpans"
                | b"instrumentation_library_spans",
            ) => Some(Place::ScopeSpansList),
            (
                Place::ResourceMetrics,
                b"scopeMetrics"
                | b"scope_metrics"
                | b"instrumentationLibraryMetrics"
                | b"instrumentation_library_metrics",
            ) => Some(Place::ScopeMetricsList),
            (Place::ScopeMetrics, b"metrics") => Some(Place::MetricList),
            (Place::ScopeSpans, b"scope") => return Step::Capture(Place::Scope),
            (Place::ScopeSpans, b"spans") => Some(Place::SpanList),
            (Place::ResourceSpans | Place::ScopeSpans | Place::ResourceMetrics | Place::ScopeMetrics, _) => {
                None
            }
            (list, _) => Some(list),
        };
        list.map_or(Step::Skip, |list| self.enter_list(list, shape))
    }

    fn captured(&mut self, place: Place, value: &[u8], sink: &mut dyn Sink) {
        match place {
            Place::Span => self.span(value, sink),
            Place::Metric => self.metric(value, sink),
            Place::Resource => self.resource(value, sink),
            Place::Scope => self.scope(value),
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
            Place::ResourceSpans | Place::ResourceMetrics => {
                self.give_pending(&ResourceNames::default(), sink);
                self.resource = None;
            }
            _ => {}
        }
    }

    fn abandon(&mut self, cause: Loss, sink: &mut dyn Sink) {
        self.pending.abandon(cause, sink);
        self.waiting.abandon(cause, sink);
        self.resource = None;
        self.content = Content::Empty;
        self.open = 0;
    }
}
