//! Answers of OTLP, as protobuf and as JSON.
//!
//! Field numbers: `opentelemetry/proto/collector/*/v1/*_service.proto`, `google/rpc/status.proto`,
//! `google/rpc/error_details.proto`.

use super::counters::Taken;
use super::refusal::Refusal;
use laggard_formats::MessageKind;
use serde_json::json;

/// `Export…ServiceResponse` of a message that was taken, perhaps not wholly.
pub(super) fn export(taken: &Taken) -> Vec<u8> {
    let mut response = Vec::new();
    if taken.rejected > 0 {
        let mut partial = Vec::new();
        put_number(&mut partial, 1, taken.rejected);
        put_bytes(&mut partial, 2, taken.reason.as_bytes());
        put_bytes(&mut response, 1, &partial);
    }
    response
}

/// The same as JSON.
pub(super) fn export_json(taken: &Taken, kind: MessageKind) -> Vec<u8> {
    let rejected = match kind {
        MessageKind::MetricsJson | MessageKind::MetricsProtobuf => "rejectedDataPoints",
        MessageKind::LogsJson | MessageKind::LogsProtobuf => "rejectedLogRecords",
        _ => "rejectedSpans",
    };
    let response = match taken.rejected {
        0 => json!({}),
        // Protobuf's JSON has 64-bit integers as text.
        count => json!({"partialSuccess": {rejected: count.to_string(), "errorMessage": taken.reason}}),
    };
    response.to_string().into_bytes()
}

/// `google.rpc.Status` of a refusal.
pub(super) fn status(refusal: &Refusal) -> Vec<u8> {
    let mut status = Vec::new();
    put_number(&mut status, 1, u64::from(refusal.grpc_code()));
    put_bytes(&mut status, 2, refusal.text.as_bytes());
    if let Some(after) = refusal.after {
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
pub(super) fn status_json(refusal: &Refusal) -> Vec<u8> {
    json!({"code": refusal.grpc_code(), "message": refusal.text}).to_string().into_bytes()
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Zero is not written: it is what absent means.
fn put_number(out: &mut Vec<u8>, field: u64, value: u64) {
    if value > 0 {
        put_varint(out, field << 3);
        put_varint(out, value);
    }
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn nothing_is_said_of_what_was_taken_whole() {
        assert_eq!(export(&Taken { spans: 3, ..Taken::default() }), b"");
        assert_eq!(export_json(&Taken::default(), MessageKind::TracesJson), b"{}");
    }

    #[test]
    fn rejected_records_are_told() {
        let taken = Taken { rejected: 300, reason: "why".to_owned(), ..Taken::default() };
        assert_eq!(export(&taken), b"\x0A\x08\x08\xAC\x02\x12\x03why");
        let json = export_json(&taken, MessageKind::LogsJson);
        assert_eq!(json, br#"{"partialSuccess":{"errorMessage":"why","rejectedLogRecords":"300"}}"#);
    }

    /// By hand, from the definitions.
    #[test]
    fn a_refusal_tells_when_to_come_back() {
        let status = status(&Refusal::busy("no", Duration::from_millis(2_500)));
        let delay = b"\x08\x02\x10\x80\xCA\xB5\xEE\x01";
        let url = b"type.googleapis.com/google.rpc.RetryInfo";
        let mut expected = b"\x08\x0E\x12\x02no\x1A\x36\x0A\x28".to_vec();
        expected.extend_from_slice(url);
        expected.extend_from_slice(b"\x12\x0A\x0A\x08");
        expected.extend_from_slice(delay);
        assert_eq!(status, expected);
    }
}
