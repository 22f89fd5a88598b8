//! The input of a report on samples: files, windows, servers, and assumptions.

use super::input::{LossRow, is_zero, losses, spilled};
use crate::{NamedCount, Window, names, numbers};
use laggard_model::Losses;
use serde::Serialize;
use utoipa::ToSchema;

/// The samples that were read, as windows of equal length. Shared by every report that starts from samples.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct SampleSummary {
    /// Inputs read; queries of a Prometheus server count one each.
    pub files: u64,
    /// Bytes read, before decompression.
    pub bytes: u64,
    /// Bytes that were written to a temporary file meanwhile, because the spans did not fit in memory; left out if none were.
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(required = false)]
    pub spilled_bytes: u64,
    /// Formats recognized, with the number of inputs of each.
    pub formats: Vec<NamedCount>,
    /// Samples read: points of metrics, counters and counts.
    pub samples: u64,
    /// Spans read from which samples were made.
    pub spans: u64,
    /// From the start of the first window to the end of the last; `None` without windows.
    pub window: Option<Window>,
    /// Length of a window in seconds.
    pub window_s: f64,
    /// Windows, gaps included.
    pub windows: u64,
    /// Windows without transactions: gaps. Gaps of a server's utilization are in `servers`.
    pub gaps: u64,
    /// Servers, by tier and name.
    pub servers: Vec<SampledServer>,
    /// Transaction types by name, with the transactions completed in all windows.
    pub transactions: Vec<NamedCount>,
    /// What was lost or mistrusted, by cause.
    #[serde(serialize_with = "losses")]
    #[schema(value_type = std::collections::BTreeMap<String, LossRow>)]
    pub losses: Losses,
}

/// A server of which something is known.
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct SampledServer {
    /// Its name; empty when the samples name none.
    pub server: String,
    /// Its tier; empty when the samples name none.
    pub tier: String,
    /// CPU capacity in cores, if known.
    pub cores: Option<f64>,
    /// Windows with its utilization.
    pub windows: u64,
    /// Mean utilization over them, 0..1; `None` without any.
    pub utilization_mean: Option<f64>,
    /// Whether its samples name the transactions it served itself; else those of the system are used.
    pub own_transactions: bool,
}

/// A server as people name it: `app-1`, `app-1 of tier front`, `the server` when it has no name.
pub(crate) fn server_name(server: &str, tier: &str) -> String {
    match (server.is_empty(), tier.is_empty()) {
        (false, _) => names::label(server, 48),
        (true, false) => format!("tier {}", names::label(tier, 48)),
        (true, true) => "the server".to_owned(),
    }
}

impl SampleSummary {
    /// The input in one sentence.
    pub(crate) fn sentence(&self) -> String {
        let records = match (self.samples, self.spans) {
            (samples, 0) => numbers::counted(samples, "sample"),
            (0, spans) => numbers::counted(spans, "span"),
            (samples, spans) => {
                format!("{} and {}", numbers::counted(samples, "sample"), numbers::counted(spans, "span"))
            }
        };
        let gaps = match self.gaps {
            0 => String::new(),
            gaps => format!(" ({})", numbers::counted(gaps, "gap")),
        };
        format!(
            "Read {records} from {}: {}{gaps} of {}, {}, {}{}.{}",
            self.origin(),
            numbers::counted(self.windows, "window"),
            seconds(self.window_s),
            numbers::counted(self.transactions.len() as u64, "transaction type"),
            numbers::counted(self.servers.len() as u64, "server"),
            self.time(),
            spilled(self.spilled_bytes),
        )
    }

    /// `2 inputs (804 kB, sample-csv)`; what is stored already has no size.
    fn origin(&self) -> String {
        if self.bytes == 0 && matches!(self.formats.as_slice(), [only] if only.name == "store") {
            return "the store".to_owned();
        }
        let files = numbers::counted(self.files, "input");
        format!("{files} ({}{})", numbers::bytes(self.bytes), self.format_names())
    }

    fn format_names(&self) -> String {
        self.formats.iter().take(6).map(|row| format!(", {}", names::label(&row.name, 30))).collect()
    }

    fn time(&self) -> String {
        self.window.map_or_else(String::new, |window| format!(", {window}"))
    }
}

/// A length in seconds: `60 s`, `2 min`, `1 h`, `0.5 s`.
pub(crate) fn seconds(value: f64) -> String {
    let whole = |unit: f64| value >= 2.0 * unit && value % unit == 0.0;
    match value {
        v if !v.is_finite() || v < 0.0 => "–".to_owned(),
        v if v >= 3_600.0 && v % 3_600.0 == 0.0 => format!("{} h", numbers::count((v / 3_600.0) as u64)),
        v if whole(60.0) => format!("{} min", v / 60.0),
        v => format!("{v} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_is_summarized_in_a_sentence() {
        let count = |name: &str, count| NamedCount { name: name.to_owned(), count };
        let summary = SampleSummary {
            files: 2,
            bytes: 1_200_000,
            formats: vec![count("samples-csv", 2)],
            samples: 28_800,
            window_s: 60.0,
            windows: 1_800,
            gaps: 3,
            servers: vec![SampledServer::default()],
            transactions: vec![count("Home", 7), count("Cart", 2)],
            ..SampleSummary::default()
        };
        assert_eq!(
            summary.sentence(),
            "Read 28,800 samples from 2 inputs (1.2 MB, samples-csv): 1,800 windows (3 gaps) of 60 s, \
             2 transaction types, 1 server."
        );
        let spans = SampleSummary { spans: 5, samples: 0, gaps: 0, ..summary };
        assert!(spans.sentence().starts_with("Read 5 spans from 2 inputs"), "{}", spans.sentence());
    }

    #[test]
    fn durations_are_printed_in_a_readable_unit() {
        let cases = [(60.0, "60 s"), (120.0, "2 min"), (300.0, "5 min"), (3_600.0, "1 h"), (90.0, "90 s")];
        for (value, text) in cases {
            assert_eq!(seconds(value), text);
        }
        assert_eq!(seconds(0.5), "0.5 s");
        assert_eq!(seconds(f64::NAN), "–");
    }
}
