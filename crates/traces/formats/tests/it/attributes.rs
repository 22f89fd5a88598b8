//! Attributes of requests and services in every format that has them.

use laggard_formats::contract::{Event, check_splits, transcript};
use laggard_formats::{ReaderOptions, SelectedAttributes, find_format};
use laggard_model::attributes_in;

/// `key[@service]=value` of every span.
fn attributes(format: &str, text: &str, options: &ReaderOptions) -> Vec<Vec<String>> {
    let format = find_format(format).unwrap();
    check_splits(format, options, text.as_bytes(), &[1, 2]);
    let transcript = transcript(format, options, [text.as_bytes()]);
    let spans = transcript.records().map(|record| match record {
        Event::Span(span) => span,
        other => panic!("{other:?}"),
    });
    let shown = |attribute: laggard_model::Attribute<'_>| match attribute.service {
        "" => format!("{}={}", attribute.key, attribute.value),
        service => format!("{}@{service}={}", attribute.key, attribute.value),
    };
    spans
        .map(|span| {
            attributes_in(&span.resource_attributes)
                .chain(attributes_in(&span.attributes))
                .map(shown)
                .collect()
        })
        .collect()
}

const EXPECTED: [&str; 3] = ["version@cart=1.4.3", "tenant=acme", "zone@cart=a"];

fn check(format: &str, text: &str) {
    let mut found = attributes(format, text, &ReaderOptions::default());
    found.iter_mut().for_each(|span| span.sort());
    let mut expected = EXPECTED.to_vec();
    expected.sort_unstable();
    assert_eq!(found, [expected], "{format}");
    let none = ReaderOptions { attributes: SelectedAttributes::parse(""), ..ReaderOptions::default() };
    assert_eq!(attributes(format, text, &none), [Vec::<String>::new()], "{format}");
}

#[test]
fn attributes_are_retained_in_every_format() {
    let resource = r#"{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}},{"key":"service.version","value":{"stringValue":"1.4.3"}},{"key":"cloud.availability_zone","value":{"stringValue":"a"}}]}"#;
    let span = r#"{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"0000000000000001","name":"a","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{"key":"tenant.id","value":{"stringValue":"acme"}},{"key":"user.id","value":{"stringValue":"u"}}]}"#;
    let scopes = format!(r#""scopeSpans":[{{"spans":[{span}]}}]"#);
    check("otlp-json", &format!(r#"{{"resourceSpans":[{{"resource":{resource},{scopes}}}]}}"#));
    // The resource after its spans.
    check("otlp-json", &format!(r#"{{"resourceSpans":[{{{scopes},"resource":{resource}}}]}}"#));
    check(
        "jaeger",
        r#"{"data":[{"traceID":"7","spans":[{"traceID":"7","spanID":"1","operationName":"a","startTime":1,"duration":1,"processID":"p1","tags":[{"key":"tenant","value":"acme"}]}],"processes":{"p1":{"serviceName":"cart","tags":[{"key":"service.version","value":"1.4.3"},{"key":"cloud.availability_zone","value":"a"}]}}}]}"#,
    );
    check(
        "zipkin",
        r#"[{"traceId":"7","id":"1","name":"a","timestamp":1,"duration":1,"localEndpoint":{"serviceName":"cart"},"tags":{"tenant_id":"acme","service.version":"1.4.3","cloud.availability_zone":"a"}}]"#,
    );
    check(
        "span-csv",
        "trace_id,span_id,parent_span_id,service,operation,start_ns,duration_ns,version,zone,tenant\n7,1,,cart,a,1,2,1.4.3,a,acme\n",
    );
}

#[test]
fn other_attributes_can_be_selected() {
    let options =
        ReaderOptions { attributes: SelectedAttributes::parse("shop.plan"), ..ReaderOptions::default() };
    let text = r#"[{"traceId":"7","id":"1","name":"a","timestamp":1,"duration":1,"localEndpoint":{"serviceName":"cart"},"tags":{"shop.plan":"gold","tenant":"acme"}}]"#;
    assert_eq!(attributes("zipkin", text, &options), [["shop.plan=gold"]]);
}
