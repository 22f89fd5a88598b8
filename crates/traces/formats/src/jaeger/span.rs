//! One span and the processes of Jaeger JSON.

use crate::attributes_json::{self, ResourceTags, SpanTags};
use crate::conventions::{OperationNamer, ResourceNames, SelectedAttributes};
use crate::lax_json::{LaxText, Number};
use crate::pending::{SpanFields, inclusive_of_length, parse_span_id, parse_trace_id};
use crate::sampling::{SpanRef, WantedAttributes};
use laggard_model::{AttributeText, Loss, Sink, SpanId, SpanKind, Timestamp, TraceId};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// Jaeger's times count microseconds.
const NS_PER_US: u32 = 1000;

/// A span as written.
#[derive(Deserialize)]
pub(super) struct JaegerSpan<'a> {
    #[serde(borrow, default, rename = "traceID")]
    trace_id: LaxText<'a>,
    #[serde(borrow, default, rename = "spanID")]
    span_id: LaxText<'a>,
    /// Before references.
    #[serde(borrow, default, rename = "parentSpanID")]
    parent_span_id: LaxText<'a>,
    #[serde(borrow, default, rename = "operationName")]
    operation_name: LaxText<'a>,
    #[serde(borrow, default)]
    references: Option<Vec<ReferenceJson<'a>>>,
    #[serde(default, rename = "startTime")]
    start_time: Number,
    #[serde(default)]
    duration: Number,
    #[serde(borrow, default)]
    tags: Option<&'a RawValue>,
    /// Tags as an object: Elasticsearch may store all or some of them so.
    #[serde(borrow, default)]
    tag: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "processID")]
    process_id: LaxText<'a>,
    #[serde(borrow, default)]
    process: Option<ProcessJson<'a>>,
}

#[derive(Deserialize)]
struct ReferenceJson<'a> {
    #[serde(borrow, default, rename = "refType")]
    ref_type: LaxText<'a>,
    #[serde(borrow, default, rename = "traceID")]
    trace_id: LaxText<'a>,
    #[serde(borrow, default, rename = "spanID")]
    span_id: LaxText<'a>,
}

#[derive(Deserialize)]
struct ProcessJson<'a> {
    #[serde(borrow, default, rename = "serviceName")]
    service_name: LaxText<'a>,
    #[serde(borrow, default)]
    tags: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tag: Option<&'a RawValue>,
}

/// The processes of a trace, by their ids.
#[derive(Default, Deserialize)]
pub(super) struct Processes<'a>(#[serde(borrow)] Option<HashMap<String, Option<ProcessJson<'a>>>>);

impl Processes<'_> {
    /// The names of every process.
    pub(super) fn names(self, selected: &SelectedAttributes) -> HashMap<String, ResourceNames> {
        let written = self.0.unwrap_or_default().into_iter();
        written.filter_map(|(id, process)| Some((id, process?.names(selected)))).collect()
    }
}

impl ProcessJson<'_> {
    fn names(&self, selected: &SelectedAttributes) -> ResourceNames {
        // Tags that cannot be read leave the replica unknown, as if they were missing.
        let mut tags = ResourceTags::new(selected);
        let _ = attributes_json::read(self.tags, &mut tags);
        let _ = attributes_json::read(self.tag, &mut tags);
        tags.resource.names_in(self.service_name.as_str())
    }
}

/// The span that a span's references make its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    None,
    ChildOf(SpanId),
    /// The parent does not wait for this span.
    FollowsFrom(SpanId),
}

impl JaegerSpan<'_> {
    /// The id that the trace's processes know this span's process by.
    pub(super) fn process_id(&self) -> &str {
        self.process_id.as_str()
    }

    /// The names of the process that is written into the span.
    pub(super) fn process_names(&self, selected: &SelectedAttributes) -> Option<ResourceNames> {
        let tells_more = |process: &&ProcessJson<'_>| {
            !process.service_name.as_str().is_empty() || self.process_id().is_empty()
        };
        self.process.as_ref().filter(tells_more).map(|process| process.names(selected))
    }

    /// The span's fields; `None` when it lacks what a span must have, which is counted.
    pub(super) fn fields<'b>(
        &'b self,
        namer: &'b mut OperationNamer,
        attributes: &'b mut AttributeText,
        wanted: &WantedAttributes,
        sink: &mut dyn Sink,
    ) -> Option<SpanFields<'b>> {
        let trace_text = self.trace_id.as_str();
        let ids = parse_trace_id(trace_text).zip(parse_span_id(self.span_id.as_str()));
        let Some((trace, span_id)) = ids else {
            sink.lose(Loss::InvalidId, &|| {
                format!("trace id \"{trace_text}\", span id \"{}\"", self.span_id.as_str())
            });
            return None;
        };
        let times = self.start_time.scaled(NS_PER_US).zip(self.duration.scaled(NS_PER_US));
        let Some((start, length)) = times else {
            sink.lose(Loss::MalformedRecord, &|| {
                format!("span {span_id} of trace {trace_text}: no startTime or duration in microseconds")
            });
            return None;
        };
        let parent = self.parent(trace.id);
        // Tags that cannot be read cost a name or a kind, not the span.
        let mut tags = SpanTags::new(wanted);
        let _ = attributes_json::read(self.tags, &mut tags);
        let _ = attributes_json::read(self.tag, &mut tags);
        let name = self.operation_name.as_str();
        let quality = namer.assess(name);
        let kind = tags.kind.unwrap_or(match parent {
            Parent::FollowsFrom(_) => SpanKind::Consumer,
            _ => SpanKind::Unspecified,
        });
        Some(SpanFields {
            trace_id: trace.id,
            trace_text: (!trace.is_canonical).then_some(trace_text),
            span_id,
            parent: match parent {
                Parent::None => None,
                Parent::ChildOf(id) | Parent::FollowsFrom(id) => Some(id),
            },
            operation: namer.operation(quality, name, kind, &tags.operation),
            kind,
            status: tags.status,
            start: Timestamp::from_unix_ns(start),
            inclusive: inclusive_of_length(span_id, length, sink),
            sampling: tags.sampling.settle(SpanRef { trace_state: "", span: span_id }, sink),
            thread: tags.thread,
            attributes: {
                *attributes = tags.attributes;
                attributes.as_str()
            },
        })
    }

    /// The parent among the references. A reference to another trace is a link and makes no parent.
    fn parent(&self, trace: TraceId) -> Parent {
        let mut found = parse_span_id(self.parent_span_id.as_str()).map_or(Parent::None, Parent::ChildOf);
        for reference in self.references.iter().flatten() {
            let is_here = match reference.trace_id.as_str() {
                "" => true,
                text => parse_trace_id(text).is_some_and(|parsed| parsed.id == trace),
            };
            let Some(id) = parse_span_id(reference.span_id.as_str()).filter(|_| is_here) else {
                continue;
            };
            match reference.ref_type.as_str() {
                "FOLLOWS_FROM" | "followsFrom" if found == Parent::None => found = Parent::FollowsFrom(id),
                "FOLLOWS_FROM" | "followsFrom" => {}
                _ => return Parent::ChildOf(id),
            }
        }
        found
    }
}
