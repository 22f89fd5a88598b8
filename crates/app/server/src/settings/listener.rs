//! The listeners of the server.

/// One of the server's listeners, each with a setting for its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListenerKind {
    /// API and pages, and Prometheus remote write.
    Http,
    /// OTLP over gRPC.
    OtlpGrpc,
    /// OTLP over HTTP.
    OtlpHttp,
    /// Zipkin's spans.
    Zipkin,
}

impl ListenerKind {
    /// The name of its setting, used in logs and metrics as well.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            ListenerKind::Http => "http",
            ListenerKind::OtlpGrpc => "otlp_grpc",
            ListenerKind::OtlpHttp => "otlp_http",
            ListenerKind::Zipkin => "zipkin",
        }
    }
}
