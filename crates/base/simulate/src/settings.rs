//! Settings of generated traces: fault, seed, number of requests, damage to the records, file format.

use crate::choices;
use crate::scenario::ServiceSet;
use crate::{Error, Scenario};

/// Monday, 12 January 2026, 09:00 UTC: a fixed time, so that the same seed gives the same bytes.
const DEFAULT_START_UNIX_NS: i64 = 1_768_208_400_000_000_000;

/// Everything the generated traces depend on.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The fault.
    pub scenario: Scenario,
    /// The seed. Components, placement, operations, call trees, and the targets of the fault depend on it
    /// and on nothing else.
    pub seed: u64,
    /// Which period of the same system: another run has other requests.
    pub run: u32,
    /// The entry services; `None` for those of the scenario.
    pub services: Option<ServiceSet>,
    /// Sampled requests of each of the three services.
    pub requests_per_service: u32,
    /// Whether the fault is only a third as strong.
    pub mild: bool,
    /// Probability that a record is lost.
    pub drop_records: f64,
    /// Probability that a record is delivered twice.
    pub duplicate_records: f64,
    /// Whether one host delivers its records ten minutes late.
    pub late_host: bool,
    /// Whether the clocks of the nodes disagree: offsets within ±20 ms, drifts within ±20 ppm.
    pub clock_skew: bool,
    /// Start of the period, in nanoseconds since the Unix epoch.
    pub start_unix_ns: i64,
    /// Length of the period in seconds.
    pub window_s: u32,
    /// Number of files the spans are spread over, by node (Jaeger: by trace). The call log always has one
    /// file per node.
    pub files: u16,
    /// Call trees per service.
    pub categories_per_service: u16,
    /// Exponent of the Zipf distribution of the categories' popularity.
    pub zipf_exponent: f64,
    /// Standard deviation of the logarithm of a request's size. [`Scenario::HeavyTail`] uses 1.5 instead.
    pub size_sigma: f64,
    /// Standard deviation of the logarithm of a host's load in a minute.
    pub host_load_sigma: f64,
    /// Probability that one invocation pauses for 2–15 ms without any fault.
    pub pause_probability: f64,
    /// By how much [`Scenario::Uniform`] slows its operation: 0.1 for +10 %.
    pub uniform_increase: f64,
    /// Factor of [`Scenario::SlowHost`].
    pub slow_host_factor: f64,
    /// Replicas of the front end: 10, but 2 in [`Scenario::OneOfTwo`] and its baseline.
    pub front_end_replicas: u16,
}

impl Settings {
    /// The defaults of the workload (8 000 sampled requests per service and hour) for a scenario and a seed.
    pub fn new(scenario: Scenario, seed: u64) -> Settings {
        Settings {
            scenario,
            seed,
            run: 0,
            services: None,
            requests_per_service: 8_000,
            mild: false,
            drop_records: 0.0,
            duplicate_records: 0.0,
            late_host: false,
            clock_skew: true,
            start_unix_ns: DEFAULT_START_UNIX_NS,
            window_s: 3_600,
            files: 1,
            categories_per_service: 40,
            zipf_exponent: 1.1,
            size_sigma: 0.5,
            host_load_sigma: 0.1,
            pause_probability: 1e-4,
            uniform_increase: 0.1,
            slow_host_factor: 3.0,
            front_end_replicas: if scenario == Scenario::OneOfTwo { 2 } else { 10 },
        }
    }

    /// The incident of the demonstration: [`Scenario::RandomDevice`], ten minutes, about 100 000 spans. Fewer
    /// categories than usual keep enough requests in each.
    pub fn demo() -> Settings {
        Settings {
            requests_per_service: 310,
            window_s: 600,
            categories_per_service: 8,
            ..Settings::new(Scenario::RandomDevice, 10)
        }
    }

    /// The quiet period of the same system, of the same length, that ends where this one starts.
    pub fn baseline(&self) -> Settings {
        let window_ns = i64::from(self.window_s) * 1_000_000_000;
        Settings {
            scenario: Scenario::Quiet,
            services: Some(self.entry_services()),
            run: self.run.wrapping_add(1),
            start_unix_ns: self.start_unix_ns.saturating_sub(window_ns),
            ..self.clone()
        }
    }

    /// The entry services: those configured, else those of the scenario.
    pub fn entry_services(&self) -> ServiceSet {
        self.services.unwrap_or(self.scenario.services())
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first setting outside its range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let wholes = [
            ("requests_per_service", u64::from(self.requests_per_service), 1..=1_000_000, "1 to 1 000 000"),
            ("window_s", u64::from(self.window_s), 1..=604_800, "1 second to 7 days"),
            ("files", u64::from(self.files), 1..=100, "1 to 100"),
            ("categories_per_service", u64::from(self.categories_per_service), 1..=1_000, "1 to 1 000"),
            ("front_end_replicas", u64::from(self.front_end_replicas), 1..=100, "1 to 100"),
        ];
        for (name, value, range, allowed) in wholes {
            if !range.contains(&value) {
                return Err(Error::Setting { name, value: value.to_string(), allowed });
            }
        }
        for (name, value, range, allowed) in self.fractions() {
            if !range.contains(&value) {
                return Err(Error::Setting { name, value: value.to_string(), allowed });
            }
        }
        self.check_start()
    }

    fn fractions(&self) -> [(&'static str, f64, std::ops::RangeInclusive<f64>, &'static str); 8] {
        [
            ("drop_records", self.drop_records, 0.0..=1.0, "a probability, 0 to 1"),
            ("duplicate_records", self.duplicate_records, 0.0..=1.0, "a probability, 0 to 1"),
            ("zipf_exponent", self.zipf_exponent, 0.0..=10.0, "0 to 10"),
            ("size_sigma", self.size_sigma, 0.0..=2.0, "0 to 2"),
            ("host_load_sigma", self.host_load_sigma, 0.0..=2.0, "0 to 2"),
            ("pause_probability", self.pause_probability, 0.0..=1.0, "a probability, 0 to 1"),
            ("uniform_increase", self.uniform_increase, 0.0..=1_000.0, "0 to 1 000"),
            ("slow_host_factor", self.slow_host_factor, 1.0..=1_000.0, "1 to 1 000"),
        ]
    }

    /// Times must be positive and must not overflow 64 bits.
    fn check_start(&self) -> Result<(), Error> {
        if (1_000_000_000..8_000_000_000_000_000_000).contains(&self.start_unix_ns) {
            return Ok(());
        }
        let value = self.start_unix_ns.to_string();
        Err(Error::Setting { name: "start_unix_ns", value, allowed: "the years 1970 to 2223" })
    }
}

choices! {
    /// A trace format to write.
    OutputFormat {
        SpanCsv = "span-csv", "Our span table as CSV";
        OtlpJson = "otlp-json", "OTLP JSON, one document per line, as the OpenTelemetry Collector's file exporter writes it";
        OtlpProto = "otlp-proto", "OTLP protobuf, each message after its length (4 bytes, big-endian), as the same exporter writes it";
        Jaeger = "jaeger", "The JSON of Jaeger's query API";
        Zipkin = "zipkin", "A Zipkin v2 JSON array";
        CallLog = "call-log", "CloudDiag's call log, one file per node";
    }
}

choices! {
    /// How files are compressed.
    Compression {
        Plain = "plain", "Not compressed";
        Gzip = "gzip", "gzip";
        Zstd = "zstd", "Zstandard";
    }
}

impl Compression {
    /// Its addition to a file's name.
    pub(crate) const fn ending(self) -> &'static str {
        match self {
            Compression::Plain => "",
            Compression::Gzip => ".gz",
            Compression::Zstd => ".zst",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_outside_their_range_are_named() {
        let quiet = Settings::new(Scenario::Quiet, 1);
        assert!(quiet.check().is_ok() && Settings::demo().check().is_ok());
        let wrong = [
            (Settings { drop_records: 1.5, ..quiet.clone() }, "drop_records is 1.5"),
            (Settings { size_sigma: f64::NAN, ..quiet.clone() }, "size_sigma is NaN"),
            (Settings { requests_per_service: 0, ..quiet.clone() }, "requests_per_service is 0"),
            (Settings { start_unix_ns: -1, ..quiet.clone() }, "start_unix_ns is -1"),
        ];
        for (settings, message) in wrong {
            let error = settings.check().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_baseline_ends_where_its_incident_starts() {
        let incident = Settings::new(Scenario::CodeBug, 3);
        let baseline = incident.baseline();
        assert_eq!(baseline.start_unix_ns + 3_600_000_000_000, incident.start_unix_ns);
        assert_eq!(baseline.entry_services(), ServiceSet::File);
        assert_eq!((baseline.scenario, baseline.seed), (Scenario::Quiet, 3));
        assert_ne!(baseline.run, incident.run);
    }

    #[test]
    fn format_names_survive_parsing() {
        for format in OutputFormat::ALL {
            assert_eq!(OutputFormat::parse(format.name()), Some(format));
        }
        assert_eq!(OutputFormat::parse("csv"), None);
    }
}
