//! OTLP JSON: one document, or a stream of them, as the Collector's file exporter, Jaeger's v3 API and Tempo
//! write it.
//!
//! ```text
//! {"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[{…},…]}]}]}
//! ```

pub(crate) mod id;
mod metric;
mod span;
#[cfg(test)]
mod tests;

use crate::attributes_json::{self, ResourceTags, SamplingTags};
use crate::conventions::{OperationNamer, ResourceNames};
use crate::format::Sniff;
use crate::json_sniff;
use crate::json_stream::{Scanner, Shape, ValueAction, Visitor};
use crate::lax_json;
use crate::metrics::{MetricSamples, WaitingMetrics};
use crate::pending::PendingSpans;
use crate::sampling::{SamplingAttributes, WantedAttributes};
use laggard_model::{AttributeText, Loss, Sink, TailSampler};
use span::{AttributesJson, OtlpSpanJson};

/// Names of members that only OTLP has.
pub(crate) const MEMBERS: &[&str] = &[
    "resourceSpans",
    "resource_spans",
    "batches",
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "instrumentation_library_spans",
    "resourceMetrics",
    "resource_metrics",
    "resourceLogs",
    "resource_logs",
    "resourceProfiles",
];

/// Whether the input starts with an OTLP JSON document of any signal.
pub(crate) fn sniff(prefix: &[u8]) -> Sniff {
    json_sniff::sniff(prefix, MEMBERS, |_| false)
}

/// Reads a stream of OTLP JSON documents.
#[derive(Debug)]
pub(crate) struct OtlpJson {
    scanner: Scanner<OtlpLevel>,
    documents: OtlpDocuments,
}

impl OtlpJson {
    /// A reader.
    pub(crate) fn new(wanted: &WantedAttributes, metrics: MetricSamples) -> OtlpJson {
        let documents = OtlpDocuments { wanted: wanted.clone(), metrics, ..OtlpDocuments::default() };
        OtlpJson { scanner: Scanner::new(), documents }
    }

    /// What is known of metrics, for the next message of the input.
    pub(crate) fn take_metrics(&mut self) -> MetricSamples {
        std::mem::take(&mut self.documents.metrics)
    }

    /// A reader for what follows at this position of the input, at the start of a line.
    pub(crate) fn starting_at(position: u64, wanted: &WantedAttributes, metrics: MetricSamples) -> OtlpJson {
        OtlpJson { scanner: Scanner::starting_at(position), ..OtlpJson::new(wanted, metrics) }
    }

    /// How many bytes it has read.
    pub(crate) const fn position(&self) -> u64 {
        self.scanner.position()
    }

    /// Metrics for another part of the input; `None` once there are any.
    pub(crate) fn metrics_for_another_part(&self) -> Option<MetricSamples> {
        self.documents.metrics.for_another_part()
    }

    /// Whether it is in the state of [`OtlpJson::starting_at`].
    pub(crate) fn is_at_document(&self) -> bool {
        let OtlpDocuments { open, content, resource, pending, waiting, metrics, .. } = &self.documents;
        let is_outside = *open == 0 && *content == OtlpContent::Empty && resource.is_none();
        let waits = !pending.is_empty() || !waiting.is_empty();
        self.scanner.is_at_document() && is_outside && !waits && metrics.for_another_part().is_some()
    }

    /// What is wrong with the documents as such: records that could not be read are no damage.
    pub(crate) fn take_damage(&mut self) -> Option<String> {
        self.scanner.take_damage()
    }

    /// Reads the next bytes.
    pub(crate) fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        self.scanner.push(chunk, &mut self.documents, sink);
    }

    /// The input ends here: counts the document that is cut off.
    pub(crate) fn end(&mut self, sink: &mut dyn Sink) {
        self.scanner.finish(&mut self.documents, sink);
    }
}

/// A level of a document. Lists take arrays, arrays of these, or one element without an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OtlpLevel {
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
struct OtlpDocuments {
    /// Documents that are open: more than one when a wrapper is.
    open: u32,
    /// Members of the outermost document seen so far.
    content: OtlpContent,
    /// The current resource's names, once it was read.
    resource: Option<ResourceNames>,
    /// The mark of a tail sampler on the current scope.
    tail_sampler: Option<TailSampler>,
    wanted: WantedAttributes,
    pending: PendingSpans,
    namer: OperationNamer,
    /// The selected attributes of the last span.
    attributes: AttributeText,
    repaired: String,
    metrics: MetricSamples,
    waiting: WaitingMetrics,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum OtlpContent {
    #[default]
    Empty,
    /// Only members that are ignored.
    Foreign,
    /// Spans, perhaps none, or another signal, counted.
    Telemetry,
}

impl OtlpDocuments {
    /// A member of a document starts; returns the list that it is, if it is a known one.
    fn enter_member(&mut self, key: &[u8], sink: &mut dyn Sink) -> Option<OtlpLevel> {
        let (content, found) = match key {
            b"resourceSpans" | b"resource_spans" | b"batches" => {
                (OtlpContent::Telemetry, Some(OtlpLevel::ResourceSpansList))
            }
            // Wrappers: the document inside determines the format.
            b"result" | b"trace" => (OtlpContent::Empty, Some(OtlpLevel::DocumentList)),
            b"resourceMetrics" | b"resource_metrics" => {
                (OtlpContent::Telemetry, Some(OtlpLevel::ResourceMetricsList))
            }
            b"resourceLogs" | b"resource_logs" | b"resourceProfiles" | b"resource_profiles" => {
                let name = String::from_utf8_lossy(key).into_owned();
                sink.lose(Loss::OtherSignal, &|| format!("a document of {name}"));
                (OtlpContent::Telemetry, None)
            }
            _ => (OtlpContent::Foreign, None),
        };
        self.content = self.content.max(content);
        found
    }

    /// A list, or an element of one, starts.
    fn enter_list(&mut self, list: OtlpLevel, shape: Shape) -> ValueAction<OtlpLevel> {
        let element = match (shape, list) {
            (Shape::Array, _) => return ValueAction::Descend(list),
            (Shape::Scalar, _) => return ValueAction::Capture(OtlpLevel::Misplaced),
            (Shape::Object, OtlpLevel::SpanList) => return ValueAction::Capture(OtlpLevel::Span),
            (Shape::Object, OtlpLevel::ScopeSpansList) => {
                self.tail_sampler = None;
                OtlpLevel::ScopeSpans
            }
            (Shape::Object, OtlpLevel::ResourceSpansList) => {
                self.resource = None;
                OtlpLevel::ResourceSpans
            }
            (Shape::Object, OtlpLevel::MetricList) => return ValueAction::Capture(OtlpLevel::Metric),
            (Shape::Object, OtlpLevel::ScopeMetricsList) => OtlpLevel::ScopeMetrics,
            (Shape::Object, OtlpLevel::ResourceMetricsList) => {
                self.resource = None;
                OtlpLevel::ResourceMetrics
            }
            (Shape::Object, _) => {
                self.open += 1;
                OtlpLevel::Document
            }
        };
        ValueAction::Descend(element)
    }

    fn span(&mut self, value: &[u8], sink: &mut dyn Sink) {
        let span = match lax_json::parse::<OtlpSpanJson<'_>>(value, &mut self.repaired) {
            Ok(span) => span,
            Err(error) => return sink.lose(Loss::MalformedRecord, &|| format!("a span: {error}")),
        };
        let Some(mut fields) = span.fields(&mut self.namer, &mut self.attributes, &self.wanted, sink) else {
            return;
        };
        fields.sampling.tail_sampler = fields.sampling.tail_sampler.or(self.tail_sampler);
        span.emit_events(fields.trace_id, fields.span_id, fields.start, sink);
        match &self.resource {
            Some(names) => fields.emit(names, sink),
            None => self.pending.push(&fields, "", sink),
        }
    }

    fn resource(&mut self, value: &[u8], sink: &mut dyn Sink) {
        let mut attributes = ResourceTags::new(&self.wanted.selected);
        let read =
            lax_json::parse::<Option<AttributesJson<'_>>>(value, &mut self.repaired).and_then(|resource| {
                attributes_json::read(resource.and_then(|it| it.attributes), &mut attributes)
            });
        if let Err(error) = read {
            sink.lose(Loss::MalformedRecord, &|| format!("a resource: {error}"));
        }
        let names = attributes.resource.names();
        self.emit_pending(&names, sink);
        self.resource = Some(names);
    }

    /// Emits the records that waited for their resource.
    fn emit_pending(&mut self, names: &ResourceNames, sink: &mut dyn Sink) {
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

    /// Reads a scope, which applies to the spans after it. One that cannot be read has no sampler mark.
    fn scope(&mut self, value: &[u8]) {
        let mut tags = SamplingTags { wanted: &self.wanted, sampling: SamplingAttributes::default() };
        let read = lax_json::parse::<Option<AttributesJson<'_>>>(value, &mut self.repaired)
            .and_then(|scope| attributes_json::read(scope.and_then(|it| it.attributes), &mut tags));
        self.tail_sampler = read.ok().and_then(|()| tags.sampling.tail_sampler());
    }

    fn leave_document(&mut self, sink: &mut dyn Sink) {
        self.open -= 1;
        if self.open > 0 {
            return;
        }
        if self.content == OtlpContent::Foreign {
            sink.lose(Loss::MalformedRecord, &|| {
                "a document without resourceSpans or resourceMetrics".to_owned()
            });
        }
        self.content = OtlpContent::Empty;
    }
}

impl Visitor<OtlpLevel> for OtlpDocuments {
    const TOP: OtlpLevel = OtlpLevel::DocumentList;

    fn enter(
        &mut self,
        level: OtlpLevel,
        key: &[u8],
        shape: Shape,
        sink: &mut dyn Sink,
    ) -> ValueAction<OtlpLevel> {
        let list = match (level, key) {
            (OtlpLevel::Document, _) => self.enter_member(key, sink),
            (OtlpLevel::ResourceSpans | OtlpLevel::ResourceMetrics, b"resource") => {
                return ValueAction::Capture(OtlpLevel::Resource);
            }
            (
                OtlpLevel::ResourceSpans,
                b"scopeSpans"
                | b"scope_spans"
                | b"instrumentationLibrarySpans"
                | b"instrumentation_library_spans",
            ) => Some(OtlpLevel::ScopeSpansList),
            (
                OtlpLevel::ResourceMetrics,
                b"scopeMetrics"
                | b"scope_metrics"
                | b"instrumentationLibraryMetrics"
                | b"instrumentation_library_metrics",
            ) => Some(OtlpLevel::ScopeMetricsList),
            (OtlpLevel::ScopeMetrics, b"metrics") => Some(OtlpLevel::MetricList),
            (OtlpLevel::ScopeSpans, b"scope") => return ValueAction::Capture(OtlpLevel::Scope),
            (OtlpLevel::ScopeSpans, b"spans") => Some(OtlpLevel::SpanList),
            (
                OtlpLevel::ResourceSpans
                | OtlpLevel::ScopeSpans
                | OtlpLevel::ResourceMetrics
                | OtlpLevel::ScopeMetrics,
                _,
            ) => None,
            (list, _) => Some(list),
        };
        list.map_or(ValueAction::Skip, |list| self.enter_list(list, shape))
    }

    fn captured(&mut self, level: OtlpLevel, value: &[u8], sink: &mut dyn Sink) {
        match level {
            OtlpLevel::Span => self.span(value, sink),
            OtlpLevel::Metric => self.metric(value, sink),
            OtlpLevel::Resource => self.resource(value, sink),
            OtlpLevel::Scope => self.scope(value),
            _ if value == b"null" => {}
            _ => sink.lose(Loss::MalformedRecord, &|| {
                let shown = String::from_utf8_lossy(&value[..value.len().min(40)]);
                format!("{shown} where an object or an array should be")
            }),
        }
    }

    fn leave(&mut self, level: OtlpLevel, sink: &mut dyn Sink) {
        match level {
            OtlpLevel::Document => self.leave_document(sink),
            OtlpLevel::ResourceSpans | OtlpLevel::ResourceMetrics => {
                self.emit_pending(&ResourceNames::default(), sink);
                self.resource = None;
            }
            _ => {}
        }
    }

    fn abandon(&mut self, cause: Loss, sink: &mut dyn Sink) {
        self.pending.abandon(cause, sink);
        self.waiting.abandon(cause, sink);
        self.resource = None;
        self.content = OtlpContent::Empty;
        self.open = 0;
    }
}
