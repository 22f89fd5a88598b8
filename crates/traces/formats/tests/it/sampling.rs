//! Sampling weights in every format.

use laggard_formats::contract::{Event, Transcript, check_splits, transcript};
use laggard_formats::{ReaderOptions, find_format};
use laggard_model::{AdjustedCount, Loss, OwnedSpan, TailSampler, WeightSource};

fn read(format: &str, text: &str, options: &ReaderOptions) -> Transcript {
    let format = find_format(format).unwrap();
    check_splits(format, options, text.as_bytes(), &[1, 2]);
    transcript(format, options, [text.as_bytes()])
}

fn spans(transcript: &Transcript) -> impl Iterator<Item = &OwnedSpan> {
    transcript.records().map(|record| match record {
        Event::Span(span) => span,
        other => panic!("{other:?}"),
    })
}

fn counts(transcript: &Transcript) -> Vec<(Option<f32>, WeightSource)> {
    let sampling = spans(transcript).map(|span| span.sampling);
    sampling.map(|found| (found.adjusted_count.map(AdjustedCount::get), found.source)).collect()
}

fn named(count: Option<&str>, probability: Option<&str>) -> ReaderOptions {
    ReaderOptions {
        weight_attribute: count.map(str::to_owned),
        probability_attribute: probability.map(str::to_owned),
        ..ReaderOptions::default()
    }
}

fn otlp(scope: &str, spans: &[&str]) -> String {
    let span = |(id, rest): (usize, &&str)| {
        format!(
            r#"{{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"{:016x}","name":"a","startTimeUnixNano":"1","endTimeUnixNano":"2"{rest}}}"#,
            id + 1
        )
    };
    let spans: Vec<String> = spans.iter().enumerate().map(span).collect();
    format!(
        r#"{{"resourceSpans":[{{"resource":{{}},"scopeSpans":[{{"scope":{scope},"spans":[{}]}}]}}]}}"#,
        spans.join(",")
    )
}

#[test]
fn otlp_json_has_weights_in_trace_state_and_attributes() {
    let text = otlp(
        "{}",
        &[
            r#","traceState":"ot=th:fd70a4""#,
            r#","trace_state":"rojo=1,ot=p:2;r:5""#,
            r#","attributes":[{"key":"sampler.type","value":{"stringValue":"probabilistic"}},{"key":"sampler.param","value":{"doubleValue":0.125}}]"#,
            r#","traceState":"ot=th:c","attributes":[{"key":"SampleRate","value":{"intValue":"20"}}]"#,
            r#","traceState":"ot=th:what""#,
            "",
        ],
    );
    let plain = read("otlp-json", &text, &ReaderOptions::default());
    let expected = [
        (Some(100.000_1), WeightSource::Threshold),
        (Some(4.0), WeightSource::PowerOfTwo),
        (Some(8.0), WeightSource::JaegerProbabilistic),
        (Some(4.0), WeightSource::Threshold),
        (None, WeightSource::Unknown),
        (None, WeightSource::Unknown),
    ];
    assert_eq!(counts(&plain), expected);
    assert_eq!(plain.losses().count(Loss::InvalidSampling), 1);
    let with_attribute = read("otlp-json", &text, &named(Some("SampleRate"), None));
    assert_eq!(counts(&with_attribute)[3], (Some(20.0), WeightSource::Named));
}

#[test]
fn the_collectors_mark_on_a_scope_is_on_its_spans() {
    let scope =
        r#"{"name":"x","attributes":[{"key":"tailsampling.policy","value":{"stringValue":"errors"}}]}"#;
    let marked = read("otlp-json", &otlp(scope, &["", ""]), &ReaderOptions::default());
    assert!(spans(&marked).all(|span| span.sampling.tail_sampler == Some(TailSampler::Collector)));
    let refinery = r#","attributes":[{"key":"meta.refinery.reason","value":{"stringValue":"slow"}}]"#;
    let mixed = read("otlp-json", &otlp("{}", &[refinery, ""]), &ReaderOptions::default());
    let marks: Vec<_> = spans(&mixed).map(|span| span.sampling.tail_sampler).collect();
    assert_eq!(marks, [Some(TailSampler::Refinery), None]);
}

#[test]
fn jaeger_and_zipkin_have_weights_in_tags() {
    let jaeger = r#"{"traceID":"1","spanID":"1","operationName":"a","startTime":1,"duration":1,"process":{"serviceName":"s"},"tags":[
        {"key":"sampler.type","type":"string","value":"probabilistic"},{"key":"sampler.param","type":"float64","value":0.01}]}
{"traceID":"1","spanID":"2","operationName":"a","startTime":1,"duration":1,"process":{"serviceName":"s"},"tags":[
        {"key":"w3c.tracestate","type":"string","value":"ot=th:8"}]}
{"traceID":"1","spanID":"3","operationName":"a","startTime":1,"duration":1,"process":{"serviceName":"s"},"tags":[
        {"key":"sampler.type","type":"string","value":"ratelimiting"},{"key":"sampler.param","type":"float64","value":2}]}"#;
    let expected = [
        (Some(100.0), WeightSource::JaegerProbabilistic),
        (Some(2.0), WeightSource::Threshold),
        (None, WeightSource::JaegerOther),
    ];
    assert_eq!(counts(&read("jaeger", jaeger, &ReaderOptions::default())), expected);
    let zipkin = r#"[{"traceId":"1","id":"1","name":"a","timestamp":1,"duration":1,"tags":{"_sample_rate":"0.25"}},
        {"traceId":"1","id":"2","name":"a","timestamp":1,"duration":1,"tags":{"w3c.tracestate":"ot=th:0"}}]"#;
    let found = read("zipkin", zipkin, &named(None, Some("_sample_rate")));
    assert_eq!(counts(&found), [(Some(4.0), WeightSource::Named), (Some(1.0), WeightSource::Threshold)]);
}

#[test]
fn tables_have_weights_in_a_column() {
    let table = |title: &str, fields: [&str; 3]| {
        let row = |field: &str| format!("1,1,,s,a,1,1,{field}\n");
        format!(
            "trace_id,span_id,parent_span_id,service,operation,start_ns,duration_ns,{title}\n{}",
            fields.map(row).concat()
        )
    };
    let found = |title, fields, options: &ReaderOptions| {
        let found = read("span-csv", &table(title, fields), options);
        let losses = found.losses().count(Loss::InvalidSampling);
        (spans(&found).map(|span| span.sampling.adjusted_count.map(AdjustedCount::get)).collect(), losses)
    };
    let plain = ReaderOptions::default();
    let expected: (Vec<_>, _) = (vec![Some(10.0), None, None], 1);
    assert_eq!(found("adjusted_count", ["10", "", "0.5"], &plain), expected);
    assert_eq!(found("Sampling Probability", ["0.1", "", "0"], &plain), expected);
    assert_eq!(found("trace_state", ["ot=th:0", "", "ot=th:8;rv:0"], &plain).0, [Some(1.0), None, None]);
    assert_eq!(found("SampleRate", ["10", "", "x"], &named(Some("SampleRate"), None)), expected);
    assert_eq!(found("SampleRate", ["10", "", "x"], &plain), (vec![None; 3], 0));
}
