//! One span of Zipkin JSON.

use crate::attributes_json::{self, SpanTags};
use crate::conventions::{OperationNamer, ResourceAttributes, ResourceNames, UNKNOWN};
use crate::lax_json::{LaxText, Number};
use crate::pending::{SpanFields, inclusive_of_length, parse_span_id, parse_trace_id};
use crate::sampling::{SpanRef, WantedAttributes};
use laggard_model::{Loss, Nanos, ReplicaSource, Sink, SpanId, SpanKind, Timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Zipkin's times count microseconds.
const NS_PER_US: u32 = 1000;

/// A span as written.
#[derive(Deserialize)]
pub(super) struct ZipkinSpan<'a> {
    #[serde(borrow, default, rename = "traceId")]
    trace_id: LaxText<'a>,
    #[serde(borrow, default)]
    id: LaxText<'a>,
    #[serde(borrow, default, rename = "parentId")]
    parent_id: LaxText<'a>,
    #[serde(borrow, default)]
    kind: LaxText<'a>,
    #[serde(borrow, default)]
    name: LaxText<'a>,
    #[serde(default)]
    timestamp: Number,
    #[serde(default)]
    duration: Number,
    #[serde(borrow, default, rename = "localEndpoint")]
    local_endpoint: Option<EndpointJson<'a>>,
    #[serde(borrow, default)]
    tags: Option<&'a RawValue>,
    /// Parsed only when a time is missing.
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
    /// Only version 1 has these.
    #[serde(borrow, default, rename = "binaryAnnotations")]
    binary_annotations: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct EndpointJson<'a> {
    #[serde(borrow, default, rename = "serviceName")]
    service_name: LaxText<'a>,
    #[serde(borrow, default)]
    ipv4: LaxText<'a>,
    #[serde(borrow, default)]
    ipv6: LaxText<'a>,
    #[serde(borrow, default)]
    port: LaxText<'a>,
}

#[derive(Deserialize)]
struct AnnotationJson<'a> {
    #[serde(default)]
    timestamp: Number,
    #[serde(borrow, default)]
    value: LaxText<'a>,
}

/// When a span was, in nanoseconds.
struct SpanTimes {
    start: i64,
    /// `None` for a span that was never finished, or that has no times.
    length: Option<i64>,
}

impl ZipkinSpan<'_> {
    /// Emits the span; what prevents that is counted.
    pub(super) fn emit(&self, namer: &mut OperationNamer, wanted: &WantedAttributes, sink: &mut dyn Sink) {
        let trace_text = self.trace_id.as_str();
        if self.is_version_1() {
            return sink.lose(Loss::MalformedRecord, &|| {
                format!("trace {trace_text}: spans of Zipkin's version 1 (binaryAnnotations) are not read, convert them to version 2")
            });
        }
        let ids = parse_trace_id(trace_text).zip(parse_span_id(self.id.as_str()));
        let Some((trace, span_id)) = ids else {
            return sink.lose(Loss::InvalidId, &|| {
                format!("trace id \"{trace_text}\", span id \"{}\"", self.id.as_str())
            });
        };
        let Some(times) = self.times() else {
            return sink.lose(Loss::MalformedRecord, &|| {
                format!("span {span_id} of trace {trace_text}: no timestamp")
            });
        };
        let name = self.name.as_str();
        let quality = namer.assess(name);
        // Tags that cannot be read cost a name or a status, not the span.
        let mut tags = SpanTags::new(wanted);
        let _ = attributes_json::read(self.tags, &mut tags);
        let kind = SpanKind::parse(self.kind.as_str()).or(tags.kind).unwrap_or_default();
        let fields = SpanFields {
            trace_id: trace.id,
            trace_text: (!trace.is_canonical).then_some(trace_text),
            span_id,
            parent: parse_span_id(self.parent_id.as_str()),
            operation: namer.operation(quality, name, kind, &tags.operation),
            kind,
            status: tags.status,
            start: Timestamp::from_unix_ns(times.start),
            inclusive: inclusive(span_id, times.length, sink),
            sampling: tags.sampling.settle(SpanRef { trace_state: "", span: span_id }, sink),
            attributes: tags.attributes.as_str(),
            thread: tags.thread,
        };
        fields.emit(&self.names(&tags.resource), sink);
    }

    fn is_version_1(&self) -> bool {
        let endpoints_in_annotations =
            || self.annotations.is_some_and(|list| list.get().contains("\"endpoint\""));
        self.binary_annotations.is_some() || (self.local_endpoint.is_none() && endpoints_in_annotations())
    }

    /// The span's own times, else those of the annotations that version 1 marked its ends with.
    fn times(&self) -> Option<SpanTimes> {
        let start = self.timestamp.scaled(NS_PER_US).filter(|&ns| ns > 0);
        let length = self.duration.scaled(NS_PER_US);
        if let Some((start, length)) = start.zip(length) {
            return Some(SpanTimes { start, length: Some(length) });
        }
        let list = self.annotations.map_or("[]", RawValue::get);
        let list: Vec<AnnotationJson<'_>> = serde_json::from_str(list).unwrap_or_default();
        let time_of = |value: &str| {
            let found = list.iter().find(|annotation| annotation.value.as_str() == value);
            found.and_then(|annotation| annotation.timestamp.scaled(NS_PER_US))
        };
        let pairs = [("sr", "ss"), ("cs", "cr"), ("ms", "mr")];
        let marked = pairs.iter().find_map(|&(first, last)| time_of(first).zip(time_of(last)));
        let start =
            start.or(marked.map(|(first, _)| first)).or_else(|| time_of("sr").or_else(|| time_of("cs")))?;
        let marked_length = marked.map(|(first, last)| last.saturating_sub(first));
        Some(SpanTimes { start, length: length.or(marked_length) })
    }

    /// The service, and the replica by a tag that identifies it or by the address.
    fn names(&self, tags: &ResourceAttributes) -> ResourceNames {
        let Some(endpoint) = &self.local_endpoint else {
            return tags.names();
        };
        let mut names = tags.names_in(match endpoint.service_name.as_str() {
            "" => UNKNOWN,
            service => service,
        });
        if names.replica_source == ReplicaSource::Unknown {
            endpoint.write_address(&mut names.replica);
            if !names.replica.is_empty() {
                names.replica_source = ReplicaSource::Address;
            }
        }
        names
    }
}

impl EndpointJson<'_> {
    /// Writes the address, with the port when there is one; nothing for a port without an address.
    fn write_address(&self, out: &mut String) {
        let port = self.port.as_str();
        let has_port = !matches!(port, "" | "0");
        match (self.ipv4.as_str(), self.ipv6.as_str()) {
            ("", "") => return,
            ("", ipv6) if has_port => out.extend(["[", ipv6, "]"]),
            ("", ipv6) => out.push_str(ipv6),
            (ipv4, _) => out.push_str(ipv4),
        }
        if has_port {
            out.extend([":", port]);
        }
    }
}

/// A span that was never finished counts as taking no time; its children need it where it is.
fn inclusive(span: SpanId, length_ns: Option<i64>, sink: &mut dyn Sink) -> Nanos {
    match length_ns {
        Some(length) => inclusive_of_length(span, length, sink),
        None => {
            sink.lose(Loss::NegativeTime, &|| format!("span {span} has no duration"));
            Nanos::ZERO
        }
    }
}
