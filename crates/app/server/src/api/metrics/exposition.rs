//! The text of metrics, as OpenMetrics or Prometheus's text.

use http::HeaderMap;
use http::header::ACCEPT;
use laggard_model::DurationHistogram;
use std::fmt::Write;

/// Types of metrics.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
    Info,
}

/// How metrics are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ExpositionFormat {
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// Prometheus's text, version 0.0.4, for everything older.
    Text,
}

impl ExpositionFormat {
    /// The one that a client accepts. Prometheus lists both and prefers OpenMetrics.
    pub(super) fn from_accepted(headers: &HeaderMap) -> ExpositionFormat {
        let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        match accepted
            .flat_map(|value| value.split(','))
            .any(|kind| kind.contains("application/openmetrics-text"))
        {
            true => ExpositionFormat::OpenMetrics,
            false => ExpositionFormat::Text,
        }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            ExpositionFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            ExpositionFormat::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The text of all metrics.
pub(super) struct Exposition {
    text: String,
    format: ExpositionFormat,
}

impl Exposition {
    pub(super) fn new(format: ExpositionFormat) -> Exposition {
        Exposition { text: String::new(), format }
    }

    /// Begins a metric. `name` is without the suffix of its samples, `help` without a full stop.
    pub(super) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        // Only OpenMetrics has the type info, units, and names of counters without their suffix.
        let is_open = self.format == ExpositionFormat::OpenMetrics;
        let (kind, suffix) = match kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
            Kind::Histogram => ("histogram", ""),
            Kind::Info if is_open => ("info", "_info"),
            Kind::Info => ("gauge", "_info"),
        };
        let suffix = if is_open { "" } else { suffix };
        let _ = writeln!(self.text, "# TYPE {name}{suffix} {kind}");
        for unit in ["seconds", "bytes"] {
            if is_open && name.ends_with(&format!("_{unit}")) {
                let _ = writeln!(self.text, "# UNIT {name} {unit}");
            }
        }
        let _ = writeln!(self.text, "# HELP {name}{suffix} {help}.");
    }

    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(name);
        if !labels.is_empty() {
            let written: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            let _ = write!(self.text, "{{{}}}", written.join(","));
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// One histogram of durations; the name of the metric ends in `_seconds`.
    pub(super) fn durations(&mut self, name: &str, labels: &[(&str, &str)], durations: &DurationHistogram) {
        let bucket = format!("{name}_bucket");
        let bounds = durations.cumulative().map(|(ns, count)| (format!("{:?}", ns as f64 / 1e9), count));
        for (bound, count) in bounds.chain([("+Inf".to_owned(), durations.count())]) {
            let labels = [labels, &[("le", bound.as_str())]].concat();
            self.sample(&bucket, &labels, count as f64);
        }
        self.sample(&format!("{name}_sum"), labels, durations.sum().ns() as f64 / 1e9);
        self.sample(&format!("{name}_count"), labels, durations.count() as f64);
    }

    pub(super) fn end(mut self) -> String {
        if self.format == ExpositionFormat::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use laggard_model::Nanos;

    fn written(format: ExpositionFormat) -> String {
        let mut out = Exposition::new(format);
        out.family("laggard_build", Kind::Info, "Version");
        out.sample("laggard_build_info", &[("version", "1")], 1.0);
        out.family("laggard_received_bytes", Kind::Counter, "Bytes of messages");
        out.sample("laggard_received_bytes_total", &[("receiver", "a\"b\\c\nd")], 1_768_208_400.0);
        out.family("laggard_jobs", Kind::Gauge, "Questions");
        out.sample("laggard_jobs", &[], 0.5);
        out.end()
    }

    #[test]
    fn the_text_follows_openmetrics() {
        let expected = "# TYPE laggard_build info\n# HELP laggard_build Version.\nlaggard_build_info{version=\"1\"} 1\n\
                      # TYPE laggard_received_bytes counter\n# UNIT laggard_received_bytes bytes\n\
                      # HELP laggard_received_bytes Bytes of messages.\n\
                      laggard_received_bytes_total{receiver=\"a\\\"b\\\\c\\nd\"} 1768208400\n\
                      # TYPE laggard_jobs gauge\n# HELP laggard_jobs Questions.\nlaggard_jobs 0.5\n# EOF\n";
        assert_eq!(written(ExpositionFormat::OpenMetrics), expected);
    }

    #[test]
    fn a_histogram_has_cumulative_buckets() {
        let mut durations = DurationHistogram::default();
        for ms in [1, 3, 400_000] {
            durations.add(Nanos::from_ms(ms));
        }
        for format in [ExpositionFormat::Text, ExpositionFormat::OpenMetrics] {
            let mut out = Exposition::new(format);
            out.family("laggard_x_duration_seconds", Kind::Histogram, "Time of x");
            out.durations("laggard_x_duration_seconds", &[("tenant", "a")], &durations);
            let text = out.end();
            for line in [
                "# TYPE laggard_x_duration_seconds histogram",
                r#"laggard_x_duration_seconds_bucket{tenant="a",le="0.0001"} 0"#,
                r#"laggard_x_duration_seconds_bucket{tenant="a",le="0.001"} 1"#,
                r#"laggard_x_duration_seconds_bucket{tenant="a",le="1.0"} 2"#,
                r#"laggard_x_duration_seconds_bucket{tenant="a",le="300.0"} 2"#,
                r#"laggard_x_duration_seconds_bucket{tenant="a",le="+Inf"} 3"#,
                r#"laggard_x_duration_seconds_sum{tenant="a"} 400.004"#,
                r#"laggard_x_duration_seconds_count{tenant="a"} 3"#,
            ] {
                assert!(text.lines().any(|written| written == line), "{line} is not in\n{text}");
            }
        }
    }

    #[test]
    fn older_scrapers_get_the_text_of_prometheus() {
        let expected = "# TYPE laggard_build_info gauge\n# HELP laggard_build_info Version.\n\
                      laggard_build_info{version=\"1\"} 1\n# TYPE laggard_received_bytes_total counter\n\
                      # HELP laggard_received_bytes_total Bytes of messages.\n\
                      laggard_received_bytes_total{receiver=\"a\\\"b\\\\c\\nd\"} 1768208400\n\
                      # TYPE laggard_jobs gauge\n# HELP laggard_jobs Questions.\nlaggard_jobs 0.5\n";
        assert_eq!(written(ExpositionFormat::Text), expected);
    }

    #[test]
    fn the_format_is_the_accepted_one() {
        let format = |accept: Option<&'static str>| {
            let accept = accept.map(|accept| (ACCEPT, HeaderValue::from_static(accept)));
            ExpositionFormat::from_accepted(&accept.into_iter().collect())
        };
        // What Prometheus 2 sends.
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(format(Some(prometheus)), ExpositionFormat::OpenMetrics);
        for accept in [None, Some("*/*"), Some("text/plain")] {
            assert_eq!(format(accept), ExpositionFormat::Text, "{accept:?}");
        }
    }
}
