//! OTLP protobuf against Google's encoder, and with messages that no encoder writes.

use super::encode::{Encoder, resource, span};
use super::*;
use crate::format::Sniff;
use crate::otlp_frames::{open_json, open_protobuf as open};
use crate::sample_checks::{check_contract, losses, read};
use laggard_model::{AdjustedCount, Collect, SpanKind, Status, TailSampler};

// Both were written by Google's protobuf library for Python from one request (opentelemetry-proto 1.x).
const REQUEST: &[u8] = include_bytes!("../../tests/samples/otlp/request.binpb");
const REQUEST_JSON: &[u8] = include_bytes!("../../tests/samples/otlp/request.json");
const METRICS: &[u8] = include_bytes!("../../tests/samples/otlp/metrics.binpb");
const LOGS: &[u8] = include_bytes!("../../tests/samples/otlp/logs.binpb");

fn names(found: &Collect) -> Vec<String> {
    found.spans.iter().map(|span| format!("{}/{}", span.service, span.operation)).collect()
}

/// A request of one `ResourceSpans`.
fn request(resource_spans: Encoder) -> Vec<u8> {
    Encoder::default().message(1, resource_spans).0
}

fn scope(spans: impl IntoIterator<Item = Encoder>) -> Encoder {
    spans.into_iter().fold(Encoder::default(), |scope, span| scope.message(2, span))
}

#[test]
fn both_encodings_of_a_request_are_equal() {
    let binary = read(open, REQUEST);
    let json = read(open_json, REQUEST_JSON);
    assert_eq!(binary.spans.len(), 4 * 2 * 3);
    assert!(binary.losses.is_empty(), "{:?}", binary.losses);
    assert_eq!(binary, json);
    let services: std::collections::BTreeSet<_> =
        binary.spans.iter().map(|span| (span.service.as_str(), span.replica.as_str())).collect();
    let expected = [
        ("cart", "627cc493-f310-47de-96bd-71410b7dec09"),
        ("frontend", "frontend-5c/main"),
        ("größe", "node-7:4711"),
        ("unknown", ""),
    ];
    assert_eq!(services.into_iter().collect::<Vec<_>>(), expected);
    let operations: std::collections::BTreeSet<_> =
        binary.spans.iter().map(|span| span.operation.as_str()).collect();
    let expected =
        ["GET /cart/{id}", "SELECT users", "oteldemo.CartService/GetCart", "process orders", "unknown"];
    assert_eq!(operations.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn every_field_of_a_span_is_read() {
    let span = span(0xA1, "load").bytes(4, 5_u64.to_be_bytes()).varint(6, 3);
    let span = span.message(15, Encoder::default().bytes(2, "why").varint(3, 2));
    let found =
        read(open, &request(Encoder::default().message(1, resource("cart")).message(2, scope([span]))));
    let [span] = &found.spans[..] else { panic!("{found:?}") };
    assert_eq!(span.trace_id.to_string(), "07".repeat(16));
    assert_eq!((span.span_id.value(), span.parent.map(|id| id.value())), (0xA1, Some(5)));
    assert_eq!((span.kind, span.status), (SpanKind::Client, Status::Error));
    assert_eq!((span.start.unix_ns(), span.inclusive.ns()), (10, 20));
    assert_eq!((span.service.as_str(), span.operation.as_str()), ("cart", "load"));
}

#[test]
fn a_resource_may_follow_its_spans_or_be_split() {
    let late = Encoder::default().message(2, scope([span(1, "a")])).message(1, resource("late"));
    let parts = Encoder::default()
        .message(1, Encoder::default().attribute(1, "host.name", "h"))
        .message(1, resource("parts"))
        .message(2, scope([span(2, "b")]));
    let none = Encoder::default().message(1000, scope([span(3, "c")]));
    let input = Encoder::default().message(1, late).message(1, parts).message(1, none).0;
    let found = read(open, &input);
    assert_eq!(names(&found), ["late/a", "parts/b", "unknown/c"]);
    assert_eq!(found.spans[1].replica, "h");
    check_contract(open, &input);
}

#[test]
fn unknown_fields_and_groups_are_skipped_at_every_level() {
    let noise = |message: Encoder| {
        let group = message.tag(77, 3).bytes(1, "x").tag(78, 3).varint(2, 1).tag(78, 4).tag(77, 4);
        let mut fixed = group.bytes(2000, "unknown").varint(99, u64::MAX).fixed64(98, 1).tag(97, 5);
        fixed.0.extend([1, 2, 3, 4]);
        fixed
    };
    let span = noise(noise(Encoder::default()).bytes(3, "state").bytes(1, [9; 16]).bytes(2, [1; 8]))
        .fixed64(7, 1)
        .fixed64(8, 2)
        .bytes(5, "n");
    let scope = noise(noise(Encoder::default()).message(2, span));
    let group = noise(noise(Encoder::default()).message(1, noise(resource("s"))).message(2, scope));
    let input = noise(noise(Encoder::default()).message(1, group)).0;
    let found = read(open, &[&[0x0A, 0], &input[..]].concat());
    assert_eq!((names(&found), losses(&found)), (vec!["s/n".to_owned()], vec![]));
    check_contract(open, &[&[0x0A, 0], &input[..]].concat());
}

#[test]
fn damage_loses_its_enclosing_message() {
    let broken_span = Encoder::default().bytes(1, [7; 16]).tag(5, 2).raw_varint(50);
    let broken_scope = scope([span(1, "a")]).tag(2, 2).raw_varint(9000);
    let group = Encoder::default()
        .message(1, resource("s"))
        .message(2, scope([broken_span, span(2, "b")]))
        .message(2, broken_scope)
        .message(2, scope([span(3, "c")]).tag(7, 7))
        .message(2, scope([span(4, "d")]));
    let found = read(open, &request(group.clone()));
    assert_eq!(names(&found), ["s/b", "s/a", "s/c", "s/d"]);
    assert_eq!(losses(&found), [(Loss::MalformedRecord, 3)]);
    check_contract(open, &request(group));
    // The start of the next message is unknown.
    let found = read(open, &[REQUEST, b"\x07\x07\x07"].concat());
    assert_eq!((found.spans.len(), losses(&found)), (24, vec![(Loss::MalformedRecord, 1)]));
}

#[test]
fn spans_without_ids_or_times_are_counted() {
    let spans = [
        Encoder::default().bytes(1, [7; 16]).fixed64(7, 1).fixed64(8, 2),
        span(0, "zero"),
        Encoder::default().bytes(1, [0; 16]).bytes(2, [1; 8]).fixed64(7, 1).fixed64(8, 2),
        Encoder::default().bytes(1, [7; 16]).bytes(2, [1; 8]).fixed64(7, 1),
        Encoder::default().bytes(1, [7; 16]).bytes(2, [1; 8]).fixed64(7, 5).fixed64(8, 2).bytes(5, [0xFF]),
        Encoder::default(),
    ];
    let found = read(open, &request(Encoder::default().message(2, scope(spans))));
    assert_eq!(names(&found), ["unknown/\u{fffd}"]);
    let expected = [(Loss::MalformedRecord, 1), (Loss::InvalidId, 4), (Loss::NegativeTime, 1)];
    assert_eq!(losses(&found), expected, "{:?}", found.losses);
}

#[test]
fn other_signals_are_counted_as_such() {
    let metrics = read(open, METRICS);
    assert_eq!((losses(&metrics), metrics.samples.len()), (vec![(Loss::OtherSignal, 2)], 1));
    assert_eq!(losses(&read(open, LOGS)), [(Loss::OtherSignal, 2)]);
}

#[test]
fn oversized_spans_are_skipped() {
    let big = span(1, &"x".repeat(MESSAGE_BYTES_MAX as usize));
    let input = request(Encoder::default().message(1, resource("s")).message(2, scope([big, span(2, "b")])));
    let found = read(open, &input);
    assert_eq!((names(&found), losses(&found)), (vec!["s/b".to_owned()], vec![(Loss::OversizedRecord, 1)]));
}

#[test]
fn the_reference_satisfies_the_contract() {
    check_contract(open, REQUEST);
    check_contract(open_json, REQUEST_JSON);
    check_contract(open, METRICS);
}

#[test]
fn truncation_inside_the_request_is_always_counted() {
    for cut in 1..REQUEST.len() {
        let found = read(open, &REQUEST[..cut]);
        let counted = found.losses.count(Loss::TruncatedInput);
        let whole_groups = found.spans.len().is_multiple_of(6) && counted == 0;
        assert!(counted == 1 || whole_groups, "cut at {cut}: {found:?}");
    }
}

#[test]
fn sniffing_descends_to_a_distinctive_field() {
    assert_eq!(sniff::sniff(REQUEST), Sniff::Yes);
    let only_scopes =
        request(Encoder::default().message(2, Encoder::default().bytes(1, "").message(2, span(1, ""))));
    assert_eq!(sniff::sniff(&only_scopes), Sniff::Yes);
    for cut in 0..12 {
        assert_eq!(sniff::sniff(&REQUEST[..cut]), Sniff::NeedMore, "{cut}");
    }
    for text in
        ["\n{\n  \"resourceSpans\": [", "\n\ntrace_id,span_id", "\nA\nB\nC", "PAR1", "\n\r\n\r\n\r\n\r"]
    {
        assert_eq!(sniff::sniff(text.as_bytes()), Sniff::No, "{text:?}");
    }
}

#[test]
fn weights_and_the_marks_of_tail_samplers() {
    let declared = span(1, "a").bytes(3, "ot=th:c");
    let tagged =
        span(2, "b").attribute(9, "sampler.type", "probabilistic").attribute(9, "sampler.param", "0.1");
    let value_first =
        Encoder::default().message(2, Encoder::default().bytes(1, "const")).bytes(1, "sampler.type");
    let turned = span(3, "c").message(9, value_first).attribute(9, "sampler.param", "1");
    let marked = Encoder::default().bytes(1, "x").attribute(3, "tailsampling.composite_policy", "slow");
    let marked = Encoder::default().message(1, marked).message(2, declared).message(2, tagged);
    let plain = scope([turned, span(4, "d").attribute(9, "http.route", "/")]);
    let input = request(Encoder::default().message(1, resource("s")).message(2, marked).message(2, plain));
    check_contract(open, &input);
    let found: Vec<_> = (read(open, &input).spans.iter())
        .map(|span| (span.sampling.adjusted_count.map(AdjustedCount::get), span.sampling.tail_sampler))
        .collect();
    let collector = Some(TailSampler::Collector);
    assert_eq!(found, [(Some(4.0), collector), (Some(10.0), collector), (Some(1.0), None), (None, None)]);
}

#[test]
fn attributes_of_resources_and_spans_are_retained() {
    let resource = resource("cart").attribute(1, "service.version", "1.4.3");
    let spans =
        scope([span(1, "a").attribute(9, "user.id", "7").attribute(9, "tenant.id", "acme"), span(2, "b")]);
    let input = request(Encoder::default().message(1, resource).message(2, spans));
    check_contract(open, &input);
    let found: Vec<_> = (read(open, &input).spans.into_iter())
        .map(|span| (span.resource_attributes, span.attributes))
        .collect();
    let version = "version\u{1f}cart\u{1f}1.4.3\u{1e}".to_owned();
    let tenant = "tenant\u{1f}\u{1f}acme\u{1e}".to_owned();
    assert_eq!(found, [(version.clone(), tenant), (version, String::new())]);
}

#[test]
fn the_thread_of_a_span_is_retained() {
    let value_first =
        Encoder::default().message(2, Encoder::default().bytes(1, "4712")).bytes(1, "thread.id");
    let spans = scope([
        span(1, "a").attribute(9, "thread.name", "main").attribute(9, "thread.id", "4711"),
        span(2, "b").message(9, value_first),
        span(3, "c").attribute(9, "thread.id", "140213366798080"),
        span(4, "d"),
    ]);
    let input = request(Encoder::default().message(1, resource("cart")).message(2, spans));
    check_contract(open, &input);
    let found: Vec<_> = read(open, &input).spans.iter().map(|span| span.thread.map(|tid| tid.0)).collect();
    assert_eq!(found, [Some(4_711), Some(4_712), None, None]);
}
