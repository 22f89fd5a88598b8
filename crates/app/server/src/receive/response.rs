//! Responses of OTLP, as protobuf and as JSON.
//!
//! Field numbers: `opentelemetry/proto/collector/*/v1/*_service.proto`, `google/rpc/status.proto`,
//! `google/rpc/error_details.proto`.

use super::counters::IngestResult;
use super::error::ReceiveError;
use laggard_formats::MessageKind;
use laggard_wire::{put_bytes, put_varint};
use serde_json::json;

/// `Export…ServiceResponse` of an accepted message, some of whose records may have been rejected.
pub(super) fn export(result: &IngestResult) -> Vec<u8> {
    let mut response = Vec::new();
    if result.rejected > 0 {
        let mut partial = Vec::new();
        put_number(&mut partial, 1, result.rejected);
        put_bytes(&mut partial, 2, result.reason.as_bytes());
        put_bytes(&mut response, 1, &partial);
    }
    response
}

/// The same as JSON.
pub(super) fn export_json(result: &IngestResult, kind: MessageKind) -> Vec<u8> {
    let rejected = match kind {
        MessageKind::MetricsJson | MessageKind::MetricsProtobuf => "rejectedDataPoints",
        MessageKind::LogsJson | MessageKind::LogsProtobuf => "rejectedLogRecords",
        _ => "rejectedSpans",
    };
    let response = match result.rejected {
        0 => json!({}),
        // Protobuf's JSON has 64-bit integers as text.
        count => json!({"partialSuccess": {rejected: count.to_string(), "errorMessage": result.reason}}),
    };
    response.to_string().into_bytes()
}

/// `google.rpc.Status` of an error.
pub(super) fn status(error: &ReceiveError) -> Vec<u8> {
    let mut status = Vec::new();
    put_number(&mut status, 1, error.grpc_code() as u64);
    put_bytes(&mut status, 2, error.text.as_bytes());
    if let Some(after) = error.retry_after {
        let mut delay = Vec::new();
        put_number(&mut delay, 1, after.as_secs());
        put_number(&mut delay, 2, u64::from(after.subsec_nanos()));
        let mut retry_info = Vec::new();
        put_bytes(&mut retry_info, 1, &delay);
        let mut detail = Vec::new();
        put_bytes(&mut detail, 1, b"type.googleapis.com/google.rpc.RetryInfo");
        put_bytes(&mut detail, 2, &retry_info);
        put_bytes(&mut status, 3, &detail);
    }
    status
}

/// The same as JSON.
pub(super) fn status_json(error: &ReceiveError) -> Vec<u8> {
    json!({"code": error.grpc_code() as u32, "message": error.text}).to_string().into_bytes()
}

/// Zero is not written: it is what absent means.
fn put_number(out: &mut Vec<u8>, field: u64, value: u64) {
    if value > 0 {
        put_varint(out, field << 3);
        put_varint(out, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_fully_accepted_message_has_an_empty_response() {
        assert_eq!(export(&IngestResult { spans: 3, ..IngestResult::default() }), b"");
        assert_eq!(export_json(&IngestResult::default(), MessageKind::TracesJson), b"{}");
    }

    #[test]
    fn rejected_records_are_reported() {
        let result = IngestResult { rejected: 300, reason: "why".to_owned(), ..IngestResult::default() };
        assert_eq!(export(&result), b"\x0A\x08\x08\xAC\x02\x12\x03why");
        let json = export_json(&result, MessageKind::LogsJson);
        assert_eq!(json, br#"{"partialSuccess":{"errorMessage":"why","rejectedLogRecords":"300"}}"#);
    }

    /// By hand, from the definitions.
    #[test]
    fn an_error_has_a_retry_delay() {
        let status = status(&ReceiveError::retry_after("no", Duration::from_millis(2_500)));
        let delay = b"\x08\x02\x10\x80\xCA\xB5\xEE\x01";
        let url = b"type.googleapis.com/google.rpc.RetryInfo";
        let mut expected = b"\x08\x0E\x12\x02no\x1A\x36\x0A\x28".to_vec();
        expected.extend_from_slice(url);
        expected.extend_from_slice(b"\x12\x0A\x0A\x08");
        expected.extend_from_slice(delay);
        assert_eq!(status, expected);
    }
}
