//! One span as readers emit it.

use crate::{Nanos, Sampling, SpanAttributes, SpanId, Timestamp, TraceId};

/// One span, borrowed from the reader's buffers: valid only during [`Sink::span`](crate::Sink::span).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SpanRecord<'a> {
    /// The trace it belongs to.
    pub trace_id: TraceId,
    /// The trace id as received, when [`TraceId`]'s display text differs from it.
    pub trace_text: Option<&'a str>,
    /// Its own id. The two halves of a Zipkin shared span carry the same id and differ in kind.
    pub span_id: SpanId,
    /// The caller's span; `None` for a root.
    pub parent: Option<SpanId>,
    /// Logical service (`service.name`), `"unknown"` when the format gave none.
    pub service: &'a str,
    /// The replica (instance) of the service; empty when nothing identifies one.
    pub replica: &'a str,
    /// The attribute or column that the replica's name was read from.
    pub replica_source: ReplicaSource,
    /// Low-cardinality operation name: route, RPC method or query summary before the raw span name.
    pub operation: &'a str,
    /// Role of the span in a remote call.
    pub kind: SpanKind,
    /// Outcome.
    pub status: Status,
    /// Start, on the recording host's clock.
    pub start: Timestamp,
    /// End minus start on that clock.
    pub inclusive: Nanos,
    /// Its sampling attributes.
    pub sampling: Sampling,
    /// Its attributes, of those that were selected.
    pub attributes: SpanAttributes<'a>,
}

/// OpenTelemetry's span kinds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum SpanKind {
    /// Not specified.
    #[default]
    Unspecified,
    /// Work inside one service.
    Internal,
    /// Handles a request from outside the service.
    Server,
    /// Calls another service and waits for it.
    Client,
    /// Sends a message and does not wait for its consumer.
    Producer,
    /// Handles a message.
    Consumer,
}

impl SpanKind {
    /// Reads `SERVER`, `server`, `SPAN_KIND_SERVER` or OpenTelemetry's enum number as text.
    pub fn parse(text: &str) -> Option<SpanKind> {
        let bare = text.strip_prefix("SPAN_KIND_").unwrap_or(text);
        let kinds = [
            ("unspecified", SpanKind::Unspecified),
            ("internal", SpanKind::Internal),
            ("server", SpanKind::Server),
            ("client", SpanKind::Client),
            ("producer", SpanKind::Producer),
            ("consumer", SpanKind::Consumer),
        ];
        // Most texts are exactly these names.
        if let Some((_, kind)) = kinds.iter().find(|(name, _)| *name == bare) {
            return Some(*kind);
        }
        let is_name = bare.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
        if !is_name && let Ok(number) = bare.parse::<i64>() {
            return SpanKind::from_number(number);
        }
        kinds.iter().find(|(name, _)| bare.eq_ignore_ascii_case(name)).map(|&(_, kind)| kind)
    }

    /// OpenTelemetry's enum number (0 to 5).
    pub const fn from_number(number: i64) -> Option<SpanKind> {
        Some(match number {
            0 => SpanKind::Unspecified,
            1 => SpanKind::Internal,
            2 => SpanKind::Server,
            3 => SpanKind::Client,
            4 => SpanKind::Producer,
            5 => SpanKind::Consumer,
            _ => return None,
        })
    }

    /// Lower-case name; empty for [`SpanKind::Unspecified`].
    pub const fn name(self) -> &'static str {
        match self {
            SpanKind::Unspecified => "",
            SpanKind::Internal => "internal",
            SpanKind::Server => "server",
            SpanKind::Client => "client",
            SpanKind::Producer => "producer",
            SpanKind::Consumer => "consumer",
        }
    }
}

/// Outcome of a span.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Status {
    /// Not set.
    #[default]
    Unset,
    /// Set to OK by the application.
    Ok,
    /// Failed.
    Error,
}

impl Status {
    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Unset => "unset",
            Status::Ok => "ok",
            Status::Error => "error",
        }
    }

    /// OpenTelemetry's enum number (0 to 2).
    pub const fn from_number(number: u8) -> Option<Status> {
        match number {
            0 => Some(Status::Unset),
            1 => Some(Status::Ok),
            2 => Some(Status::Error),
            _ => None,
        }
    }
}

/// Which attribute identified the replica, in order of preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum ReplicaSource {
    /// A column or field of the format that exists for this purpose.
    Column,
    /// `service.instance.id`
    ServiceInstanceId,
    /// `k8s.pod.uid`
    PodUid,
    /// `k8s.pod.name`, with the container's name when there is one
    PodName,
    /// `container.id`
    ContainerId,
    /// `host.id` or `host.name` (with `process.pid` when there is one), or Jaeger's `hostname`
    Host,
    /// A network address (`ip` tag, Zipkin endpoint)
    Address,
    /// Nothing: all spans of the service count as one replica
    #[default]
    Unknown,
}

impl ReplicaSource {
    /// All of them, in order of preference.
    pub const ALL: [ReplicaSource; 8] = [
        ReplicaSource::Column,
        ReplicaSource::ServiceInstanceId,
        ReplicaSource::PodUid,
        ReplicaSource::PodName,
        ReplicaSource::ContainerId,
        ReplicaSource::Host,
        ReplicaSource::Address,
        ReplicaSource::Unknown,
    ];

    /// The attribute's name as a report shows it.
    pub const fn name(self) -> &'static str {
        match self {
            ReplicaSource::Column => "replica column",
            ReplicaSource::ServiceInstanceId => "service.instance.id",
            ReplicaSource::PodUid => "k8s.pod.uid",
            ReplicaSource::PodName => "k8s.pod.name",
            ReplicaSource::ContainerId => "container.id",
            ReplicaSource::Host => "host name",
            ReplicaSource::Address => "network address",
            ReplicaSource::Unknown => "none",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_kinds_are_parsed_in_all_common_spellings() {
        assert_eq!(SpanKind::parse("SPAN_KIND_SERVER"), Some(SpanKind::Server));
        assert_eq!(SpanKind::parse("client"), Some(SpanKind::Client));
        assert_eq!(SpanKind::parse("4"), Some(SpanKind::Producer));
        assert_eq!(SpanKind::parse("teapot"), None);
    }
}
