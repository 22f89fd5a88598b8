//! Names of metrics that may be what a query without series was meant to be.

use laggard_model::Measure;

/// The half of the data that a question about CPU and transactions needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// Numbers of completed transactions.
    Transactions,
    /// Use of the CPU.
    Cpu,
}

impl Half {
    /// The half that a measure belongs to, if it is one by itself.
    pub const fn from_measure(measure: Measure) -> Option<Half> {
        match measure {
            Measure::Transactions | Measure::TransactionsTotal | Measure::TransactionRate => {
                Some(Half::Transactions)
            }
            Measure::Utilization | Measure::CpuSecondsTotal => Some(Half::Cpu),
            _ => None,
        }
    }

    /// The start of a query for it, with the metric's name behind it.
    pub fn query(self, name: &str) -> String {
        match self {
            Half::Transactions => format!("count_total={name}"),
            Half::Cpu if name.contains("seconds") => format!("cpu_seconds_total={name}"),
            Half::Cpu => format!("utilization={name}"),
        }
    }

    /// Whether a metric of this name looks like it: a counter of requests, or something about the CPU.
    fn is_similar(self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        match self {
            Half::Transactions => {
                (name.ends_with("_count") || name.ends_with("_total"))
                    && has(&["request", "http", "rpc", "transaction", "handler", "endpoint"])
                    && !has(&["bytes", "error", "fail", "bucket", "prometheus_", "promhttp_"])
            }
            Half::Cpu => {
                has(&["cpu"])
                    && (name.ends_with("_total") || has(&["usage", "util", "percent", "seconds"]))
                    && !has(&["throttled", "limit", "request", "guest"])
            }
        }
    }
}

/// Maximum length of a name that is shown.
const NAME_MAX: usize = 120;

/// Whether a name is one of a metric, and not too long to show.
fn is_plain(name: &str) -> bool {
    name.len() <= NAME_MAX && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:.".contains(&byte))
}

/// Of `names` at most `most` that look like metrics of `half`, in their order.
pub fn similar_names(half: Half, names: &[String], most: usize) -> Vec<&str> {
    names
        .iter()
        .map(String::as_str)
        .filter(|name| is_plain(name) && half.is_similar(name))
        .take(most)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_requests_and_cpu_times_are_similar() {
        let names = [
            "app_cpu_usage_seconds_total",
            "container_cpu_cfs_throttled_seconds_total",
            "go_gc_duration_seconds_count",
            "promhttp_metric_handler_requests_total",
            "shop_http_latency_seconds_bucket",
            "shop_http_latency_seconds_count",
            "shop_http_latency_seconds_sum",
            "shop_request_bytes_total",
            "system_cpu_usage",
        ]
        .map(str::to_owned);
        assert_eq!(similar_names(Half::Transactions, &names, 8), ["shop_http_latency_seconds_count"]);
        assert_eq!(similar_names(Half::Cpu, &names, 8), ["app_cpu_usage_seconds_total", "system_cpu_usage"]);
        assert_eq!(similar_names(Half::Cpu, &names, 1), ["app_cpu_usage_seconds_total"]);
        assert_eq!(Half::Cpu.query("system_cpu_usage"), "utilization=system_cpu_usage");
    }
}
