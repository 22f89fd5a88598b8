//! Messages of remote write as Prometheus sends them, and the samples they contain.

use super::*;
use crate::otlp_protobuf::encode::Encoder;
use laggard_model::Collect;

/// A series of version 1; points are seconds and values.
fn series(labels: &[(&str, &str)], points: &[(i64, f64)]) -> Encoder {
    let mut series = Encoder::default();
    for (name, value) in labels {
        series = series.message(1, Encoder::default().bytes(1, name).bytes(2, value));
    }
    points.iter().fold(series, |series, &(second, value)| series.message(2, point(second, value)))
}

fn point(second: i64, value: f64) -> Encoder {
    let value = Encoder::default().fixed64(1, value.to_bits());
    value.varint(2, ((1_700_000_000 + second) * 1_000) as u64)
}

fn message(all: impl IntoIterator<Item = Encoder>) -> Vec<u8> {
    all.into_iter().fold(Encoder::default(), |message, series| message.message(1, series)).0
}

fn read(reader: &mut RemoteWrite, message: &[u8]) -> Collect {
    let mut sink = Collect::default();
    reader.read(RemoteWriteVersion::One, message, &mut sink).unwrap();
    sink
}

/// A sample in short: second, server, transaction, value.
fn short(found: &Collect) -> Vec<String> {
    let short = |sample: &laggard_model::OwnedSample| {
        let ns = sample.time.unix_ns() - 1_700_000_000_000_000_000;
        let (seconds, more) = (ns / 1_000_000_000, ns % 1_000_000_000);
        let more = if more == 0 { String::new() } else { format!("+{more}ns") };
        format!(
            "{seconds}{more} {:?} {}[{}] {} = {}",
            sample.measure, sample.tier, sample.server, sample.transaction, sample.value
        )
    };
    found.samples.iter().map(short).collect()
}

const COUNT: &str = "http_server_request_duration_seconds_count";

fn count(status: &str, points: &[(i64, f64)]) -> Encoder {
    series(
        &[
            ("__name__", COUNT),
            ("http_request_method", "GET"),
            ("http_response_status_code", status),
            ("http_route", "/cart"),
            ("instance", "cart-1"),
            ("job", "cart"),
        ],
        points,
    )
}

/// Increases of counters are summed over labels that identify no transaction, regardless of the initial values.
#[test]
fn counters_continue_across_messages() {
    let mut reader = RemoteWrite::new(&[]);
    let first = read(&mut reader, &message([count("200", &[(0, 100.0)]), count("500", &[(0, 7.0)])]));
    assert_eq!(short(&first), ["0 TransactionsTotal cart[cart-1] GET /cart = 0"]);
    // The two come over different connections.
    let second = read(&mut reader, &message([count("200", &[(15, 110.0), (30, 130.0)])]));
    assert_eq!(
        short(&second),
        [
            "15 TransactionsTotal cart[cart-1] GET /cart = 10",
            "30 TransactionsTotal cart[cart-1] GET /cart = 30"
        ]
    );
    let third = read(&mut reader, &message([count("500", &[(15, 8.0), (30, 10.0)])]));
    assert_eq!(
        short(&third),
        [
            "30+1ns TransactionsTotal cart[cart-1] GET /cart = 31",
            "30+2ns TransactionsTotal cart[cart-1] GET /cart = 33"
        ]
    );
    // The process restarts.
    let fourth = read(&mut reader, &message([count("200", &[(45, 5.0)])]));
    assert_eq!(short(&fourth), ["45 TransactionsTotal cart[cart-1] GET /cart = 38"]);
    assert_eq!(fourth.losses.count(Loss::CounterReset), 1);
}

/// A status that never occurred before began at 0; a series that appears a little later may be old.
#[test]
fn a_counter_that_appears_late_started_at_zero() {
    let mut reader = RemoteWrite::new(&[]);
    read(&mut reader, &message([count("200", &[(0, 100.0)])]));
    let soon = read(&mut reader, &message([count("404", &[(15, 1_000.0)])]));
    assert_eq!(short(&soon), ["15 TransactionsTotal cart[cart-1] GET /cart = 0"]);
    let late = read(&mut reader, &message([count("200", &[(600, 100.0)]), count("500", &[(600, 3.0)])]));
    assert_eq!(short(&late), ["600 TransactionsTotal cart[cart-1] GET /cart = 3"]);
    let other = [("__name__", COUNT), ("http_route", "/new"), ("instance", "cart-1"), ("job", "cart")];
    let new = read(&mut reader, &message([series(&other, &[(615, 2.0)])]));
    assert_eq!(
        short(&new),
        ["600 TransactionsTotal cart[cart-1] /new = 0", "615 TransactionsTotal cart[cart-1] /new = 2"]
    );
}

#[test]
fn a_repeated_message_does_not_change_totals() {
    let mut reader = RemoteWrite::new(&[]);
    read(&mut reader, &message([count("200", &[(0, 100.0)])]));
    let once = message([count("200", &[(15, 110.0)])]);
    assert_eq!(short(&read(&mut reader, &once)), ["15 TransactionsTotal cart[cart-1] GET /cart = 10"]);
    assert_eq!(short(&read(&mut reader, &once)), ["15+1ns TransactionsTotal cart[cart-1] GET /cart = 10"]);
    let older = read(&mut reader, &message([count("200", &[(14, 109.0)])]));
    assert_eq!((older.samples.len(), older.losses.count(Loss::DuplicateSample)), (0, 1));
}

#[test]
fn the_latest_value_of_each_gauge_is_used() {
    let mut reader = RemoteWrite::new(&[]);
    let limit = |container: &str, resource: &str, points: &[(i64, f64)]| {
        let labels = [
            ("__name__", "kube_pod_container_resource_limits"),
            ("container", container),
            ("job", "kube-state-metrics"),
            ("pod", "cart-0"),
            ("resource", resource),
        ];
        series(&labels, points)
    };
    let all = [
        limit("main", "cpu", &[(0, 2.0)]),
        limit("main", "memory", &[(0, 1e9)]),
        limit("proxy", "cpu", &[(0, 0.5)]),
    ];
    assert_eq!(short(&read(&mut reader, &message(all))), ["0 Cores [cart-0]  = 2.5"]);
    let ended = read(&mut reader, &message([limit("proxy", "cpu", &[(15, f64::from_bits(STALE))])]));
    assert_eq!(short(&ended), ["15 Cores [cart-0]  = 2"]);
    let busy = |cpu: &str, value: f64| {
        series(&[("__name__", "system_cpu_utilization_ratio"), ("cpu", cpu), ("host", "n1")], &[(0, value)])
    };
    let found = read(&mut reader, &message([busy("0", 0.25), busy("1", 0.75)]));
    assert_eq!(short(&found), ["0 Cores [n1]  = 2", "0 Utilization [n1]  = 0.5"]);
}

#[test]
fn processors_of_a_host_are_counted_and_idle_time_is_not() {
    let mut reader = RemoteWrite::new(&[]);
    let cpu_series = |cpu: &str, mode: &str, points: &[(i64, f64)]| {
        series(
            &[("__name__", "node_cpu_seconds_total"), ("cpu", cpu), ("instance", "n1:9100"), ("mode", mode)],
            points,
        )
    };
    let all = [
        cpu_series("0", "user", &[(0, 50.0), (15, 52.0)]),
        cpu_series("0", "idle", &[(0, 900.0), (15, 910.0)]),
        cpu_series("1", "system", &[(0, 5.0), (15, 6.5)]),
    ];
    let expected = [
        "0 Cores [n1:9100]  = 2",
        "0 CpuSecondsTotal [n1:9100]  = 0",
        "15 Cores [n1:9100]  = 2",
        "15 CpuSecondsTotal [n1:9100]  = 3.5",
    ];
    assert_eq!(short(&read(&mut reader, &message(all))), expected);
}

#[test]
fn names_of_client_libraries_are_known() {
    for (name, labels, expected) in [
        ("process_cpu_seconds_total", vec![], "CpuSecondsTotal j[i] "),
        (
            "http_server_requests_seconds_count",
            vec![("method", "GET"), ("uri", "/a")],
            "TransactionsTotal j[i] GET /a",
        ),
        (
            "http_server_requests_seconds_sum",
            vec![("method", "GET"), ("uri", "/a")],
            "ResponseSecondsTotal j[i] GET /a",
        ),
        ("http_request_duration_seconds_count", vec![("handler", "/b")], "TransactionsTotal j[i] /b"),
        (
            "rpc_server_duration_milliseconds_sum",
            vec![("rpc_method", "Get")],
            "ResponseSecondsTotal j[i] Get",
        ),
        (
            "http_server_request_duration_seconds_count",
            vec![("method", "GET"), ("path", "/a")],
            "TransactionsTotal j[i] GET /a",
        ),
    ] {
        let mut all = vec![("__name__", name), ("instance", "i"), ("job", "j")];
        all.extend(labels);
        let found = read(&mut RemoteWrite::new(&[]), &message([series(&all, &[(0, 1.0)])]));
        assert_eq!(short(&found), [format!("0 {expected} = 0")], "{name}");
    }
    let mut reader = RemoteWrite::new(&[]);
    for name in ["http_server_requests_seconds_bucket", "http_server_requests_seconds_created"] {
        let found = read(&mut reader, &message([series(&[("__name__", name)], &[(0, 1.0)])]));
        assert_eq!((found.samples.len(), found.losses.is_empty()), (0, true), "{name}");
    }
    let found = read(&mut reader, &message([series(&[("__name__", "go_goroutines")], &[(0, 1.0)])]));
    assert_eq!(found.losses.count(Loss::OtherSignal), 1);
}

#[test]
fn both_versions_agree() {
    let symbols = ["", "__name__", COUNT, "http_route", "/cart", "instance", "cart-1", "job", "cart"];
    let of_series =
        Encoder::default().bytes(1, [1, 2, 3, 4, 5, 6, 7, 8]).message(2, point(0, 5.0)).bytes(3, "h");
    let two =
        symbols.iter().fold(Encoder::default(), |all, symbol| all.bytes(4, symbol)).message(5, of_series);
    let mut sink = Collect::default();
    let contents = RemoteWrite::new(&[]).read(RemoteWriteVersion::Two, &two.0, &mut sink).unwrap();
    assert_eq!(contents, MessageContents { points: 1, histograms: 1 });
    assert_eq!(short(&sink), ["0 TransactionsTotal cart[cart-1] /cart = 0"]);
    assert_eq!(sink.losses.count(Loss::OtherSignal), 1);
    for wrong in [
        Encoder::default().message(5, Encoder::default().bytes(1, [1, 2])),
        Encoder::default().message(5, Encoder::default().bytes(1, [0])),
    ] {
        assert!(
            RemoteWrite::new(&[]).read(RemoteWriteVersion::Two, &wrong.0, &mut Collect::default()).is_err()
        );
    }
}

#[test]
fn impossible_sample_values_are_counted() {
    let mut reader = RemoteWrite::new(&[]);
    let found = read(
        &mut reader,
        &message([count("200", &[(0, f64::NAN), (1, -1.0), (2, f64::INFINITY), (i64::MAX / 2_000, 1.0)])]),
    );
    assert_eq!((found.samples.len(), found.losses.count(Loss::InvalidSample)), (0, 4));
}

#[test]
fn remembered_series_are_bounded_and_expire() {
    let mut reader = RemoteWrite::new(&[]);
    let many = |from: usize, second: i64| {
        message((from..from + 150).map(|index| {
            series(
                &[("__name__", "process_cpu_seconds_total"), ("instance", &format!("i{index}"))],
                &[(second, 1.0)],
            )
        }))
    };
    let found = read(&mut reader, &many(0, 0));
    assert_eq!((found.samples.len(), found.losses.count(Loss::SeriesLimit)), (100, 50));
    let found = read(&mut reader, &many(1_000, 7_200));
    assert_eq!((found.samples.len(), found.losses.count(Loss::SeriesLimit)), (100, 50));
}

#[test]
fn damaged_messages_are_reported_and_not_remembered() {
    let mut reader = RemoteWrite::new(&[]);
    let mut cut = message([count("200", &[(0, 5.0)])]);
    cut.extend_from_slice(b"\x0A\x7F");
    assert!(reader.read(RemoteWriteVersion::One, &cut, &mut Collect::default()).is_err());
    assert!(reader.joined.is_empty());
}
