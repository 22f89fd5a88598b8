//! Queries, and the measures of their results.

use crate::{LabelMap, PrometheusError};
use laggard_model::Measure;

/// One question.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// The measure of the values.
    pub measure: Measure,
    /// Factor from the query's unit to the measure's unit.
    pub factor: f64,
    /// Which labels name what.
    pub labels: LabelMap,
    /// The query; `$step` in it becomes the step, like `60s`.
    pub promql: String,
}

/// The default queries: the CPU time and the limits of processes and containers, and the requests that common exporters
/// count. Of alternatives, those without series give nothing. Metrics of proxies beside a service are not among them: see
/// [`PROXY_QUERIES`].
pub const DEFAULT_QUERIES: [&str; 14] = [
    "cpu_seconds_total=process_cpu_seconds_total",
    "count_total=http_server_request_duration_seconds_count",
    "response_seconds_total=http_server_request_duration_seconds_sum",
    "count_total=http_server_requests_seconds_count",
    "response_seconds_total=http_server_requests_seconds_sum",
    "count_total=http_request_duration_seconds_count",
    "response_seconds_total=http_request_duration_seconds_sum",
    "count_total=http_server_duration_milliseconds_count",
    "response_ms_total=http_server_duration_milliseconds_sum",
    "count_total=rpc_server_duration_milliseconds_count",
    "response_ms_total=rpc_server_duration_milliseconds_sum",
    "count_total=nginx_ingress_controller_request_duration_seconds_count",
    "response_seconds_total=nginx_ingress_controller_request_duration_seconds_sum",
    "cores:tier=none=kube_pod_container_resource_limits{resource=\"cpu\"}",
];

/// The default queries of proxies beside services, one list for each kind of proxy: requests, and their times. They would count the
/// requests of a service a second time, so they are for where [`DEFAULT_QUERIES`] count none, and each list for where those before it
/// count none: Istio's proxies are Envoys. Of both proxies of a call, that of the callee counts.
pub const PROXY_QUERIES: [[&str; 2]; 2] = [
    [
        "count_total=istio_request_duration_milliseconds_count{reporter=\"destination\"}",
        "response_ms_total=istio_request_duration_milliseconds_sum{reporter=\"destination\"}",
    ],
    [
        "count_total=envoy_cluster_upstream_rq_time_count",
        "response_ms_total=envoy_cluster_upstream_rq_time_sum",
    ],
];

/// The default queries of memory and network links, for questions about limits; those without series give nothing.
///
/// Of a pod, the container that is closest to its limit, which is that of kube-state-metrics or cAdvisor's. Of a process, the
/// machine on which its metrics are exposed, by the name of the host: memory and the busiest direction of the busiest link with
/// a known speed, as the node exporter of that host measures them.
pub const RESOURCE_QUERIES: [&str; 3] = [
    "memory_utilization:tier=none=max by (namespace, pod) (\
     max by (namespace, pod, container) (container_memory_working_set_bytes{container!=\"\"}) / \
     (max by (namespace, pod, container) (kube_pod_container_resource_limits{resource=\"memory\"}) or \
     max by (namespace, pod, container) (container_spec_memory_limit_bytes{container!=\"\"} > 0)))",
    "memory_utilization=max by (machine) (\
     label_replace(1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes, \
     \"machine\", \"$1\", \"instance\", \"(.*?)(:[0-9]+)?\")) \
     * on (machine) group_right () (0 * label_replace(process_cpu_seconds_total, \
     \"machine\", \"$1\", \"instance\", \"(.*?)(:[0-9]+)?\") + 1)",
    "network_utilization=max by (machine) (label_replace(\
     irate(node_network_transmit_bytes_total[5m]) / (node_network_speed_bytes > 0) \
     or label_replace(irate(node_network_receive_bytes_total[5m]) / (node_network_speed_bytes > 0), \
     \"direction\", \"receive\", \"\", \"\"), \
     \"machine\", \"$1\", \"instance\", \"(.*?)(:[0-9]+)?\")) \
     * on (machine) group_right () (0 * label_replace(process_cpu_seconds_total, \
     \"machine\", \"$1\", \"instance\", \"(.*?)(:[0-9]+)?\") + 1)",
];

/// Words for measures, with the factor of their unit.
const WORDS: [(&str, Measure, f64); 24] = [
    ("utilization", Measure::Utilization, 1.0),
    ("utilization_percent", Measure::Utilization, 0.01),
    ("cpu_seconds_total", Measure::CpuSecondsTotal, 1.0),
    ("cores", Measure::Cores, 1.0),
    ("millicores", Measure::Cores, 1e-3),
    ("count", Measure::Transactions, 1.0),
    ("count_total", Measure::TransactionsTotal, 1.0),
    ("rate", Measure::TransactionRate, 1.0),
    ("response_s", Measure::ResponseTime, 1.0),
    ("response_ms", Measure::ResponseTime, 1e-3),
    ("response_sum_s", Measure::ResponseSeconds, 1.0),
    ("response_seconds_total", Measure::ResponseSecondsTotal, 1.0),
    ("response_ms_total", Measure::ResponseSecondsTotal, 1e-3),
    ("calls", Measure::Calls, 1.0),
    ("calls_total", Measure::CallsTotal, 1.0),
    ("call_s", Measure::CallTime, 1.0),
    ("call_ms", Measure::CallTime, 1e-3),
    ("call_seconds_total", Measure::CallSecondsTotal, 1.0),
    ("call_ms_total", Measure::CallSecondsTotal, 1e-3),
    ("clients", Measure::Clients, 1.0),
    ("memory_utilization", Measure::MemoryUtilization, 1.0),
    ("memory_utilization_percent", Measure::MemoryUtilization, 0.01),
    ("network_utilization", Measure::NetworkUtilization, 1.0),
    ("network_utilization_percent", Measure::NetworkUtilization, 0.01),
];

impl Query {
    /// Reads `MEASURE[:NAME=LABEL[+LABEL],…]=PROMQL`, as in
    /// `count_total:transaction=method+route,tier=app=sum by (method, route, app, instance) (requests_total)`. The
    /// label `none` leaves a name empty.
    ///
    /// # Errors
    /// When the measure or a name is unknown, or there is no query.
    pub fn parse(text: &str) -> Result<Query, PrometheusError> {
        let wrong = |reason: String| Err(PrometheusError::Settings(format!("--query {text:?}: {reason}")));
        let end = text.find([':', '=']).unwrap_or(text.len());
        let (word, mut rest) = text.split_at(end);
        let Some(&(_, measure, factor)) = WORDS.iter().find(|(known, ..)| *known == word.trim()) else {
            let words: Vec<&str> = WORDS.iter().map(|&(word, ..)| word).collect();
            return wrong(format!("begin with what it measures, one of {}", words.join(", ")));
        };
        let mut labels = LabelMap::default();
        while let Some(pair) = rest.strip_prefix([':', ',']) {
            let Some((name, after)) = pair.split_once('=') else {
                return wrong("write MEASURE:NAME=LABEL=PROMQL".to_owned());
            };
            let end = after.find([',', '=']).unwrap_or(after.len());
            let named =
                after[..end].split('+').filter(|&label| label != "none").map(|label| label.trim().to_owned());
            if !labels.set(name.trim(), named.collect()) {
                return wrong(format!("{name:?} is none of server, tier, transaction, callee"));
            }
            rest = &after[end..];
        }
        match rest.strip_prefix('=').map(str::trim) {
            Some(promql) if !promql.is_empty() => {
                Ok(Query { measure, factor, labels, promql: promql.to_owned() })
            }
            _ => wrong(
                "write a query behind the measure, as in rate=sum by (route) (rate(requests_total[$step]))"
                    .to_owned(),
            ),
        }
    }

    /// The query with its step, in whole milliseconds when it is not in seconds.
    pub(crate) fn with_step(&self, step_ns: i64) -> String {
        let step = match step_ns % 1_000_000_000 {
            0 => format!("{}s", step_ns / 1_000_000_000),
            _ => format!("{}ms", (step_ns / 1_000_000).max(1)),
        };
        self.promql.replace("$step", &step)
    }

    /// Whether the query is a bare metric with matchers: then every point has an instant at which it was read.
    pub(crate) fn is_selector(&self) -> bool {
        let name = self.promql.split('{').next().unwrap_or_default();
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(&byte));
        is_name && (name.len() == self.promql.len() || self.promql.trim_end().ends_with('}'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_its_measure_and_its_labels() {
        let plain = Query::parse("rate=sum(rate(x{a=\"b\"}[$step]))").unwrap();
        assert_eq!((plain.measure, plain.labels.clone()), (Measure::TransactionRate, LabelMap::default()));
        assert_eq!(plain.with_step(60_000_000_000), "sum(rate(x{a=\"b\"}[60s]))");
        assert_eq!(plain.with_step(1_500_000_000), "sum(rate(x{a=\"b\"}[1500ms]))");
        assert!(!plain.is_selector());
        let full =
            Query::parse("count_total:transaction=method+route,tier=none=x_total{a=\"b,c=d\"}").unwrap();
        assert_eq!(full.labels.transaction, [["method", "route"]]);
        assert_eq!(full.labels.tier, [Vec::<String>::new()]);
        assert_eq!(full.promql, "x_total{a=\"b,c=d\"}");
        assert!(full.is_selector());
        assert_eq!(Query::parse("response_ms=x").unwrap().factor, 1e-3);
    }

    #[test]
    fn invalid_queries_are_explained() {
        for (text, word) in [
            ("", "begin with"),
            ("up", "begin with"),
            ("rate", "write a query"),
            ("rate=", "write a query"),
            ("rate:tier", "MEASURE:NAME"),
            ("rate:color=red=x", "none of server"),
            ("rate:tier=job", "write a query"),
        ] {
            let error_message = Query::parse(text).unwrap_err().to_string();
            assert!(error_message.contains(word), "{text}: {error_message}");
        }
    }

    #[test]
    fn the_default_queries_can_be_read() {
        for text in DEFAULT_QUERIES {
            assert!(Query::parse(text).unwrap().is_selector(), "{text}");
        }
        for text in RESOURCE_QUERIES {
            let query = Query::parse(text).unwrap();
            assert!(query.measure.is_of_memory_or_network() && !query.is_selector(), "{text}");
        }
    }
}
