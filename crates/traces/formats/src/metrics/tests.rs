//! Metrics against Google's encoder, by hand, and against what instruments do over time.

use super::*;
use crate::format::ReaderOptions;
use crate::otlp_frames::{open_json, open_protobuf};
use crate::sample_checks::{check_contract, losses, read};
use laggard_model::{Collect, OwnedSample};
use std::fmt::Write;

// Both were written by Google's protobuf library for Python from one request (opentelemetry-proto 1.x).
const BINARY: &[u8] = include_bytes!("../../tests/samples/otlp/samples.binpb");
const JSON: &[u8] = include_bytes!("../../tests/samples/otlp/samples.json");
const EXPECTED: &str = include_str!("../../tests/samples/otlp/samples.expected");

/// A sample in short, times in seconds after 1,700,000,000.
fn short(sample: &OwnedSample) -> String {
    let seconds = (sample.time.unix_ns() - 1_700_000_000_000_000_000) as f64 / 1e9;
    let (server, tier, transaction, callee) =
        (&sample.server, &sample.tier, &sample.transaction, &sample.callee);
    format!("{seconds} {:?} {tier}[{server}] {transaction}>{callee} = {}", sample.measure, sample.value)
}

fn all(found: &Collect) -> Vec<String> {
    found.samples.iter().map(short).collect()
}

#[test]
fn both_encodings_give_the_expected_samples() {
    let (binary, json) = (read(open_protobuf, BINARY), read(open_json, JSON));
    let found = all(&binary).iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    });
    if std::env::var_os("LAGGARD_WRITE_EXPECTED").is_some() {
        std::fs::write("tests/samples/otlp/samples.expected", &found).unwrap();
    }
    assert_eq!(found, EXPECTED);
    assert_eq!(all(&json), all(&binary));
    // Memory and cores in use, of two collections each.
    assert_eq!(losses(&binary), [(Loss::OtherSignal, 4)]);
    assert_eq!(losses(&json), losses(&binary));
}

/// JSON of one metric of a service `s`.
fn document(metric: &str) -> String {
    format!(
        r#"{{"resourceMetrics":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"s"}}}}]}},
        "scopeMetrics":[{{"metrics":[{metric}]}}]}}]}}"#
    )
}

fn read_with(rules: &[&str], input: &str) -> Collect {
    let metrics = rules.iter().map(|rule| parse_metric_option(rule).unwrap()).collect::<Vec<_>>();
    let mut reader = open_json(&ReaderOptions::default().with(metrics));
    let mut sink = Collect::default();
    reader.push(input.as_bytes(), &mut sink).unwrap();
    reader.finish(&mut sink).unwrap();
    sink
}

const AT: &str = r#""timeUnixNano":"1700000000000000000""#;

#[test]
fn rules_take_precedence_over_conventions() {
    let points = format!(
        r#"[{{{AT},"asInt":"7","attributes":[{{"key":"order.type","value":{{"stringValue":"big"}}}}]}}]"#
    );
    let sum = |name: &str, temporality: u32| {
        document(&format!(
            r#"{{"name":"{name}","sum":{{"dataPoints":{points},"aggregationTemporality":{temporality},"isMonotonic":true}}}}"#
        ))
    };
    let found = read_with(&["shop.orders=count:none|order.type"], &sum("shop_orders_total", 2));
    assert_eq!(all(&found), ["0 TransactionsTotal s[] big> = 7"]);
    let found = read_with(&["shop.orders=count_total:x+order.type"], &sum("shop.orders", 1));
    assert_eq!(all(&found), ["0 Transactions s[] big> = 7"]);
    let found = read_with(&["process.cpu.time=none"], &sum("process.cpu.time", 2));
    assert_eq!((all(&found), losses(&found)), (vec![], vec![(Loss::OtherSignal, 1)]));
    let found = read_with(&["orders=calls:order.type:nowhere"], &sum("orders", 2));
    assert_eq!(all(&found), ["0 CallsTotal s[] big> = 7"]);
    for text in ["a", "=count", "a=speed"] {
        let message = parse_metric_option(text).unwrap_err().to_string();
        assert!(message.contains("for example"), "{message}");
    }
}

#[test]
fn units_are_those_of_the_metric() {
    let gauge = |name: &str, unit: &str, value: &str| {
        document(&format!(
            r#"{{"name":"{name}","unit":"{unit}","gauge":{{"dataPoints":[{{{AT},"asDouble":{value}}}]}}}}"#
        ))
    };
    let sample = |input: &str| all(&read_with(&["rt=response_ms:x", "busy=utilization"], input)).join(";");
    assert_eq!(sample(&gauge("busy", "%", "25")), "0 Utilization s[]  = 0.25".replace("]  =", "] > ="));
    assert_eq!(sample(&gauge("busy", "1", "\"NaN\"")), "0 Utilization s[] > = NaN");
    assert_eq!(sample(&gauge("rt", "", "30")), "0 ResponseTime s[] unknown> = 0.03");
    assert_eq!(sample(&gauge("rt", "s", "30")), "0 ResponseTime s[] unknown> = 30");
    assert_eq!(sample(&gauge("container.cpu.usage.total", "ns", "5e9")), "0 CpuSecondsTotal s[] > = 5");
}

/// CPU time from metrics that are not cumulative counters: deltas from their start on, cores in use from the second point on.
#[test]
fn cpu_time_is_accumulated_from_differences_and_gauges() {
    let sum = |second: u32, value: f64| {
        document(&format!(
            r#"{{"name":"process.cpu.time","sum":{{"isMonotonic":true,"aggregationTemporality":1,"dataPoints":[
            {{"startTimeUnixNano":"{}000000000","timeUnixNano":"{}000000000","asDouble":{value}}}]}}}}"#,
            1_700_000_000 + second - 10,
            1_700_000_000 + second
        ))
    };
    let found = read_with(&[], &[sum(10, 1.5), sum(20, 2.0)].concat());
    let expected =
        ["0 CpuSecondsTotal s[] > = 0", "10 CpuSecondsTotal s[] > = 1.5", "20 CpuSecondsTotal s[] > = 3.5"];
    assert_eq!(all(&found), expected);
    let gauge = |second: u32, value: f64| {
        document(&format!(
            r#"{{"name":"k8s.pod.cpu.usage","gauge":{{"dataPoints":[{{"timeUnixNano":"{}000000000","asDouble":{value}}}]}}}}"#,
            1_700_000_000 + second
        ))
    };
    let found = read_with(
        &["k8s.pod.cpu.usage=cores_in_use"],
        &[gauge(0, 1.0), gauge(10, 0.5), gauge(30, 2.0)].concat(),
    );
    let expected =
        ["0 CpuSecondsTotal s[] > = 0", "10 CpuSecondsTotal s[] > = 5", "30 CpuSecondsTotal s[] > = 45"];
    assert_eq!(all(&found), expected);
}

#[test]
fn processors_of_a_host_are_counted() {
    let point = |cpu: u32, state: &str, value: f64| {
        format!(
            r#"{{{AT},"asDouble":{value},"attributes":[{{"key":"cpu","value":{{"stringValue":"cpu{cpu}"}}}},
            {{"key":"state","value":{{"stringValue":"{state}"}}}}]}}"#
        )
    };
    let points =
        [point(0, "user", 5.0), point(0, "idle", 90.0), point(1, "system", 2.0), point(1, "idle", 93.0)];
    let metric = format!(
        r#"{{"name":"system.cpu.time","sum":{{"isMonotonic":true,"aggregationTemporality":2,"dataPoints":[{}]}}}}"#,
        points.join(",")
    );
    assert_eq!(all(&read_with(&[], &document(&metric))), ["0 Cores [] > = 2", "0 CpuSecondsTotal [] > = 7"]);
}

#[test]
fn metrics_may_precede_their_resource_within_limits() {
    let metric = format!(r#"{{"name":"jvm.cpu.count","gauge":{{"dataPoints":[{{{AT},"asInt":2}}]}}}}"#);
    let late = |metrics: &str| {
        format!(
            r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{metrics}]}}],
            "resource":{{"attributes":{{"service.name":"late"}}}}}}]}}"#
        )
    };
    assert_eq!(all(&read_with(&[], &late(&metric))), ["0 Cores late[] > = 2"]);
    let many = vec![metric; 1_000].join(",");
    let found = read_with(&[], &late(&many));
    assert_eq!(found.samples.len() as u64 + found.losses.count(Loss::OversizedRecord), 1_000);
    assert!(found.samples.len() < 1_000);
}

#[test]
fn unreadable_points_are_counted() {
    for (points, expected) in [
        (r#"[{"asDouble":1}]"#, vec![(Loss::MalformedRecord, 1)]),
        (r#"[{"timeUnixNano":"5"}]"#, vec![(Loss::MalformedRecord, 1)]),
        (r#"[{"timeUnixNano":"5","asDouble":"much"}]"#, vec![(Loss::MalformedRecord, 1)]),
        (r#"[{"timeUnixNano":"5","asDouble":1,"flags":1}]"#, vec![]),
        ("null", vec![]),
    ] {
        let input = document(&format!(r#"{{"name":"jvm.cpu.count","gauge":{{"dataPoints":{points}}}}}"#));
        let found = read_with(&[], &input);
        assert_eq!((losses(&found), found.samples.len()), (expected, 0), "{points}");
    }
}

#[test]
fn samples_satisfy_the_contract() {
    // Not-a-number equals nothing, so it is left out here; the integration tests compare its bits.
    let json = String::from_utf8_lossy(JSON).replace("\"NaN\"", "0.5");
    check_contract(open_json, json.as_bytes());
}
