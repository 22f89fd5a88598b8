//! What was read from a server.

use crate::row::SourceRow;
use crate::time_slice::TimeSlice;
use laggard_model::Nanos;

/// What was read of all windows.
#[derive(Clone, Debug)]
pub struct SourceSummary {
    /// The kind of server.
    pub row: &'static SourceRow,
    /// Size of all answers in bytes, decompressed.
    pub bytes: u64,
    /// Number of queries.
    pub queries: u64,
    /// Each window.
    pub windows: Vec<WindowSummary>,
    /// Traces that the server listed and did not return.
    pub unreturned: u64,
}

/// What was read of a window.
#[derive(Clone, Debug)]
pub struct WindowSummary {
    /// The window.
    pub window: TimeSlice,
    /// Traces read.
    pub traces: u64,
    /// Slices that the window was cut into.
    pub slices: u64,
    /// One in so many slices was read: a power of two; 1 if all were.
    pub one_in: u64,
    /// Slices that could not be divided further and had more traces than one answer holds.
    pub crowded: u64,
}

impl SourceSummary {
    /// What the reader of a report must know: what was left out, as sentences.
    pub fn cautions(&self) -> Vec<String> {
        let title = self.row.title;
        let mut cautions = Vec::new();
        for window in &self.windows {
            if window.one_in > 1 {
                let length = Nanos::from_ns(window.window.length().ns() / window.slices.max(1));
                cautions.push(format!(
                    "{title} has more traces from {} than --source-traces allows: of {} slices of {length}, one in {} was read, \
                     evenly spread: {} traces, about {:.2} % of them. Counts of requests are of these.",
                    window.window,
                    window.slices,
                    window.one_in,
                    window.traces,
                    100.0 / window.one_in as f64
                ));
            }
            if window.crowded > 0 {
                cautions.push(format!(
                    "In {} slices of {} or less from {}, {title} has more traces than one answer holds: the others were not read.",
                    window.crowded,
                    self.row.finest,
                    window.window
                ));
            }
        }
        if self.unreturned > 0 {
            cautions.push(format!("{title} listed {} traces that it did not return.", self.unreturned));
        }
        let shares: Vec<u64> = self.windows.iter().map(|window| window.one_in).collect();
        if shares.iter().any(|share| Some(share) != shares.first()) {
            cautions.push(
                "Different shares of the windows were read: do not compare how many requests they have."
                    .to_owned(),
            );
        }
        cautions
    }
}
