//! Latency degradation patterns: groups of slow requests and the conditions that characterize them, from times alone.
//!
//! ```text
//! times of a column ─ valleys ─► modes ─ less what kinds of requests take ─► candidates ─┐ the one that explains
//!                                                                                        ▼ most slowness
//!   rows left ◄─ remove them ◄─ conjunction ◄─ what columns agree on ◄─ two causes? divide
//!                                      └─► tested against requests of no pattern ─► patterns
//! ```
//!
//! The question is that of Traini and Cortellessa (*DeLag*, IEEE TSE 2021), of Krushevskaja and Sandler (2013)
//! and of Bansal et al. (*DeCaf*, 2020): conditions "operation X took between a and b" that hold for slow
//! requests and not for others. Those methods are given which latencies are slow and search genetically or by branch
//! and bound; here the modes of each column leave so few candidates that each is evaluated. The manual's page
//! `docs/manual/methods/patterns.md` has formulas, defaults and measured figures.

mod bins;
mod candidates;
mod division;
mod judge;
mod kinds;
mod modes;
mod row_set;
mod search;
mod settings;
mod table;

pub use settings::PatternSettings;
pub use table::{RequestTable, RequestTableError};

use candidates::Requests;
use laggard_settings::Settings;

/// `low <= time <= high` of one column. Where operations take long by nature, requests are selected by what they take beyond others
/// of their kind: then further requests may have such times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Condition {
    /// Index of the column.
    pub column: usize,
    /// Smallest time of the mode.
    pub low: f64,
    /// Largest time of the mode.
    pub high: f64,
}

/// Requests that are slow together, and the conditions that characterize them.
#[derive(Clone, PartialEq, Debug)]
pub struct LatencyPattern {
    /// All hold for every request of the pattern. In the order of selection: the first is the most specific.
    pub conditions: Vec<Condition>,
    /// Modes of further columns that mark nearly the same requests (phi at least `agreement_min`): callers of
    /// the delayed operations, or operations delayed with them. By column.
    pub companions: Vec<Condition>,
    /// Rows of the table, ascending. A row that meets the conditions of several patterns is in the first one
    /// only.
    pub rows: Vec<usize>,
    /// Requests that the rows represent: the sum of their weights.
    pub requests: f64,
    /// Weighted mean latency of the rows minus that of the rows in no pattern.
    pub mean_excess: f64,
    /// Median latency of the rows over that of the rows in no pattern.
    pub slowdown: f64,
    /// Probability that a request of the pattern is slower than one of no pattern, 0.5 to 1; ties count one half.
    pub separation: f64,
    /// Share of the pattern's rows that are slower than the border, which lies halfway (in logarithms) between
    /// the medians of the pattern and of the rows in no pattern.
    pub precision: f64,
    /// Share of the rows slower than the border, in this or in no pattern, that are in this one.
    pub recall: f64,
    /// Probability of such a separation by chance, times the number of candidates, at most 1 (Mann–Whitney,
    /// Bonferroni).
    pub p_value: f64,
}

/// The patterns of a table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LatencyPatterns {
    /// Patterns that explain most slowness first; their rows are disjoint.
    pub patterns: Vec<LatencyPattern>,
    /// Rows left out because they have no latency above 0.
    pub rows_ignored: usize,
    /// Number of candidate modes.
    pub candidates: usize,
    /// Median latency of the rows in no pattern; 0 when there are none.
    pub normal_latency: f64,
}

/// Finds the patterns of a table.
///
/// The answer does not depend on the order of rows, except for the order of [`LatencyPattern::rows`]. It needs
/// `O(rows columns log rows)` to find modes and `O(rows (candidates + columns))` for each pattern; candidates
/// are at most 1,024, a few per column in practice.
///
/// # Errors
/// Columns or weights of another length than the latencies, invalid weights, settings out of range.
///
/// ```
/// use laggard_localize::{PatternSettings, RequestTable, latency_patterns};
/// // Every fifth request waits 40 ms for `query`.
/// let query: Vec<f64> = (0..500).map(|at| if at % 5 == 0 { 50.0 } else { 10.0 } + f64::from(at % 4)).collect();
/// let latencies: Vec<f64> = (0..500).map(|at| 30.0 + f64::from(at % 7) + query[at as usize]).collect();
/// let table = RequestTable { columns: &[&query], latencies: &latencies, weights: None };
/// let answer = latency_patterns(&table, &PatternSettings::default()).unwrap();
/// assert_eq!(answer.patterns.len(), 1);
/// assert_eq!(answer.patterns[0].rows.len(), 100);
/// assert_eq!(answer.patterns[0].conditions[0].low, 50.0);
/// ```
pub fn latency_patterns(
    table: &RequestTable<'_>,
    settings: &PatternSettings,
) -> Result<LatencyPatterns, RequestTableError> {
    settings.check().map_err(RequestTableError::Settings)?;
    table.check()?;
    let is_latency = |latency: &&f64| latency.is_finite() && **latency > 0.0;
    let usable = table.latencies.iter().filter(is_latency).count();
    let mut answer =
        LatencyPatterns { rows_ignored: table.latencies.len() - usable, ..LatencyPatterns::default() };
    let Some(requests) = Requests::prepare(table, settings) else { return Ok(answer) };
    let conjunctions = search::search(&requests, settings);
    answer.candidates = requests.candidates.len();
    judge::judge(table, &requests, conjunctions, settings, &mut answer);
    Ok(answer)
}
