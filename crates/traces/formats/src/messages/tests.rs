//! Complete messages: damage of the message and losses of records.

use super::*;
use crate::otlp_protobuf::encode::{Encoder, resource, span};
use laggard_model::{Collect, Loss, SpanEvent};

fn read(kind: MessageKind, message: &[u8]) -> (Collect, Result<MessageContents, FormatError>) {
    let mut sink = Collect::default();
    let result = MessageReader::new(&ReaderOptions::default()).read(kind, message, &mut sink);
    (sink, result)
}

/// `ResourceSpans` of some records.
fn request(records: impl IntoIterator<Item = Encoder>) -> Vec<u8> {
    let scope = records.into_iter().fold(Encoder::default(), |scope, record| scope.message(2, record));
    let resource_spans = Encoder::default().message(1, resource("cart")).message(2, scope);
    Encoder::default().message(1, resource_spans).0
}

#[test]
fn records_without_ids_are_counted_and_the_others_are_read() {
    let without_ids = Encoder::default().bytes(5, "x").fixed64(7, 10).fixed64(8, 30);
    let (found, result) =
        read(MessageKind::TracesProtobuf, &request([span(1, "a"), without_ids, span(2, "b")]));
    assert_eq!(result, Ok(MessageContents::default()));
    assert_eq!((found.spans.len(), found.losses.count(Loss::InvalidId)), (2, 1));
}

/// One with a time and an exception, and one at an unknown time: it counts as of the start of its span.
#[test]
fn events_of_spans_are_read_from_both_encodings() {
    let exception = Encoder::default().fixed64(1, 20).bytes(2, "exception");
    let exception = exception.attribute(3, "exception.type", "OutOfStock");
    let with_events = span(1, "a").message(11, exception).message(11, Encoder::default().bytes(2, "retry"));
    let (found, result) = read(MessageKind::TracesProtobuf, &request([with_events, span(2, "b")]));
    assert_eq!(
        (result, found.spans.len(), found.losses.is_empty()),
        (Ok(MessageContents::default()), 2, true)
    );
    let shown =
        |event: &SpanEvent| format!("{} {} {} {}", event.span, event.time.unix_ns(), event.name, event.body);
    let events: Vec<String> = found.events.iter().map(shown).collect();
    assert_eq!(events, ["0000000000000001 20 exception OutOfStock", "0000000000000001 10 retry "]);
    assert_eq!(&*found.events[0].attributes, r#"{"exception.type":"OutOfStock"}"#);

    let json = br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"07070707070707070707070707070707",
        "spanId":"0000000000000001","name":"a","startTimeUnixNano":"10","endTimeUnixNano":"30","events":[
        {"timeUnixNano":"20","name":"exception","attributes":[{"key":"exception.type","value":{"stringValue":"OutOfStock"}}]},
        {"name":"retry"},7]}]}]}]}"#;
    let (again, _) = read(MessageKind::TracesJson, json);
    assert_eq!((&again.events, again.spans.len()), (&found.events, 1));
    assert_eq!(again.losses.count(Loss::MalformedRecord), 1, "the third is none");
}

/// Cut anywhere, a message is damaged, unless it ends where a resource's spans end.
#[test]
fn a_truncated_message_is_damaged() {
    let message = request([span(1, "a"), span(2, "b")]);
    for cut in 1..message.len() {
        let (_, result) = read(MessageKind::TracesProtobuf, &message[..cut]);
        assert!(result.is_err(), "cut at byte {cut}");
    }
    assert_eq!(read(MessageKind::TracesProtobuf, &[]).1, Ok(MessageContents::default()));
    for kind in [MessageKind::TracesJson, MessageKind::LogsJson, MessageKind::ZipkinJson] {
        assert!(read(kind, b"[{\"resourceSpans\":[{").1.is_err(), "{kind:?}");
    }
    assert!(read(MessageKind::LogsProtobuf, b"\x0A\x05x").1.is_err());
}

/// A gauge of metrics looks like a span without ids and times.
#[test]
fn a_metrics_message_is_not_read_as_spans() {
    let point = Encoder::default().fixed64(3, 1_700_000_000_000_000_000).fixed64(6, 4);
    let metric =
        Encoder::default().bytes(1, "jvm.cpu.count").message(5, Encoder::default().message(1, point));
    let (found, _) = read(MessageKind::MetricsProtobuf, &request([metric.clone()]));
    assert_eq!((found.samples.len(), found.losses.is_empty()), (1, true));
    let (found, _) = read(MessageKind::TracesProtobuf, &request([metric]));
    assert_eq!((found.samples.len(), found.losses.count(Loss::InvalidId)), (0, 1));
}

#[test]
fn log_records_of_a_span_become_events_and_the_others_are_counted() {
    let text = |text: &str| Encoder::default().bytes(1, text);
    let ids = || Encoder::default().bytes(9, [1; 16]).bytes(10, [2; 8]);
    let full = ids().fixed64(1, 9).varint(2, 17).message(5, text("no stock")).bytes(12, "stock");
    let records = [
        full,
        // The time at which it was observed stands in.
        ids().fixed64(11, 7).message(5, text(&"é".repeat(3_000))),
        ids().message(5, text("without a time")),
        Encoder::default().fixed64(1, 9).message(5, text("without a span")),
    ];
    let (found, result) = read(MessageKind::LogsProtobuf, &request(records));
    assert_eq!(result, Ok(MessageContents::default()));
    let losses =
        [Loss::UntracedLog, Loss::MalformedRecord, Loss::LongLog].map(|loss| found.losses.count(loss));
    assert_eq!((found.events.len(), losses), (2, [1; 3]));
    let event = &found.events[0];
    assert_eq!((event.time.unix_ns(), event.severity.name(), &*event.name), (9, "ERROR", "stock"));
    assert_eq!((&*event.body, event.span.to_string().as_str()), ("no stock", "0202020202020202"));
    assert_eq!((found.events[1].time.unix_ns(), found.events[1].body.len()), (7, 4_096));

    let json = br#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[
        {"traceId":"01010101010101010101010101010101","spanId":"0202020202020202","timeUnixNano":"9",
         "severityNumber":17,"eventName":"stock","body":{"stringValue":"no stock"}},{"body":{}},7]},{}]}]}"#;
    let (again, result) = read(MessageKind::LogsJson, json);
    assert_eq!((result, &again.events[..]), (Ok(MessageContents::default()), &found.events[..1]));
    assert_eq!(again.losses.count(Loss::UntracedLog) + again.losses.count(Loss::MalformedRecord), 2);
}

#[test]
fn series_continue_across_messages() {
    let reader = MessageReader::new(&ReaderOptions::default());
    let message = |second: u64, value: f64| {
        let point = Encoder::default()
            .fixed64(2, (1_700_000_000 + second - 10) * 1_000_000_000)
            .fixed64(3, (1_700_000_000 + second) * 1_000_000_000)
            .fixed64(4, value.to_bits());
        let sum = Encoder::default().message(1, point).varint(2, 1).varint(3, 1);
        request([Encoder::default().bytes(1, "process.cpu.time").message(7, sum)])
    };
    let mut values = Vec::new();
    // The second comes twice, because its sender did not receive the acknowledgment.
    for (second, value) in [(10, 1.5), (20, 2.0), (20, 2.0), (30, 1.0)] {
        let mut sink = Collect::default();
        reader.read(MessageKind::MetricsProtobuf, &message(second, value), &mut sink).unwrap();
        values.extend(sink.samples.last().map(|sample| sample.value));
    }
    assert_eq!(values, [1.5, 3.5, 3.5, 4.5]);
}

/// One span of Zipkin, in both encodings.
#[test]
fn zipkin_protobuf_and_json_agree() {
    let endpoint = Encoder::default().bytes(1, "cart").bytes(2, [10, 0, 0, 7]).varint(4, 8080);
    let tag = Encoder::default().bytes(1, "error").bytes(2, "late \"x\"");
    let span = Encoder::default()
        .bytes(1, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xA, 0xB])
        .bytes(2, [0, 0, 0, 0, 0, 0, 0, 1])
        .bytes(3, [0, 0, 0, 0, 0, 0, 0, 2])
        .varint(4, 2)
        .bytes(5, "get /cart")
        .fixed64(6, 1_700_000_000_000_000)
        .varint(7, 1_500)
        .message(8, endpoint)
        .message(11, tag);
    let list = Encoder::default().message(1, span.clone()).message(1, span.bytes(3, []));
    let json = br#"[{"traceId":"00000000000000000000000000000a0b","parentId":"0000000000000001","id":"0000000000000002",
        "kind":"SERVER","name":"get /cart","timestamp":1700000000000000,"duration":1500,
        "localEndpoint":{"serviceName":"cart","ipv4":"10.0.0.7","port":8080},"tags":{"error":"late \"x\""}}]"#;
    let (found, _) = read(MessageKind::ZipkinProtobuf, &list.0);
    assert_eq!(found.spans, read(MessageKind::ZipkinJson, json).0.spans);
    assert_eq!((found.spans.len(), found.losses.count(Loss::InvalidId)), (1, 1));
    assert!(read(MessageKind::ZipkinProtobuf, &list.0[..list.0.len() - 1]).1.is_err());
}

/// Any input is accepted or rejected as a message; reading it again gives the same result.
#[test]
fn arbitrary_bytes_are_read_deterministically() {
    use proptest::test_runner::{Config, TestRunner};
    let good = request([span(1, "a"), span(2, "b")]);
    let bytes = proptest::collection::vec(proptest::num::u8::ANY, 0..200);
    let mut runner = TestRunner::new(Config { cases: 128, failure_persistence: None, ..Config::default() });
    let run = |(bytes, position, kind): (Vec<u8>, usize, usize)| {
        let mut damaged = good.clone();
        damaged[position] ^= bytes.first().copied().unwrap_or(1);
        for message in [bytes.as_slice(), &damaged, &damaged[..position]] {
            let reader = MessageReader::new(&ReaderOptions::default());
            let kind = MessageKind::ALL[kind];
            let once = reader.read(kind, message, &mut Collect::default());
            proptest::prop_assert_eq!(once, reader.read(kind, message, &mut Collect::default()));
        }
        Ok(())
    };
    runner.run(&(bytes, 0..good.len(), 0..MessageKind::ALL.len()), run).unwrap();
}
