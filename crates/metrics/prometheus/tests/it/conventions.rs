//! What common exporters expose, read by the queries that are asked without `--query`.

use crate::stand_in::{ReceivedQuery, StandIn, success};
use crate::{get, range, settings};
use laggard_model::Measure;
use laggard_prometheus::{DEFAULT_QUERIES, PROXY_QUERIES};
use std::collections::BTreeSet;

/// A convention, its lines in the text format, and the transactions in them.
struct Exposition {
    name: &'static str,
    text: &'static str,
    transactions: &'static [&'static str],
    /// Whether it has its process's CPU time.
    has_cpu: bool,
}

const EXPOSITIONS: [Exposition; 13] = [
    Exposition {
        name: "Spring Boot with Micrometer",
        text: r#"
http_server_requests_seconds_count{error="none",exception="none",method="GET",outcome="SUCCESS",status="200",uri="/cart/{id}"} 7
http_server_requests_seconds_sum{error="none",exception="none",method="GET",outcome="SUCCESS",status="200",uri="/cart/{id}"} 0.7
http_server_requests_seconds_count{error="none",exception="none",method="POST",outcome="SUCCESS",status="200",uri="/buy"} 3
http_server_requests_seconds_sum{error="none",exception="none",method="POST",outcome="SUCCESS",status="200",uri="/buy"} 0.9
process_cpu_seconds_total 0.5
"#,
        transactions: &["GET /cart/{id}", "POST /buy"],
        has_cpu: true,
    },
    Exposition {
        name: "ASP.NET Core with prometheus-net",
        text: r#"
http_request_duration_seconds_count{code="200",method="GET",controller="Cart",action="Get",endpoint="cart/{id}"} 7
http_request_duration_seconds_sum{code="200",method="GET",controller="Cart",action="Get",endpoint="cart/{id}"} 0.7
process_cpu_seconds_total 0.5
"#,
        transactions: &["GET cart/{id}"],
        has_cpu: true,
    },
    Exposition {
        name: "ASP.NET Core's own meters",
        text: r#"
http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="200",http_route="cart/{id}",url_scheme="http"} 7
http_server_request_duration_seconds_sum{http_request_method="GET",http_response_status_code="200",http_route="cart/{id}",url_scheme="http"} 0.7
"#,
        transactions: &["GET cart/{id}"],
        has_cpu: false,
    },
    Exposition {
        name: "Express with express-prom-bundle",
        text: r#"
http_request_duration_seconds_count{status_code="200",method="GET",path="/cart"} 7
http_request_duration_seconds_sum{status_code="200",method="GET",path="/cart"} 0.7
process_cpu_seconds_total 0.5
"#,
        transactions: &["GET /cart"],
        has_cpu: true,
    },
    Exposition {
        name: "Express with prom-client",
        text: r#"
http_request_duration_seconds_count{method="GET",route="/cart",code="200"} 7
http_request_duration_seconds_sum{method="GET",route="/cart",code="200"} 0.7
process_cpu_seconds_total 0.5
"#,
        transactions: &["GET /cart"],
        has_cpu: true,
    },
    Exposition {
        name: "FastAPI",
        text: r#"
http_request_duration_seconds_count{handler="/cart/{id}",method="GET",status="2xx"} 7
http_request_duration_seconds_sum{handler="/cart/{id}",method="GET",status="2xx"} 0.7
process_cpu_seconds_total 0.5
"#,
        transactions: &["GET /cart/{id}"],
        has_cpu: true,
    },
    Exposition {
        name: "Go's promhttp with a label of the handler",
        text: r#"
http_request_duration_seconds_count{code="200",handler="/cart",method="get"} 7
http_request_duration_seconds_sum{code="200",handler="/cart",method="get"} 0.7
process_cpu_seconds_total 0.5
"#,
        transactions: &["get /cart"],
        has_cpu: true,
    },
    Exposition {
        name: "Go's promhttp without one",
        text: r#"
http_request_duration_seconds_count{code="200",method="get"} 7
http_request_duration_seconds_sum{code="200",method="get"} 0.7
process_cpu_seconds_total 0.5
"#,
        transactions: &["get"],
        has_cpu: true,
    },
    Exposition {
        name: "nginx's ingress controller",
        text: r#"
nginx_ingress_controller_request_duration_seconds_count{controller_class="k8s.io/ingress-nginx",ingress="shop",method="GET",path="/cart",service="cart",status="200"} 7
nginx_ingress_controller_request_duration_seconds_sum{controller_class="k8s.io/ingress-nginx",ingress="shop",method="GET",path="/cart",service="cart",status="200"} 0.7
"#,
        transactions: &["GET /cart"],
        has_cpu: false,
    },
    Exposition {
        name: "OpenTelemetry before stable conventions",
        text: r#"
http_server_duration_milliseconds_count{http_method="GET",http_route="/cart",http_status_code="200"} 7
http_server_duration_milliseconds_sum{http_method="GET",http_route="/cart",http_status_code="200"} 700
"#,
        transactions: &["GET /cart"],
        has_cpu: false,
    },
    Exposition {
        name: "gRPC by OpenTelemetry",
        text: r#"
rpc_server_duration_milliseconds_count{rpc_method="Buy",rpc_service="shop.Cart"} 7
rpc_server_duration_milliseconds_sum{rpc_method="Buy",rpc_service="shop.Cart"} 700
"#,
        transactions: &["shop.Cart Buy"],
        has_cpu: false,
    },
    Exposition {
        name: "Envoy",
        text: r#"
envoy_cluster_upstream_rq_time_count{envoy_cluster_name="cart"} 7
envoy_cluster_upstream_rq_time_sum{envoy_cluster_name="cart"} 700
"#,
        transactions: &["cart"],
        has_cpu: false,
    },
    // Both proxies of a call count it, and they are Envoys.
    Exposition {
        name: "Istio",
        text: r#"
istio_request_duration_milliseconds_count{destination_service="cart.shop.svc.cluster.local",reporter="destination",response_code="200"} 7
istio_request_duration_milliseconds_sum{destination_service="cart.shop.svc.cluster.local",reporter="destination",response_code="200"} 700
istio_request_duration_milliseconds_count{destination_service="cart.shop.svc.cluster.local",reporter="source",response_code="200"} 8
istio_request_duration_milliseconds_sum{destination_service="cart.shop.svc.cluster.local",reporter="source",response_code="200"} 800
envoy_cluster_upstream_rq_time_count{envoy_cluster_name="inbound"} 7
envoy_cluster_upstream_rq_time_sum{envoy_cluster_name="inbound"} 700
"#,
        transactions: &["cart.shop.svc.cluster.local"],
        has_cpu: false,
    },
];

/// The labels and the value of a line of a metric, if it matches a selector with at most one matcher.
fn matched(line: &str, selector: &str) -> Option<(String, f64)> {
    let (metric, value) = line.rsplit_once(' ')?;
    let (name, labels) = metric.split_once('{').unwrap_or((metric, ""));
    let labels = labels.trim_end_matches('}').replace("\",", "\"\n");
    let (metric, matcher) = selector.split_once('{').unwrap_or((selector, ""));
    let matcher = matcher.trim_end_matches('}');
    let is_matched = name == metric && (matcher.is_empty() || labels.lines().any(|label| label == matcher));
    let pairs = labels.lines().chain(["instance=\"10.0.0.1:80\"", "job=\"shop\""]).filter_map(|label| {
        let (label, value) = label.split_once('=')?;
        Some(format!("\"{label}\":{value}"))
    });
    is_matched.then(|| Some((pairs.collect::<Vec<_>>().join(","), value.parse().ok()?)))?
}

/// A Prometheus that has scraped an exposition whose counters grow by their values each second.
fn scraped(text: &'static str) -> StandIn {
    StandIn::new(move |_, received: &ReceivedQuery| {
        let timestamps = received.query.strip_prefix("timestamp(");
        let selector = timestamps.map_or(&*received.query, |inside| inside.trim_end_matches(')'));
        let series: Vec<(String, f64)> = text.lines().filter_map(|line| matched(line, selector)).collect();
        let values = |rate: f64| {
            let rate = if timestamps.is_some() { 1.0 } else { rate };
            received.instants().map(move |time| (time, format!("{}", rate * time))).collect()
        };
        let series: Vec<(&str, Vec<(f64, String)>)> =
            series.iter().map(|(labels, rate)| (labels.as_str(), values(*rate))).collect();
        success(&series)
    })
}

/// The transactions for which the queries give a number of completions, and those with response times; and whether one gives the
/// CPU time of a process.
fn known(server: &StandIn, queries: &[&str]) -> ([BTreeSet<String>; 2], bool) {
    let (mut transactions, mut has_cpu) = ([BTreeSet::new(), BTreeSet::new()], false);
    for query in queries {
        for sample in get(settings(server), query, range(60, 15)).unwrap().collected.samples {
            assert_eq!((sample.server.as_str(), sample.tier.as_str()), ("10.0.0.1:80", "shop"), "{query}");
            match sample.measure {
                Measure::TransactionsTotal => {
                    transactions[0].insert(sample.transaction);
                }
                Measure::ResponseSecondsTotal => {
                    transactions[1].insert(sample.transaction);
                }
                Measure::CpuSecondsTotal => has_cpu = true,
                other => panic!("{query}: {other:?}"),
            }
        }
    }
    (transactions, has_cpu)
}

#[test]
fn every_convention_is_read_without_configuration() {
    for exposition in EXPOSITIONS {
        let server = scraped(exposition.text);
        let expected = BTreeSet::from_iter(exposition.transactions.iter().map(|&name| name.to_owned()));
        let (mut found, has_cpu) = known(&server, &DEFAULT_QUERIES);
        // As the program does: proxies are asked in order, where nothing else counts requests.
        for proxy in PROXY_QUERIES.iter() {
            if found[0].is_empty() {
                found = known(&server, proxy).0;
            }
        }
        assert_eq!(found, [expected.clone(), expected], "{}", exposition.name);
        assert_eq!(has_cpu, exposition.has_cpu, "{}", exposition.name);
    }
}

/// Of a call, the proxy of the caller counts as well; only that of the callee is asked.
#[test]
fn calls_between_proxies_are_counted_once() {
    let istio = EXPOSITIONS.iter().find(|exposition| exposition.name == "Istio").unwrap();
    let got = get(settings(&scraped(istio.text)), PROXY_QUERIES[0][0], range(60, 15)).unwrap();
    assert_eq!(got.fetched.series, 1);
    let values = got.of("cart.shop.svc.cluster.local");
    assert!(
        values.windows(2).all(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0) == 7.0),
        "{values:?}"
    );
}
